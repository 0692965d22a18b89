package main

import (
	"slices"
	"strings"
)

// near returns the names that may have been meant, the nearest first.
func near(name string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var all []candidate
	for _, n := range names {
		switch d := distance(name, n); {
		case d <= max(len(name)/3, 1):
			all = append(all, candidate{n, d})
		case len(name) > 2 && strings.HasPrefix(n, name):
			all = append(all, candidate{n, len(name)})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.far - b.far })
	var best []string
	for _, c := range all[:min(len(all), 3)] {
		best = append(best, c.name)
	}
	return best
}

// distance is the number of bytes to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// or lists names as "a, b or c".
func or(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Package wording has what messages to users share: lists of words, words that stand for numbers, and guesses at the name that a
// mistyped one was meant to be.
package wording

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Or lists words as "a, b or c", And as "a, b and c".
func Or(words []string) string  { return list(words, " or ") }
func And(words []string) string { return list(words, " and ") }

func list(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + last + words[n]
}

// Number reads one of words into its number: its place among them. The error says which there are.
func Number[T ~uint8](to *T, words []string, text []byte) error {
	i := slices.Index(words, string(text))
	if i < 0 {
		return fmt.Errorf("want %s, have %q", Or(words), text)
	}
	*to = T(i)
	return nil
}

// Closest returns the first of the names that are the fewest changes away from word, however many those are. There must be names.
func Closest(word string, names []string) string {
	word = normal(word)
	return slices.MinFunc(names, func(a, b string) int { return cmp.Compare(distance(word, normal(a)), distance(word, normal(b))) })
}

// Nearest returns the name that was probably meant, and whether there is one: a name close to word, or else the only one of which
// word is the beginning or the last part.
func Nearest(word string, names []string) (string, bool) {
	switch near, longer := candidates(word, names); {
	case len(near) > 0:
		return near[0], true
	case len(longer) == 1:
		return longer[0], true
	}
	return "", false
}

// Near returns the names that may have been meant, at most three: first those close to word, the closest first, then those of
// which word is the beginning or the last part.
func Near(word string, names []string) []string {
	all := slices.Concat(candidates(word, names))
	return all[:min(len(all), 3)]
}

// candidates returns the names close to word, the closest first, and of the others those that begin or end with it.
func candidates(word string, names []string) (near, longer []string) {
	word = normal(word)
	limit := min(max(len(word)/3, 1), 4)
	far := map[string]int{}
	for _, name := range names {
		n := normal(name)
		far[name] = distance(word, n)
		switch {
		case far[name] <= limit:
			near = append(near, name)
		case len(word) >= 3 && (strings.HasPrefix(n, word) || strings.HasSuffix(n, "_"+word)): // max for max_connections
			longer = append(longer, name)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	return near, longer
}

// Same reports whether two names differ in their spelling alone, as maxConnections and max_connections do.
func Same(a, b string) bool { return normal(a) == normal(b) }

// normal returns name in one spelling: maxConnections and max-connections as max_connections. Of a very long one the beginning
// will do.
func normal(name string) string {
	if len(name) > 64 {
		name = name[:64]
	}
	var b strings.Builder
	for i, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			if i > 0 && 'a' <= name[i-1] && name[i-1] <= 'z' {
				b.WriteByte('_')
			}
			b.WriteRune(c + 'a' - 'A')
		case c == '-' || c == ' ':
			b.WriteByte('_')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// distance is the number of bytes to insert, delete, replace or swap with their neighbour to make b of a, none of them twice
// (optimal string alignment).
func distance(a, b string) int {
	var before, above []int // the rows before the last, and the last
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above = above, row
		row = make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j]+cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

package scenarios

import "strings"

// nearest returns the name that was probably meant, and whether there is one.
func nearest(name string, names []string) (string, bool) {
	best, least := "", 1<<30
	written := normal(name)
	for _, n := range names {
		if d := distance(written, normal(n)); d < least {
			best, least = n, d
		}
	}
	if least <= min(max(len(written)/3, 1), 4) {
		return best, true
	}
	if len(written) >= 3 { // max for max_connections, if that is the only one
		found := 0
		for _, n := range names {
			if strings.HasPrefix(normal(n), written) || strings.HasSuffix(normal(n), "_"+written) {
				best, found = n, found+1
			}
		}
		return best, found == 1
	}
	return "", false
}

// normal returns name in the spelling of keys: maxConnections and max-connections as max_connections.
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

// distance is the number of letters to insert, delete, replace or swap with their neighbour to make b of a.
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

// listed joins names as "a, b and c".
func listed(names []string, and string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + and + " " + names[last]
}

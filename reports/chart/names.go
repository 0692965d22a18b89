package chart

import (
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// cellName names a cell by the values of what varies.
func cellName(keys []string, cell *record.Cell) string {
	var parts []string
	for _, key := range keys {
		if v, ok := digest.Value(cell.Settings, key); ok {
			parts = append(parts, digest.Printable(v))
		}
	}
	return strings.Join(parts, ", ")
}

// keyNames lists what varies.
func keyNames(keys []string) string {
	var names []string
	for _, key := range keys {
		names = append(names, digest.Printable(key))
	}
	return strings.Join(names, ", ")
}

// valuesOf lists the values of settings.
func valuesOf(s record.Settings) string {
	var all []string
	for _, kv := range s {
		all = append(all, digest.Printable(kv.Value))
	}
	return strings.Join(all, ", ")
}

package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
)

// listing is a table of texts, for the commands that look things up. Its last column may be long.
type listing struct {
	heads []string // names of the columns: of CSV and Markdown
	rows  [][]string
	json  any // what it is in JSON
}

// addFormat adds the flags of a command that prints a listing.
func addFormat(cmd *cobra.Command, to *destination) *choice {
	cmd.Flags().SortFlags = false
	format := choose(cmd, "format", "`FORMAT`: text, json, csv or markdown", "text", "json", "csv", "markdown")
	to.add(cmd.Flags())
	to.addWidth(cmd.Flags())
	return format
}

// write writes l in a format.
func (l *listing) write(w io.Writer, format string, width int) error {
	switch format {
	case "json":
		return writeJSON(w, l.json)
	case "csv":
		c := csv.NewWriter(w)
		if err := c.WriteAll(append([][]string{l.heads}, l.rows...)); err != nil {
			return err
		}
		return c.Error()
	case "markdown":
		return l.markdown(w)
	}
	return l.text(w, "", width)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// text writes the rows aligned, the last column wrapped, or below the others if there is little room beside them.
func (l *listing) text(w io.Writer, indent string, width int) error {
	b := bufio.NewWriter(w)
	const gap = 2
	last := len(l.heads) - 1
	widths := make([]int, last)
	at := len(indent)
	for i := range widths {
		for _, row := range l.rows {
			widths[i] = max(widths[i], uniseg.StringWidth(row[i]))
		}
		at += widths[i] + gap
	}
	below := width-at < width/2
	if below {
		at = len(indent) + 4
	}
	for _, row := range l.rows {
		line := indent
		for i, n := range widths {
			line += row[i] + strings.Repeat(" ", n-uniseg.StringWidth(row[i])+gap)
		}
		parts := wrap(row[last], max(width-at, 30))
		if below {
			parts = append([]string{""}, parts...)
		}
		for i, part := range parts {
			if i > 0 {
				line = strings.Repeat(" ", at)
			}
			b.WriteString(strings.TrimRight(line+part, " ") + "\n")
		}
	}
	return b.Flush()
}

func (l *listing) markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	row := func(fields []string) {
		for _, f := range fields {
			b.WriteString("| " + inMarkdown.Replace(f) + " ")
		}
		b.WriteString("|\n")
	}
	row(l.heads)
	b.WriteString(strings.Repeat("|:--", len(l.heads)) + "|\n")
	for _, r := range l.rows {
		row(r)
	}
	return b.Flush()
}

// inMarkdown makes texts mean themselves in a table.
var inMarkdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "[", `\[`, "]", `\]`, "\n", " ")

// wrap breaks a text into lines, one at least, of at most width columns; a longer word has a line of its own.
func wrap(s string, width int) []string {
	lines := []string{""}
	at := 0
	for i, word := range strings.Fields(s) {
		n := uniseg.StringWidth(word)
		last := &lines[len(lines)-1]
		switch {
		case i == 0:
			*last, at = word, n
		case at+1+n > width:
			lines = append(lines, word)
			at = n
		default:
			*last += " " + word
			at += 1 + n
		}
	}
	return lines
}

package reports

import (
	"bufio"
	"io"
	"math"
	"strings"

	"poolwise/sim/record"
)

// Markdown writes the report as GitHub's Markdown, to be pasted into a review.
func Markdown(w io.Writer, r *record.Result) error { return newDocument(r).markdown(w) }

// markdown writes a document as Markdown.
func (d *document) markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("**" + escape(d.headline[0]) + "**\n")
	items(b, d.headline[1:])
	if d.about != "" {
		b.WriteString("\n" + escape(d.about) + "\n")
	}
	b.WriteString("\n" + escape(d.run) + "\n")
	for _, t := range d.tables {
		if t.title != "" {
			b.WriteString("\n**" + t.title + "**\n")
		}
		if t.says != "" {
			b.WriteString("\n" + escape(t.says) + "\n")
		}
		b.WriteString("\n")
		t.layOut(math.MaxInt)
		t.markdown(b)
	}
	if len(d.findings) > 0 {
		b.WriteString("\n**Diagnosis**\n")
		var all []string
		for _, f := range d.findings {
			all = append(all, f.label+": "+f.text)
		}
		items(b, all)
	}
	if len(d.warnings) > 0 {
		b.WriteString("\n**Warnings**\n")
		items(b, d.warnings)
	}
	for _, s := range d.notes {
		b.WriteString("\n" + escape(s) + "\n")
	}
	return b.Flush()
}

// items writes a list, if there is anything in it.
func items(b *bufio.Writer, all []string) {
	for i, s := range all {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + escape(s) + "\n")
	}
}

func (t *table) markdown(b *bufio.Writer) {
	row := func(field func(i int) string) {
		b.WriteByte('|')
		for i := range t.columns {
			b.WriteString(" " + field(i) + " |")
		}
		b.WriteByte('\n')
	}
	row(func(i int) string { return escape(strings.TrimSpace(t.columns[i].group + " " + t.columns[i].head)) })
	row(func(i int) string {
		if t.columns[i].left {
			return ":--"
		}
		return "--:"
	})
	for _, entries := range t.rows {
		row(func(i int) string { return escape(strings.TrimSpace(entries[i].text + " " + entries[i].margin)) })
	}
}

var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "~", `\~`, "#", `\#`,
)

// escape makes text mean itself in Markdown.
func escape(s string) string { return markup.Replace(s) }

package reports

import (
	"bufio"
	"io"
	"strings"

	"github.com/rivo/uniseg"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// Options say how text is laid out.
type Options struct {
	Width  int  // columns of the terminal; 0 means 100. Tables that are wider are continued below
	Colour bool // with the escape sequences of ANSI terminals
}

// Text writes the report for a terminal: what matters in plain words, then the tables.
func Text(w io.Writer, r *record.Result, o Options) error { return newDocument(r).text(w, o) }

// text lays out a document for a terminal.
func (d *document) text(w io.Writer, o Options) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	p := &printer{w: bufio.NewWriter(w), Options: o}
	for i, s := range d.headline {
		tone := plain
		if i == 0 {
			tone = strong
		}
		p.paragraph("", s, tone)
	}
	p.line()
	if d.about != "" {
		p.paragraph("", d.about, faint)
	}
	p.paragraph("", d.run, faint)
	for _, t := range d.tables {
		p.line()
		if t.title != "" {
			p.paragraph("", t.title, strong)
		}
		if t.says != "" {
			p.paragraph("", t.says, faint)
		}
		t.layOut(o.Width)
		if t.lowers > 0 && t.lowers < len(t.columns)-1 && !p.fits(t) {
			t.lowerLast(t.lowers)
		}
		p.table(t)
	}
	if len(d.findings)+len(d.warnings) > 0 {
		p.line()
	}
	for _, f := range d.findings {
		p.paragraph(f.label+": ", f.text, f.tone)
	}
	for _, s := range d.warnings {
		p.paragraph("warning: ", s, doubtful)
	}
	if len(d.notes) > 0 {
		p.line()
	}
	for _, s := range d.notes {
		p.paragraph("", s, faint)
	}
	return p.w.Flush() // which has kept the first error
}

// printer lays out text in a fixed width.
type printer struct {
	w *bufio.Writer
	Options
}

var escapes = [...]string{plain: "", strong: "\x1b[1m", good: "\x1b[32m", bad: "\x1b[31m", doubtful: "\x1b[33m", faint: "\x1b[2m"}

func (p *printer) write(s string, t tone) {
	if p.Colour && t != plain && s != "" {
		s = escapes[t] + s + "\x1b[0m"
	}
	p.w.WriteString(s)
}

func (p *printer) line() { p.w.WriteByte('\n') }

// paragraph wraps words, with an indent from the second line on if there is a label.
func (p *printer) paragraph(label, s string, t tone) {
	p.write(label, t)
	indent := uniseg.StringWidth(label)
	line := ""
	for _, word := range words(s) {
		switch {
		case line == "":
			line = word
		case indent+uniseg.StringWidth(line)+1+uniseg.StringWidth(word) > p.Width:
			p.write(line, t)
			p.line()
			p.write(strings.Repeat(" ", indent), plain)
			line = word
		default:
			line += " " + word
		}
	}
	p.write(line, t)
	p.line()
}

// words splits a text where a line may end: not between a number and its unit.
func words(s string) []string {
	var all []string
	for _, w := range strings.Fields(s) {
		if n := len(all); n > 0 && digest.IsUnit(strings.TrimRight(w, ".,;:)")) {
			all[n-1] += " " + w
		} else {
			all = append(all, w)
		}
	}
	return all
}

const gap = 2 // between columns

// table writes a table, in parts if it is too wide.
func (p *printer) table(t *table) {
	widths := t.widths()
	var key []int
	used := 0
	for i := range t.key {
		key = append(key, i)
		used += widths[i] + gap
	}
	part, room := key, p.Width-used
	for i := t.key; i < len(t.columns); {
		var group []int
		width := 0
		for j := i; j < len(t.columns) && (j == i || t.columns[j].group != "" && t.columns[j].group == t.columns[i].group); j++ {
			group = append(group, j)
			width += widths[j] + gap
		}
		if width-gap > room && len(part) > len(key) {
			p.part(t, part, widths)
			p.line()
			part, room = key, p.Width-used
		}
		part = append(part[:len(part):len(part)], group...)
		room -= width
		i += len(group)
	}
	p.part(t, part, widths)
}

// fits reports whether a table need not be continued below.
func (p *printer) fits(t *table) bool {
	sum := -gap
	for _, w := range t.widths() {
		sum += w + gap
	}
	return sum <= p.Width
}

// widths returns the width of each column, widened where the name of a group needs it.
func (t *table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = uniseg.StringWidth(c.head)
		for _, row := range t.rows {
			widths[i] = max(widths[i], uniseg.StringWidth(row[i].text), uniseg.StringWidth(row[i].margin))
		}
	}
	for i := 0; i < len(t.columns); {
		first, span := i, 0
		for ; i < len(t.columns) && (i == first || t.columns[i].group == t.columns[first].group); i++ {
			span += widths[i] + gap
		}
		if t.columns[first].group != "" {
			widths[first] += max(uniseg.StringWidth(t.columns[first].group)+gap-span, 0)
		}
	}
	return widths
}

// part writes some columns of a table.
func (p *printer) part(t *table, columns, widths []int) {
	heads, grouped := make([]entry, len(t.columns)), false
	for i, c := range t.columns {
		heads[i] = entry{text: c.head, tone: faint}
	}
	for _, i := range columns {
		grouped = grouped || t.columns[i].group != ""
	}
	if grouped {
		p.groups(t, columns, widths)
	}
	p.row(t, heads, columns, widths)
	for _, row := range t.rows {
		p.row(t, row, columns, widths)
		margins, any := make([]entry, len(row)), false
		for _, i := range columns {
			margins[i] = entry{text: row[i].margin, tone: faint}
			any = any || row[i].margin != ""
		}
		if any {
			p.row(t, margins, columns, widths)
		}
	}
}

// groups writes the names of the groups, each over the left end of its columns.
func (p *printer) groups(t *table, columns, widths []int) {
	var b strings.Builder
	for i := 0; i < len(columns); {
		name, span := t.columns[columns[i]].group, 0
		for first := i; i < len(columns) && (i == first || name != "" && t.columns[columns[i]].group == name); i++ {
			span += widths[columns[i]] + gap
		}
		b.WriteString(pad(name, span, true))
	}
	p.write(strings.TrimRight(b.String(), " "), faint)
	p.line()
}

// row writes fields, padded; nothing but the end of the last visible one ends the line.
func (p *printer) row(t *table, entries []entry, columns, widths []int) {
	last := -1
	for n, i := range columns {
		if entries[i].text != "" {
			last = n
		}
	}
	for n, i := range columns[:last+1] {
		field := pad(entries[i].text, widths[i], t.columns[i].left)
		if n == last {
			field = strings.TrimRight(field, " ")
		}
		if n > 0 {
			p.write(strings.Repeat(" ", gap), plain)
		}
		p.write(field, entries[i].tone)
	}
	p.line()
}

// pad fills s with spaces up to a width.
func pad(s string, width int, left bool) string {
	fill := strings.Repeat(" ", max(width-uniseg.StringWidth(s), 0))
	if left {
		return s + fill
	}
	return fill + s
}

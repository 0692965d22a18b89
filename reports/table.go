package reports

import (
	"slices"
	"strings"
	"unicode/utf8"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// tone is how a text is meant, for a terminal with colours.
type tone uint8

const (
	plain tone = iota
	strong
	good
	bad
	doubtful
	faint
)

// entry is one field of a table: a text, and half the interval of the figure that it is.
type entry struct {
	text   string
	margin string
	tone   tone
}

// column is a column of a table. Neighbours of one group belong together.
type column struct {
	group, head string
	left        bool // aligned so; figures are aligned to the right
}

// table is built row by row: put names the column together with its entry, in the same order in every row.
type table struct {
	title   string
	says    string // a sentence below the title
	columns []column
	elastic *elastic // a further column, as wide as there is room; nil for none
	key     int      // the first so many columns say what a row is about
	lowers  int      // if the table is too wide, the last column goes below this one; 0 for never
	rows    [][]entry
	row     []entry
}

func (t *table) put(c column, e entry) {
	if len(t.rows) == 0 {
		t.columns = append(t.columns, c)
	}
	t.row = append(t.row, e)
}

func (t *table) text(group, head, text string, tone tone) {
	t.put(column{group, head, true}, entry{text: text, tone: tone})
}

func (t *table) figure(group, head, text string, tone tone) {
	t.put(column{group, head, false}, entry{text: text, tone: tone})
}

func (t *table) duration(group, head string, d record.Duration, tone tone) {
	e := entry{text: digest.Dash, tone: tone}
	if d.Known {
		e.text = digest.Duration(d.Value)
	}
	if d.Interval {
		e.margin = digest.Margin(d)
	}
	t.put(column{group, head, false}, e)
}

func (t *table) float(group, head string, f record.Float, value func(float64) string, margin func(record.Float) string) {
	e := entry{text: digest.Dash}
	if f.Known {
		e.text = value(f.Value)
	}
	if f.Interval {
		e.margin = margin(f)
	}
	t.put(column{group, head, false}, e)
}

// level puts the mean over time and the maximum.
func (t *table) level(head string, l record.Level3) {
	mean, highest := digest.Dash, digest.Dash
	if l.Mean.Known {
		mean = digest.Level(l.Mean.Value)
	}
	switch {
	case l.Most.Known: // of any replication; the mean of their maxima may be no number of things
		highest = digest.Level(l.Most.Value)
	case l.Max.Known:
		highest = digest.Level(l.Max.Value)
	}
	e := entry{text: mean + " / " + highest}
	if l.Mean.Interval {
		e.margin = digest.LevelMargin(l.Mean) + strings.Repeat(" ", utf8.RuneCountInString(" / "+highest)) // below the mean
	}
	t.put(column{"mean / max", head, false}, e)
}

// elastic is a column whose text depends on the room that there is for it.
type elastic struct {
	column
	least, most int // letters
	text        func(row, width int) string
}

// layOut adds the elastic column of a table that has so much room in all.
func (t *table) layOut(width int) {
	e := t.elastic
	if e == nil {
		return
	}
	for _, w := range t.widths() {
		width -= w + gap
	}
	t.columns, t.elastic = append(t.columns, e.column), nil
	for i := range t.rows {
		t.rows[i] = append(t.rows[i], entry{text: e.text(i, min(max(width, e.least), e.most))})
	}
}

// end ends the row.
func (t *table) end() {
	t.rows = append(t.rows, t.row)
	t.row = nil
}

// moveLast moves the last column to another place.
func (t *table) moveLast(to int) {
	last := len(t.columns) - 1
	t.columns = slices.Insert(t.columns[:last:last], to, t.columns[last])
	for i, row := range t.rows {
		t.rows[i] = slices.Insert(row[:last:last], to, row[last])
	}
}

// drop leaves out the columns of which every entry is one of the texts.
func (t *table) drop(head string, texts ...string) {
	t.dropIf(head, func(e entry) bool { return slices.Contains(texts, e.text) })
}

// dropIf leaves out the columns whose entries are all so.
func (t *table) dropIf(head string, so func(entry) bool) {
	for i := len(t.columns) - 1; i >= 0; i-- {
		if t.columns[i].head == head && !slices.ContainsFunc(t.rows, func(row []entry) bool { return !so(row[i]) }) {
			t.cut(i)
		}
	}
}

// cut takes a column out.
func (t *table) cut(i int) {
	t.columns = append(t.columns[:i:i], t.columns[i+1:]...)
	for j, row := range t.rows {
		t.rows[j] = append(row[:i:i], row[i+1:]...)
	}
}

// lowerLast puts the text of the last column into a row of its own below each row, in another column, with its head before it.
func (t *table) lowerLast(into int) {
	last := len(t.columns) - 1
	head := t.columns[last].head
	var rows [][]entry
	for _, row := range t.rows {
		text := row[last].text
		rows = append(rows, row)
		if text != "" {
			below := make([]entry, len(row))
			below[into] = entry{text: head + " " + text, tone: faint}
			rows = append(rows, below)
		}
	}
	t.rows = rows
	t.cut(last)
}

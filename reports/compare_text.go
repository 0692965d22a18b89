package reports

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

// comparisonDocument is what the comparisons for people say, before it is laid out.
type comparisonDocument struct {
	headline []string // sentences, the verdict first
	sides    []string // what was compared
	overview *table   // a row for each pair, if there are several
	rows     *table   // the figures, worst first; of several pairs only those with a difference, or perhaps with one
	differ   int      // how many of the rows differ, or may
	more     string   // how many figures that differ have no row
	same     []string // of several pairs, the figures without a difference
	checks   *table
	warnings []string
	notes    []string
}

// mostRows is how many figures of several pairs have a row.
const mostRows = 40

func newComparisonDocument(c *Comparison) *comparisonDocument {
	d := &comparisonDocument{
		headline: c.headline(),
		sides:    c.sides(),
		overview: c.overview(),
		checks:   checkTable(c.after),
		warnings: c.Warnings,
	}
	rows := c.sorted(Worse, Inconclusive, Better)
	if n := len(rows) - mostRows; n > 0 {
		rows = rows[:mostRows]
		d.more = digest.Plural(int64(n), "more figure differs or may", "more figures differ or may") + "; csv and json have all."
	}
	d.differ = len(rows)
	if len(c.Pairs) > 1 {
		d.same = c.same()
	} else {
		rows = append(rows, c.sorted(NoDifference)...)
	}
	d.rows = c.table(rows)
	for _, s := range c.Notes {
		d.notes = append(d.notes, digest.Printable(s))
	}
	d.notes = append(d.notes, c.legend()...)
	if note := notEvaluated(c.Checks); note != "" {
		d.notes = append(d.notes, note)
	}
	return d
}

// headline says the verdict in a sentence, and then what else matters.
func (c *Comparison) headline() []string {
	n, total := c.count()
	of := " of " + digest.Plural(total, "figure", "figures")
	var s string
	switch c.Verdict {
	case Worse, Mixed:
		s = "Worse: " + digest.Count(n[Worse]) + of + is(n[Worse]) + " worse, " + c.most(Worse)
		if c.Verdict == Mixed {
			s = "Mixed" + strings.TrimPrefix(s, "Worse") + "; " + digest.Count(n[Better]) + is(n[Better]) + " better, " + c.most(Better)
		}
	case Better:
		s = "Better: " + digest.Count(n[Better]) + of + is(n[Better]) + " better, " + c.most(Better)
		if n[Inconclusive] == 0 {
			s += "; none is worse"
		}
	case NoDifference:
		s = "No difference: " + c.howEqual(total)
	default:
		s = c.nothingToTell(n, total)
	}
	if left := n[Inconclusive]; left > 0 && c.Verdict != Inconclusive {
		s += "; " + digest.Count(left) + is(left) + " inconclusive"
	}
	says := []string{s + "."}
	if u := len(c.Unmatched.Before) + len(c.Unmatched.After); u > 0 {
		says = append(says, "Not compared: "+strings.Join(c.unmatched(), "; ")+".")
	}
	return append(says, checks(c.after)...)
}

func is(n int64) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// most describes the largest difference of a verdict.
func (c *Comparison) most(v Verdict) string {
	all := c.sorted(v)
	p := all[0]
	s := ""
	if len(all) > 1 {
		s = "most "
	}
	s += p.row.Figure
	if len(c.Pairs) > 1 {
		s += " at " + digest.Label(p.pair.After)
	}
	s += ": " + digest.InUnit(p.row.Before.Value, p.row.Unit) + " to " + digest.InUnit(p.row.After.Value, p.row.Unit)
	if p.row.Relative.Known {
		s += " (" + digest.Change(p.row.Relative.Value) + ")"
	}
	return s
}

// howEqual says that figures do not differ.
func (c *Comparison) howEqual(total int64) string {
	exact := true
	c.rows(func(_ *Pair, r *Row) { exact = exact && r.Difference.Lo == 0 && r.Difference.Hi == 0 })
	all := "all " + digest.Plural(total, "figure", "figures")
	if total == 1 {
		all = "the one figure"
	}
	if exact {
		return all + is(total) + " equal"
	}
	return all + is(total) + " within " + c.zone() + " of before"
}

// zone writes the zone of indifference.
func (c *Comparison) zone() string {
	return "±" + strconv.FormatFloat(c.Indifference*100, 'g', 3, 64) + " %"
}

// nothingToTell says why there is no verdict.
func (c *Comparison) nothingToTell(n map[Verdict]int64, total int64) string {
	if total == 0 {
		switch {
		case len(c.Pairs) > 0:
			return "Inconclusive: nothing was measured"
		case c.within:
			return "Inconclusive: there is only one setting, and nothing to compare it with"
		}
		return "Inconclusive: there is no setting that both have"
	}
	luck := false
	var why []string
	c.rows(func(_ *Pair, r *Row) {
		if r.Verdict != Inconclusive {
			return
		}
		luck = luck || r.tested()
		if !slices.Contains(why, r.Why) {
			why = append(why, r.Why)
		}
	})
	s := "Inconclusive: " + digest.Count(n[Inconclusive]) + " of " + digest.Plural(total, "figure", "figures")
	switch {
	case luck:
		return s + " may differ, but too little to be told from luck with so few replications"
	case len(why) == 1:
		return s + " cannot be judged: " + why[0]
	}
	return s + " cannot be judged"
}

// unmatched lists the settings that only one side has.
func (c *Comparison) unmatched() []string {
	var all []string
	for _, side := range []struct {
		name     string
		settings []record.Settings
	}{{"before", c.Unmatched.Before}, {"after", c.Unmatched.After}} {
		if len(side.settings) == 0 {
			continue
		}
		var labels []string
		for _, s := range side.settings {
			labels = append(labels, cellName(s))
		}
		if n := len(labels); n > 6 {
			labels = append(labels[:5], fmt.Sprintf("%d more", n-5))
		}
		all = append(all, wording.And(labels)+", only "+side.name)
	}
	return all
}

// cellName names a cell.
func cellName(s record.Settings) string {
	if len(s) == 0 {
		return "the cell without settings"
	}
	return digest.Label(s)
}

// sides says what was compared.
func (c *Comparison) sides() []string {
	if c.within {
		s := "before: " + sideOf(c.Before)
		if len(c.Pairs) > 0 {
			s = "before: " + cellName(c.Pairs[0].Before) + ", of " + sideOf(c.Before) + c.replications(func(p *Pair) int { return p.Replications.Before })
		}
		return []string{s, "after: its other settings"}
	}
	before, after := "before: "+sideOf(c.Before), "after: "+sideOf(c.After)
	if len(c.Pairs) == 1 {
		if s := c.Pairs[0].Before; len(s) > 0 {
			before += ", " + digest.Label(s)
		}
		if s := c.Pairs[0].After; len(s) > 0 {
			after += ", " + digest.Label(s)
		}
	}
	return []string{
		before + c.replications(func(p *Pair) int { return p.Replications.Before }),
		after + c.replications(func(p *Pair) int { return p.Replications.After }),
	}
}

func sideOf(s record.Scenario) string {
	all := []string{}
	if s.Name != "" {
		all = append(all, digest.Printable(s.Name))
	}
	if s.Hash != "" {
		all = append(all, "hash "+digest.Printable(s.Hash))
	}
	all = append(all, fmt.Sprintf("seed %d", s.Seed))
	if s.Estimate != "" {
		all = append(all, digest.Printable(s.Estimate))
	}
	return strings.Join(all, ", ")
}

// replications says how many replications the pairs have on one side.
func (c *Comparison) replications(of func(*Pair) int) string {
	if len(c.Pairs) == 0 {
		return ""
	}
	fewest, most := of(&c.Pairs[0]), 0
	for i := range c.Pairs {
		n := of(&c.Pairs[i])
		fewest, most = min(fewest, n), max(most, n)
	}
	switch {
	case most == 1:
		return ", one replication"
	case fewest == most:
		return fmt.Sprintf(", %d replications", most)
	}
	return fmt.Sprintf(", %d to %d replications", fewest, most)
}

// keys returns the keys of the settings that tell several pairs apart.
func (c *Comparison) keys() []string {
	if len(c.Pairs) < 2 {
		return nil
	}
	var r record.Result
	for _, p := range c.Pairs {
		r.Cells = append(r.Cells, record.Cell{Settings: p.After})
	}
	return digest.Varying(&r)
}

// overview has a row for each of several pairs.
func (c *Comparison) overview() *table {
	t := &table{title: "Settings"}
	keys := c.keys()
	if len(c.Pairs) < 2 {
		return t
	}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		settingColumns(t, keys, p.After, false)
		for _, figure := range []string{"throughput", "failed_rate", "p(99)"} {
			text, tone := digest.Dash, faint
			if j := slices.IndexFunc(p.Figures, func(r Row) bool { return r.Figure == figure }); j >= 0 {
				text, tone = p.Figures[j].short(), p.Figures[j].Verdict.tone()
			}
			t.figure("difference", figure, text, tone)
		}
		n := map[Verdict]int64{}
		for _, r := range p.Figures {
			n[r.Verdict]++
		}
		for _, v := range order {
			tone := plain
			if n[v] > 0 {
				tone = v.tone()
			}
			t.figure("figures", string(v), digest.Count(n[v]), tone)
		}
		t.end()
	}
	return t
}

// short is the difference of a row in a few letters.
func (r *Row) short() string {
	switch r.Verdict {
	case NoDifference:
		return "="
	case Inconclusive:
		return "?"
	}
	return r.change()
}

// change is the difference of a row, in percent if there is something to take it of.
func (r *Row) change() string {
	switch {
	case !r.Difference.Known:
		return digest.Dash
	case r.Difference.Value == 0:
		return "0"
	case r.Relative.Known:
		return digest.Change(r.Relative.Value)
	}
	return digest.Difference(r.Difference.Value, r.Unit)
}

// interval is that of the difference of a row, in the same unit.
func (r *Row) interval() string {
	d := r.Difference
	if !d.Interval {
		return digest.Dash
	}
	if d.Lo == d.Hi {
		return "exact" // it never varies
	}
	lo, hi := digest.Difference(d.Lo, r.Unit), digest.Difference(d.Hi, r.Unit)
	if r.Relative.Known {
		lo, hi = digest.Change(r.Relative.Lo), digest.Change(r.Relative.Hi)
	}
	if i := strings.LastIndexByte(lo, ' '); i > 0 && strings.HasSuffix(hi, lo[i:]) {
		lo = lo[:i]
	}
	return lo + " to " + hi
}

func (v Verdict) tone() tone {
	switch v {
	case Worse:
		return bad
	case Better:
		return good
	case Inconclusive:
		return doubtful
	}
	return faint
}

// table has a row for each of the rows given.
func (c *Comparison) table(rows []place) *table {
	t := &table{}
	keys := c.keys()
	value := func(f record.Float, unit string) string {
		if !f.Known {
			return digest.Dash
		}
		return digest.InUnit(f.Value, unit)
	}
	for _, p := range rows {
		r := p.row
		settingColumns(t, keys, p.pair.After, false)
		t.text("", "figure", r.Figure, plain)
		t.key = len(keys) + 1
		t.figure("", "before", value(r.Before, r.Unit), plain)
		t.figure("", "after", value(r.After, r.Unit), plain)
		t.figure("", "difference", r.change(), plain)
		t.figure("", "95 % interval", r.interval(), plain)
		corrected := digest.Dash
		if r.Corrected.Known {
			corrected = digest.P(r.Corrected.Value)
		}
		t.figure("", "p", corrected, plain)
		verdict, tone := string(r.Verdict), r.Verdict.tone()
		if r.Why != "" {
			verdict += ", " + r.Why
		}
		if r.Why != "" {
			tone = doubtful
		}
		t.text("", "verdict", verdict, tone)
		t.end()
	}
	t.drop("95 % interval", digest.Dash)
	t.drop("p", digest.Dash)
	return t
}

// legend explains what stands in the tables.
func (c *Comparison) legend() []string {
	var all []string
	n, _ := c.count()
	zone := "No difference: none at all"
	if c.Indifference > 0 {
		zone = "No difference: the whole interval is within " + c.zone() + " of before"
	}
	if n[NoDifference] > 0 || n[Inconclusive] > 0 && c.Tests+c.CheckTests > 0 {
		all = append(all, zone+".")
	}
	if n := c.Tests + c.CheckTests; n > 0 {
		tests := digest.Plural(int64(n), "test", "tests")
		if c.Tests > 0 && c.CheckTests > 0 {
			tests = fmt.Sprintf("%s of figures that checks name, and apart from them %s of others", digest.Plural(int64(c.CheckTests), "test", "tests"), digest.Count(int64(c.Tests)))
		}
		all = append(all, "Better or worse: p is at most 0.05, after Holm's correction for "+tests+
			" (what is equal everywhere needs none). Before and after are means over the replications, changes of times in percent are of geometric means; a percentile of all of them together, as run shows it, may differ.")
	}
	if len(c.Pairs) > 1 {
		all = append(all, "=: no difference; ?: inconclusive.")
	}
	var more []string
	c.rows(func(_ *Pair, r *Row) {
		if r.Better == "more" && !slices.Contains(more, r.Figure) {
			more = append(more, r.Figure)
		}
	})
	if more != nil {
		all = append(all, "More is better of "+wording.And(more)+", less of all else.")
	}
	return all
}

// CompareText writes a comparison for a terminal: the verdict in plain words, then the figures, worst first.
func CompareText(w io.Writer, c *Comparison, o Options) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	p := &printer{w: bufio.NewWriter(w), Options: o}
	d := newComparisonDocument(c)
	for i, s := range d.headline {
		tone := plain
		if i == 0 {
			tone = strong
		}
		p.paragraph("", s, tone)
	}
	p.line()
	for _, s := range d.sides {
		label, rest, _ := strings.Cut(s, ": ")
		p.paragraph(fmt.Sprintf("%-8s", label+":"), rest, faint)
	}
	if len(d.overview.rows) > 0 {
		p.line()
		p.table(d.overview)
	}
	if len(d.rows.rows) > 0 {
		p.line()
		if !p.fits(d.rows) {
			d.rows.moveLast(d.rows.key) // the verdict, so that it is in the first part
		}
		p.table(d.rows)
	}
	if d.more != "" {
		p.paragraph("", d.more, faint)
	}
	if len(d.same) > 0 {
		p.line()
		p.paragraph("", "No difference", strong)
	}
	for _, names := range d.same {
		label, rest, _ := strings.Cut(names, ": ")
		p.paragraph(label+": ", rest, faint)
	}
	if len(d.checks.rows) > 0 {
		p.line()
		p.paragraph("", d.checks.title, strong)
		p.table(d.checks)
	}
	if len(d.warnings) > 0 {
		p.line()
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

// same lists the figures without difference, pair by pair.
func (c *Comparison) same() []string {
	var all []string
	for i := range c.Pairs {
		var names []string
		for _, r := range c.Pairs[i].Figures {
			if r.Verdict == NoDifference {
				names = append(names, r.Figure)
			}
		}
		if names != nil {
			all = append(all, cellName(c.Pairs[i].After)+": "+strings.Join(names, ", "))
		}
	}
	return all
}

// CompareMarkdown writes a comparison as GitHub's Markdown, for a comment on a pull request: the verdict, the figures that differ
// or may differ, worst first, and those that do not, folded away.
func CompareMarkdown(w io.Writer, c *Comparison) error {
	b := bufio.NewWriter(w)
	d := newComparisonDocument(c)
	b.WriteString("**" + escape(d.headline[0]) + "**\n")
	items(b, append(d.headline[1:], d.sides...))
	section := func(t *table) {
		if t.title != "" {
			b.WriteString("\n**" + t.title + "**\n")
		}
		b.WriteString("\n")
		t.markdown(b)
	}
	fold := func(n int, what string, f func()) {
		if n > 0 {
			b.WriteString("\n<details><summary>" + digest.Count(int64(n)) + " " + what + "</summary>\n\n")
			f()
			b.WriteString("\n</details>\n")
		}
	}
	if len(d.overview.rows) > 0 {
		section(d.overview)
	}
	differ, same := *d.rows, *d.rows
	differ.rows, same.rows = d.rows.rows[:d.differ], d.rows.rows[d.differ:]
	if d.differ > 0 {
		if len(d.overview.rows) > 0 {
			differ.title = "Figures"
		}
		section(&differ)
	}
	if d.more != "" {
		b.WriteString("\n" + escape(d.more) + "\n")
	}
	n, _ := c.count()
	fold(int(n[NoDifference]), "without difference", func() {
		if len(same.rows) > 0 {
			same.markdown(b)
		}
		for _, s := range d.same {
			b.WriteString("- " + escape(s) + "\n")
		}
	})
	if len(d.checks.rows) > 0 {
		section(d.checks)
	}
	if len(d.warnings) > 0 {
		b.WriteString("\n**Warnings**\n")
		items(b, d.warnings)
	}
	for i, s := range d.notes {
		b.WriteString([]string{"\n<sub>", "<br>\n"}[min(i, 1)] + escape(s))
	}
	if len(d.notes) > 0 {
		b.WriteString("</sub>\n")
	}
	return b.Flush()
}

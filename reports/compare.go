package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

// ComparisonSchema names the form of Comparison in JSON.
const ComparisonSchema = "poolwise.comparison/v1"

// Comparison is what lies between two results, or between the settings of one. It is taken figure by figure: those that every
// result has samples of (record.Compared), and those of the checks.
//
// With equal seeds the replications are compared pair by pair (Student's t of the differences), otherwise as independent samples
// (Welch's t); times by their logarithms, see record.Figure.Contrast. The p are corrected for the number of tests (Holm), in two
// families: the figures that checks name, which are what is asked about, and all others. Figures that are equal in every pair cannot
// differ, and count in neither. Before and after are means of the replications that were compared, so that the difference is that of
// the two; a percentile is therefore the mean of the percentiles of the replications. A figure is
//
//	better, worse   if the corrected p is at most 5 % and the difference is outside the zone of indifference
//	no difference   if there is none at all, or the whole interval at 95 % is inside the zone
//	inconclusive    otherwise; always with one replication each, where nothing tells a difference from luck
//
// More is better of throughput and ok, and of what a check has a limit for from below (>, >=); of all else less is better.
type Comparison struct {
	Schema       string          `json:"schema"`
	Verdict      Verdict         `json:"verdict"`
	Before       record.Scenario `json:"before"`
	After        record.Scenario `json:"after"`
	Indifference float64         `json:"indifference"` // half the width of the zone, as a share of the figure before
	Tests        int             `json:"tests"`        // that the p are corrected for, of figures that no check names
	CheckTests   int             `json:"check_tests"`  // the same, of those that a check names
	Pairs        []Pair          `json:"pairs"`
	Unmatched    Unmatched       `json:"unmatched"`
	Checks       []record.Check  `json:"checks"` // of after, those against a baseline judged by before
	Checked      record.Status   `json:"checks_verdict"`
	Notes        []string        `json:"notes"`
	Warnings     []string        `json:"warnings"`

	within bool           // the settings of one result
	after  *record.Result // with the judged checks
}

// Pair is two cells that were compared. In JSON numbers of replications are {before, after}.
type Pair struct {
	Before       record.Settings `json:"before"`
	After        record.Settings `json:"after"`
	Replications BeforeAfter     `json:"replications"`
	Figures      []Row           `json:"figures"`
}

// BeforeAfter is a number of each side.
type BeforeAfter struct {
	Before int `json:"before"`
	After  int `json:"after"`
}

// Unmatched are the settings of the cells for which the other result has none with the same.
type Unmatched struct {
	Before []record.Settings `json:"before"`
	After  []record.Settings `json:"after"`
}

// Row is one figure of a pair. A number that is unknown is null in JSON.
type Row struct {
	Figure       string        `json:"figure"`            // as in a check
	Checked      bool          `json:"checked,omitempty"` // a check names it
	Unit         string        `json:"unit"`              // ns, ratio, count or per_second
	Better       string        `json:"better"`            // more or less
	Before       record.Float  `json:"before"`
	After        record.Float  `json:"after"`
	Difference   record.Float  `json:"difference"` // after less before, with its interval at 95 % if there was a test
	Relative     record.Float  `json:"relative"`   // the difference as a share of before; unknown if that is 0; see record.Contrast
	Method       record.Method `json:"method"`     // paired, welch, none or unmeasured
	Replications BeforeAfter   `json:"replications"`
	P            record.Float  `json:"p"`
	Corrected    record.Float  `json:"p_corrected"`
	Verdict      Verdict       `json:"verdict"`
	Why          string        `json:"why,omitempty"` // what there is to say about the verdict

	log bool // the relative difference is what was tested
}

// Verdict is what came of a comparison, or of one of its figures.
type Verdict string

// The verdicts. Of all figures together it is worse or better if one is, and mixed if both are.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	Mixed        Verdict = "mixed"
	NoDifference Verdict = "no difference"
	Inconclusive Verdict = "inconclusive"
)

// CompareOptions say how to compare.
type CompareOptions struct {
	Indifference float64 // how large a difference nobody minds, as a share of before; 0: none at all, see DefaultIndifference
}

// DefaultIndifference is how large a difference hardly anybody minds.
const DefaultIndifference = 0.02

// significant is up to what corrected p a difference is not luck.
const significant = 0.05

// Compare compares two results, cell by cell as record.Match pairs them.
func Compare(before, after *record.Result, o CompareOptions) *Comparison {
	c := newComparison(before, after)
	pairs, onlyBefore, onlyAfter := record.Match(before, after)
	for _, i := range onlyBefore {
		c.Unmatched.Before = append(c.Unmatched.Before, before.Cells[i].Settings)
	}
	for _, i := range onlyAfter {
		c.Unmatched.After = append(c.Unmatched.After, after.Cells[i].Settings)
	}
	c.after.JudgeAgainst(c.after.Baseline(before))
	var cells [][2]*record.Cell
	for _, p := range pairs {
		cells = append(cells, [2]*record.Cell{&before.Cells[p[0]], &after.Cells[p[1]]})
	}
	c.compare(cells, before.Scenario.Seed == after.Scenario.Seed, o)
	c.Notes = append(c.differentRuns(), c.Notes...)
	c.Warnings = bothWarnings(warnings(before), warnings(after))
	return c
}

// CompareCells compares the cells of a result with one of them, the base, which is also what checks against a baseline are
// judged by; in the base itself they have no meaning and are left out.
func CompareCells(r *record.Result, base int, o CompareOptions) *Comparison {
	c := newComparison(r, r)
	c.within = true
	c.after.Checks = slices.DeleteFunc(c.after.Checks, func(k record.Check) bool {
		e, err := record.ParseCheck(k.Expr)
		return k.Cell == base && err == nil && e.Against()
	})
	c.after.JudgeAgainst(func(int) *record.Cell { return &r.Cells[base] })
	var cells [][2]*record.Cell
	for i := range r.Cells {
		if i != base {
			cells = append(cells, [2]*record.Cell{&r.Cells[base], &r.Cells[i]})
		}
	}
	c.compare(cells, true, o)
	c.Warnings = append(c.Warnings, warnings(r)...)
	return c
}

func newComparison(before, after *record.Result) *Comparison {
	judged := *after
	judged.Checks = slices.Clone(after.Checks)
	return &Comparison{
		Schema: ComparisonSchema, Before: before.Scenario, After: after.Scenario,
		Pairs: []Pair{}, Unmatched: Unmatched{Before: []record.Settings{}, After: []record.Settings{}},
		Notes: []string{}, Warnings: []string{}, after: &judged,
		Checks: append(slices.Clone(before.Checks), after.Checks...), // until compare has seen what figures they are of
	}
}

// compare compares pairs of cells.
func (c *Comparison) compare(cells [][2]*record.Cell, sameSeeds bool, o CompareOptions) {
	c.Indifference = o.Indifference
	figures := figuresOf(c.Checks)
	c.Checks, c.Checked = append([]record.Check{}, c.after.Checks...), record.Verdict(c.after.Checks)
	var unmeasured []string
	for _, p := range cells {
		pair := Pair{
			Before: p[0].Settings, After: p[1].Settings, Figures: []Row{},
			Replications: BeforeAfter{p[0].Replications, p[1].Replications},
		}
		for _, f := range figures {
			if f.String() == "makespan" && !f.checked && p[0].Arrivals.Known && p[1].Arrivals.Known {
				continue // the last request to arrive makes it
			}
			row := f.compare(p[0], p[1], sameSeeds)
			if row.Before.Known || row.After.Known {
				pair.Figures = append(pair.Figures, row)
			} else if !slices.Contains(unmeasured, row.Figure) {
				unmeasured = append(unmeasured, row.Figure)
			}
		}
		c.Pairs = append(c.Pairs, pair)
	}
	c.correct()
	c.judge()
	c.explain(sameSeeds, unmeasured, cells)
}

// compared is a figure with the direction in which it is better.
type compared struct {
	record.Figure
	more    bool
	checked bool // a check names it
}

// figuresOf returns the figures to compare: those that are always kept, and those of the checks.
func figuresOf(checks []record.Check) []compared {
	var all []compared
	add := func(f record.Figure, more, checked bool) {
		i := slices.IndexFunc(all, func(c compared) bool { return c.Figure == f })
		if i < 0 {
			i = len(all)
			all = append(all, compared{Figure: f, more: f.MoreIsBetter()})
		}
		all[i].more, all[i].checked = all[i].more || more, all[i].checked || checked
	}
	for _, name := range record.Compared {
		f, err := record.ParseFigure(name)
		if err != nil {
			panic("reports: a figure that cannot be read: " + name)
		}
		add(f, false, false)
	}
	for _, k := range checks {
		if e, err := record.ParseCheck(k.Expr); err == nil && k.Status != record.Off {
			add(e.Figure, e.WantsMore(), true)
		}
	}
	return all
}

// compare compares the figure of two cells, but for the verdict.
func (f compared) compare(before, after *record.Cell, sameSeeds bool) Row {
	x := f.Contrast(before, after, sameSeeds)
	r := Row{
		Figure: f.String(), Checked: f.checked, Unit: f.Unit(), Better: "less", Method: x.Method,
		Before: x.Before, After: x.After, Difference: x.Difference, Relative: x.Relative, Replications: BeforeAfter{x.N[0], x.N[1]},
		log: x.Log,
	}
	if f.more {
		r.Better = "more"
	}
	switch {
	case r.tested():
		r.P = record.ExactFloat(x.P)
	case f.Sample(before) == nil || f.Sample(after) == nil:
		r.Why = notSaved
	default:
		r.Why = tooFew
	}
	return r
}

// tested reports whether there was a test.
func (r *Row) tested() bool { return r.Method == record.Paired || r.Method == record.Welch }

// rows calls f for every row, in order.
func (c *Comparison) rows(f func(p *Pair, r *Row)) {
	for i := range c.Pairs {
		for j := range c.Pairs[i].Figures {
			f(&c.Pairs[i], &c.Pairs[i].Figures[j])
		}
	}
}

// equal reports whether a figure was equal in every pair.
func (r *Row) equal() bool { return r.tested() && r.Difference.Lo == 0 && r.Difference.Hi == 0 }

// correct corrects the p of each family for their number.
func (c *Comparison) correct() {
	for _, family := range []struct {
		checked bool
		tests   *int
	}{{true, &c.CheckTests}, {false, &c.Tests}} {
		var rows []*Row
		var p []float64
		c.rows(func(_ *Pair, r *Row) {
			switch {
			case r.equal():
				r.Corrected = r.P
			case r.tested() && r.Checked == family.checked:
				rows, p = append(rows, r), append(p, r.P.Value)
			}
		})
		*family.tests = len(p)
		for i, corrected := range record.Holm(p) {
			rows[i].Corrected = record.ExactFloat(corrected)
		}
	}
}

// judge gives the verdicts.
func (c *Comparison) judge() {
	n := map[Verdict]int{}
	c.rows(func(p *Pair, r *Row) {
		r.Verdict = r.judge(c.Indifference)
		if r.Verdict == Inconclusive {
			r.Why = r.why(p)
		} else {
			r.Why = ""
		}
		n[r.Verdict]++
	})
	c.survivors()
	switch {
	case n[Worse] > 0 && n[Better] > 0:
		c.Verdict = Mixed
	case n[Worse] > 0:
		c.Verdict = Worse
	case n[Better] > 0:
		c.Verdict = Better
	case n[NoDifference] > 0 && n[Inconclusive] == 0:
		c.Verdict = NoDifference
	default:
		c.Verdict = Inconclusive
	}
}

// survivors marks the durations that differ where more or fewer requests fail: they are of those that got through.
func (c *Comparison) survivors() {
	for _, p := range c.Pairs {
		i := slices.IndexFunc(p.Figures, func(r Row) bool { return r.Figure == "failed_rate" })
		if i < 0 {
			continue
		}
		fails := p.Figures[i].Verdict
		for i := range p.Figures {
			switch r := &p.Figures[i]; {
			case r.Unit != "ns":
			case fails == Worse && r.Verdict == Better:
				r.Why = "but more requests fail"
			case fails == Better && r.Verdict == Worse:
				r.Why = "but fewer requests fail"
			}
		}
	}
}

func (r *Row) judge(indifference float64) Verdict {
	d, zone := r.Difference, float64(indifference*math.Abs(r.Before.Value))
	if r.log {
		d, zone = r.Relative, indifference
	}
	switch {
	case r.Method == record.Unmeasured:
		return Inconclusive
	case r.Difference.Lo == 0 && r.Difference.Hi == 0:
		return NoDifference
	case !r.tested():
		return Inconclusive
	case -zone <= d.Lo && d.Hi <= zone:
		return NoDifference
	case r.Corrected.Value > significant || math.Abs(d.Value) <= zone:
		return Inconclusive
	case (d.Value > 0) == (r.Better == "more"):
		return Better
	}
	return Worse
}

// why says why there was no test.
func (r *Row) why(p *Pair) string {
	one := func(n int) bool { return n < 2 }
	switch n := p.Replications; {
	case r.tested():
		return ""
	case !r.Before.Known:
		return "not measured before"
	case !r.After.Known:
		return "not measured after"
	case one(n.Before) && one(n.After):
		return "one replication each"
	case one(n.Before):
		return "one replication before"
	case one(n.After):
		return "one replication after"
	}
	return r.Why
}

// Why a figure that has been measured cannot be judged, although there are replications.
const (
	tooFew   = "few samples"
	notSaved = "not saved"
)

// explain adds the notes on what was compared.
func (c *Comparison) explain(sameSeeds bool, unmeasured []string, cells [][2]*record.Cell) {
	note := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	one, unequal, few, unsaved, fails := false, false, false, false, false
	c.rows(func(p *Pair, r *Row) {
		one = one || strings.HasPrefix(r.Why, "one replication")
		few = few || r.Why == tooFew
		unsaved = unsaved || r.Why == notSaved
		unequal = unequal || r.Method == record.Welch && p.Replications.Before != p.Replications.After
	})
	for _, p := range cells {
		fails = fails || p[0].Requests.Failed > 0 || p[1].Requests.Failed > 0
	}
	if one {
		note("One replication does not tell a difference from luck: run with --replications 10 for a verdict.")
	}
	if unequal && sameSeeds {
		note("The numbers of replications differ, so they were not compared pair by pair: with equal ones the intervals are narrower.")
	}
	if few {
		note("Few samples: enough of all replications together, but not in each of them.")
	}
	if unsaved {
		note("Not saved: the result has no values for each replication, as no check of it asks for the figure.")
	}
	if names := c.onOneSide(cells); names != nil {
		note("Of %s there are requests on one side only: figures without a service are of all together, so compare those of the services that both have, as in --check 'p(99){service=NAME}<=baseline*1.1'.", wording.And(names))
	}
	if unmeasured != nil {
		where := ""
		if len(cells) > 1 {
			where = ", at least at some settings"
		}
		note("Not measured on either side%s: %s.", where, strings.Join(unmeasured, ", "))
	}
	if fails {
		note("Requests fail. Latency and wait are of what succeeded only: compare them with care.")
	}
}

// onOneSide names the services, where there are several, that make requests on one side of a pair and none on the other.
func (c *Comparison) onOneSide(cells [][2]*record.Cell) (names []string) {
	for _, p := range cells {
		for side := range p {
			for _, s := range eachService(p[side]) {
				other := eachService(p[1-side])
				i := slices.IndexFunc(other, func(o *record.PoolCell) bool { return o.Name == s.Name })
				alone := s.Requests.OK > 0 && (i < 0 || other[i].Requests.OK == 0) && len(p[side].Pools) > 1
				if name := digest.Printable(s.Name); alone && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// differentRuns says in what the two runs differ beside what was to be compared.
func (c *Comparison) differentRuns() []string {
	var all []string
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	b, a := c.Before, c.After
	if b.Name != a.Name {
		note("These are different scenarios: %s and %s.", named(b), named(a))
	}
	if b.Estimate != a.Estimate {
		note("Before is %s and after is %s: these are different things to measure.", digest.Printable(b.Estimate), digest.Printable(a.Estimate))
	}
	switch {
	case b.Seed != a.Seed:
		note("The seeds differ, so the replications were not compared pair by pair: with --seed %d for both the intervals are narrower.", b.Seed)
	case b.Hash == a.Hash && b.Hash != "":
		s := "Both are the same scenario with the same seed"
		if c.Verdict != NoDifference {
			s += ", so what differs comes from different versions of poolwise"
		}
		note("%s.", s)
	}
	return all
}

func named(s record.Scenario) string {
	if s.Name == "" {
		return "one without a name"
	}
	return digest.Printable(s.Name)
}

// bothWarnings says of each warning whose it is.
func bothWarnings(before, after []string) []string {
	all := []string{}
	for _, w := range before {
		if slices.Contains(after, w) {
			all = append(all, "before and after: "+w)
		} else {
			all = append(all, "before: "+w)
		}
	}
	for _, w := range after {
		if !slices.Contains(before, w) {
			all = append(all, "after: "+w)
		}
	}
	return all
}

// place is a row with its pair.
type place struct {
	pair *Pair
	row  *Row
}

// order is that of the verdicts, worst first.
var order = []Verdict{Worse, Inconclusive, Better, NoDifference}

// sorted returns the rows with a verdict of those given, worst first: by verdict, then those that a check names, then by how large the
// difference is.
func (c *Comparison) sorted(verdicts ...Verdict) []place {
	var all []place
	c.rows(func(p *Pair, r *Row) {
		if slices.Contains(verdicts, r.Verdict) {
			all = append(all, place{p, r})
		}
	})
	slices.SortStableFunc(all, func(x, y place) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, x.row.Verdict), slices.Index(order, y.row.Verdict)),
			-compareBools(x.row.Checked, y.row.Checked),
			cmp.Compare(y.row.size(), x.row.size()),
		)
	})
	return all
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// size is how large a difference is, relative to before: as a ratio of times, of which halving is as much as doubling.
func (r *Row) size() float64 {
	switch {
	case r.log:
		return math.Abs(math.Log1p(r.Relative.Value))
	case r.Relative.Known:
		return math.Abs(r.Relative.Value)
	case r.Difference.Known && r.Difference.Value == 0:
		return 0
	}
	return math.Inf(1)
}

// count returns how many rows have each verdict.
func (c *Comparison) count() (n map[Verdict]int64, total int64) {
	n = map[Verdict]int64{}
	c.rows(func(_ *Pair, r *Row) {
		n[r.Verdict]++
		total++
	})
	return n, total
}

// Count returns how many figures have a verdict.
func (c *Comparison) Count(v Verdict) int {
	n, _ := c.count()
	return int(n[v])
}

// Headline says in plain words what matters: the verdict, what was not compared, and the checks.
func (c *Comparison) Headline() []string { return c.headline() }

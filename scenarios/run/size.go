package run

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// SizeOptions say how to look for the size of a pool.
type SizeOptions struct {
	Key          string  // path of the size; every cell has a setting of it, a count
	Indifference float64 // how large a difference nobody minds, as a share of the figure
	// MinReplications and MaxReplications are of each size that is run, Budget is of all of them together; 0 for the defaults.
	MinReplications, MaxReplications, Budget int
	// Surge is how many instances there are more at the peak than the scenario has, as during a release.
	Surge int
	Options
}

// The defaults of a search for a size.
const (
	DefaultIndifference    = 0.02
	DefaultSizeMaximum     = 40  // replications of a size
	DefaultSizeBudget      = 250 // replications of all sizes
	mostScreened           = 12  // so many sizes are run all
	confidence             = 0.95
	fewestSizeReplications = 2
)

// Size looks for the size to give a pool: the smallest that meets the checks, or without checks the knee of the curve. base is
// the scenario without its sweep, and cells are the sizes that there are to choose from, valid as scenarios.Load returns them.
//
// All sizes meet the same requests with the same luck (common random numbers), so that they are compared pair by pair. The search
// has three parts, which alternate.
//
//   - Screening. Up to twelve sizes are run all, of more a grid that grows by half from one to the next, with the sizes at which
//     the cores and the server's limit are reached (and those below the cores, if a universal scalability law is to be fitted). Each
//     has MinReplications.
//   - Halving. The sizes between the one to use and the next smaller one that was run are halved until there is none left, and so
//     are those before the knee, before the first at which requests cease to fail, before the first that is refused, and before the
//     first that misses a check again. For the size to
//     use this takes a curve that gets better with every step on its way to the limit of a check. If that cannot be said of the
//     sizes that were run, all those below it are run.
//   - Selection. Sizes whose verdict or comparison is open are run again, each time twice as often as before, up to
//     MaxReplications and while Budget lasts: first those that may turn out to be smaller and meet the checks, then those that
//     cannot be told from the one to use, the nearest first. (At the end, those to which the law is fitted have some more.) Others are
//     left alone. This is a sequential procedure with a zone of
//     indifference and common random numbers after Nelson and Matejcik (1995) and Kim and Nelson (2001), but with Bonferroni's
//     inequality over sizes, figures and looks in the place of their constants: simpler, and on the safe side.
//
// What is promised is in record.Confidence. It does not cover the knee, which goes by the means.
func Size(ctx context.Context, base *scenarios.Scenario, cells []scenarios.Cell, opt SizeOptions) (*record.Sizing, error) {
	s, err := newSearch(base, cells, opt)
	if err != nil {
		return nil, err
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	return s.result(), nil
}

// search is the state of a search for a size.
type search struct {
	base     *scenarios.Scenario
	opt      SizeOptions
	crew     *crew
	n        []int       // replications of each candidate
	all      []candidate // ascending
	checks   []sizeCheck // the last is the guard, if there is one
	guarded  bool
	locks    bool // there is a check against deadlocks that the scenario does not have
	figures  []sizeFigure
	warnings []string
	tooLarge []int // sizes that were left out, as they do not fit at the peak

	alphaChecks, alphaPairs float64
	looks                   int
	scan                    bool   // halving is not good enough
	scanned                 string // why
	short                   bool   // of budget
}

// candidate is a size that can be run.
type candidate struct {
	size     int
	cell     record.Cell
	checks   []record.Check
	verdict  record.Status // empty before it was run
	apparent bool          // it meets the checks if its values are taken as they are
}

// sizeCheck is a check that sizes have to meet.
type sizeCheck struct {
	record.Expr
	scenarios.Check
}

func (k *sizeCheck) binding() bool { return k.Level == scenarios.ErrorLevel }

// sizeFigure is a figure by which sizes are told apart.
type sizeFigure struct {
	record.Figure
	more bool // is better
}

func newSearch(base *scenarios.Scenario, cells []scenarios.Cell, opt SizeOptions) (*search, error) {
	opt.MinReplications = cmp.Or(opt.MinReplications, DefaultMinReplications)
	opt.MaxReplications = max(cmp.Or(opt.MaxReplications, DefaultSizeMaximum), opt.MinReplications)
	opt.Budget = cmp.Or(opt.Budget, DefaultSizeBudget)
	s := &search{base: base, opt: opt}
	cells, err := s.fitting(cells)
	if err != nil {
		return nil, err
	}
	for _, c := range cells {
		size, ok := record.SizeOf(c.Settings, opt.Key)
		if !ok || len(c.Settings) != 1 {
			return nil, fmt.Errorf("%s is no size: want whole numbers above 0, have %s", opt.Key, c.Settings)
		}
		s.all = append(s.all, candidate{size: size, cell: record.Cell{Settings: c.Settings}})
	}
	cells = slices.Clone(cells)
	slices.SortStableFunc(s.all, func(a, b candidate) int { return cmp.Compare(a.size, b.size) })
	slices.SortStableFunc(cells, func(a, b scenarios.Cell) int {
		x, _ := record.SizeOf(a.Settings, opt.Key)
		y, _ := record.SizeOf(b.Settings, opt.Key)
		return cmp.Compare(x, y)
	})
	s.n = make([]int, len(cells))
	s.crew = newCrew(cells, opt.Options)
	s.crew.total = opt.Budget
	s.setChecks()
	s.setFigures()
	screened := len(s.screen())
	if least := fewestSizeReplications * screened; opt.Budget < least {
		return nil, fmt.Errorf("a budget of %d replications is not enough: %d sizes are run to begin with, %d times each at the least", opt.Budget, screened, fewestSizeReplications)
	}
	s.opt.MinReplications = max(min(opt.MinReplications, opt.Budget/screened), fewestSizeReplications)
	s.looks = 1
	for n := s.opt.MinReplications; n < s.opt.MaxReplications; n *= 2 {
		s.looks++
	}
	s.alphaChecks = (1 - confidence) / float64(len(s.all)*max(len(s.checks), 1)*s.looks)
	s.alphaPairs = (1 - confidence) / float64(max(len(s.all)-1, 1)*len(s.figures)*s.looks)
	return s, nil
}

// fitting returns the cells of the sizes that fit with as many instances as there are at the peak, if that was asked.
func (s *search) fitting(cells []scenarios.Cell) ([]scenarios.Cell, error) {
	v := sized(s.base, s.opt.Key)
	if s.opt.Surge == 0 || v == nil {
		return cells, nil
	}
	l := instances(s.base, v, s.opt.Surge)
	if l == nil {
		return cells, nil
	}
	var fit []scenarios.Cell
	smallest := math.MaxInt
	for _, c := range cells {
		size, ok := record.SizeOf(c.Settings, s.opt.Key)
		if !ok || size <= l.Each {
			fit = append(fit, c)
		} else {
			s.tooLarge = append(s.tooLarge, size)
		}
		smallest = min(smallest, size)
	}
	if fit == nil {
		return nil, fmt.Errorf("no size fits: at the peak there are %d instances, which can have %d connections each of the %d that the %s leaves them; the smallest size is %d",
			l.Instances+l.Surge, l.Each, l.Left, l.Of, smallest)
	}
	if n := len(s.tooLarge); n > 0 {
		slices.Sort(s.tooLarge)
		s.warnings = append(s.warnings, fmt.Sprintf("sizes above %d were left out (%d of them): they do not fit with %d instances at the peak", l.Each, n, l.Instances+l.Surge))
	}
	return fit, nil
}

// setChecks takes over the checks of the scenario.
func (s *search) setChecks() {
	for _, k := range s.base.Checks {
		e := mustParse(k.Expr)
		switch {
		case k.Level == scenarios.OffLevel:
		case e.Against():
			s.warnings = append(s.warnings, fmt.Sprintf("the check %s is left out: there is no baseline here", e))
		default:
			s.checks = append(s.checks, sizeCheck{e, k})
		}
	}
	aboutFailures := func(k sizeCheck) bool {
		name := k.Figure.String()
		return k.binding() && (strings.HasPrefix(name, "failed") || strings.HasPrefix(name, "outcome(") || name == "ok" || name == "timeouts")
	}
	if s.guarded = s.bound() && !slices.ContainsFunc(s.checks, aboutFailures); s.guarded {
		s.checks = append(s.checks, sizeCheck{})
		s.guard()
	}
}

// lawReplications is how many replications the sizes have at least, as far as the budget goes, to which a law is fitted.
const lawReplications = 20

// forTheLaw returns the candidates that are to be run more often for the fit of the universal scalability law.
func (s *search) forTheLaw() []wish {
	var want []wish
	v := sized(s.base, s.opt.Key)
	if !hasLaw(s.base, v) {
		return nil
	}
	for i := range s.all {
		n := s.all[i].size * v.Instances
		if s.ran(i) && limits(&s.all[i].cell, n) && (s.base.Server.Cores == 0 || n <= s.base.Server.Cores) {
			if upTo := min(lawReplications, s.opt.MaxReplications); s.n[i] < upTo {
				want = append(want, wish{i, upTo})
			}
		}
	}
	return want
}

// setFigures sets the figures by which sizes are told apart: the share of failures, throughput, p(99), and those of the checks
// that are times or rates.
func (s *search) setFigures() {
	for _, name := range []string{"failed_rate", "throughput", "p(99)"} {
		f := mustFigure(name)
		s.figures = append(s.figures, sizeFigure{f, f.MoreIsBetter()})
	}
	for i := range s.checks {
		e := &s.checks[i]
		u := e.Unit()
		has := slices.ContainsFunc(s.figures, func(f sizeFigure) bool { return f.Figure == e.Figure })
		if !has && (u == "ns" || u == "per_second") {
			s.figures = append(s.figures, sizeFigure{e.Figure, e.WantsMore()})
		}
	}
}

// bound reports whether there are checks that a size must meet.
func (s *search) bound() bool {
	return slices.ContainsFunc(s.checks, func(k sizeCheck) bool { return k.binding() })
}

// screen returns the candidates that are run to begin with.
func (s *search) screen() []int {
	last := len(s.all) - 1
	var grid []int
	if last < mostScreened {
		for i := range s.all {
			grid = append(grid, i)
		}
		return grid
	}
	for i := 0; i < last; i = (3*i + 4) / 2 { // in numbers from 1: 1, 2, 3, 5, 8, 12, 18, 27
		grid = append(grid, i)
	}
	grid = append(grid, last)
	if v := sized(s.base, s.opt.Key); v != nil {
		cores := (s.base.Server.Cores + v.Instances - 1) / v.Instances
		turns := []int{cores}
		if hasLaw(s.base, v) && cores <= mostScreened { // sizes enough to fit it to
			for size := range cores {
				turns = append(turns, size)
			}
		}
		if l := limitOf(s.base, v); l.Limit > 0 {
			turns = append(turns, l.Left/v.Instances, l.Left/v.Instances+1)
		}
		for _, size := range turns {
			if i := slices.IndexFunc(s.all, func(c candidate) bool { return c.size == size }); i >= 0 {
				grid = append(grid, i)
			}
		}
	}
	slices.Sort(grid)
	return slices.Compact(grid)
}

// sized returns the service whose pool the key is about, nil if it is about something else.
func sized(s *scenarios.Scenario, key string) *scenarios.Service {
	all := s.All()
	for i := range all {
		for _, prefix := range []string{"services." + all[i].Name + ".pool.", fmt.Sprintf("services[%d].pool.", i)} {
			if s.Services != nil && strings.HasPrefix(key, prefix) {
				return &all[i]
			}
		}
	}
	if s.Services == nil && len(all) == 1 && strings.HasPrefix(key, "pool.") {
		return &all[0]
	}
	return nil
}

// run searches until there is nothing left to find out, or the budget is spent.
func (s *search) run(ctx context.Context) error {
	first := map[int]int{}
	for _, i := range s.screen() {
		first[i] = s.opt.MinReplications
	}
	if err := s.extend(ctx, first); err != nil {
		return err
	}
	s.refuseDeadlocks()
	for {
		want := s.gaps()
		if want == nil {
			want = s.contenders()
		}
		if want == nil {
			want = s.forTheLaw()
		}
		if want = s.affordable(want); len(want) == 0 {
			return nil
		}
		next := map[int]int{}
		for _, w := range want {
			next[w.candidate] = w.upTo
		}
		if err := s.extend(ctx, next); err != nil {
			return err
		}
	}
}

// refuseDeadlocks adds the check that there is no deadlock where there are deadlocks and no checks: the knee is nothing to go by then.
func (s *search) refuseDeadlocks() {
	if s.bound() || !slices.ContainsFunc(s.all, func(c candidate) bool { return c.cell.Deadlocks() }) {
		return
	}
	k := scenarios.Check{Expr: "deadlocks<=0"}
	s.checks = append(s.checks, sizeCheck{mustParse(k.Expr), k})
	s.locks = true
	s.alphaChecks = (1 - confidence) / float64(len(s.all)*len(s.checks)*s.looks)
	for i := range s.all {
		if s.ran(i) {
			s.judge(i)
		}
	}
}

// wish is a wish for replications.
type wish struct{ candidate, upTo int }

// affordable returns the wishes that the budget has room for, in their order.
func (s *search) affordable(want []wish) []wish {
	left := s.opt.Budget - s.crew.done
	var all []wish
	for _, w := range want {
		if cost := w.upTo - s.n[w.candidate]; cost <= left {
			all = append(all, w)
			left -= cost
		} else {
			s.short = true
		}
	}
	return all
}

// extend runs candidates up to a number of replications and judges them.
func (s *search) extend(ctx context.Context, upTo map[int]int) error {
	for i := range s.n {
		s.n[i] = max(s.n[i], upTo[i])
	}
	if err := s.crew.upTo(ctx, s.n); err != nil {
		return err
	}
	for i := range s.all {
		if upTo[i] > 0 {
			s.all[i].cell = s.crew.merge(i)
		}
	}
	s.guard()
	for i := range s.all {
		if s.ran(i) {
			s.judge(i)
		}
	}
	return nil
}

// guard sets the check that keeps a size from looking good because few are served: latency is that of those who are. If no check
// is about failures, a size must not fail more requests than the size that fails the fewest, and what nobody minds beyond.
func (s *search) guard() {
	if !s.guarded {
		return
	}
	least := 1.0
	for i := range s.all {
		if f := s.all[i].cell.FailedRate; f.Known {
			least = min(least, f.Value)
		}
	}
	k := scenarios.Check{Expr: fmt.Sprintf("failed_rate<=%.4g%%", 100*min(least+s.opt.Indifference, 1))}
	s.checks[len(s.checks)-1] = sizeCheck{mustParse(k.Expr), k}
}

// judge judges a candidate by what was run of it.
func (s *search) judge(i int) {
	c := &s.all[i]
	c.checks, c.verdict, c.apparent = []record.Check{}, record.Passed, c.cell.Requests.OK > 0
	failed := !c.apparent
	for j := range s.checks {
		k := &s.checks[j]
		got := k.EvaluateAt(&c.cell, s.alphaChecks)
		got.Line, got.Level = k.Line, k.Level.String()
		c.checks = append(c.checks, got)
		if !k.binding() {
			continue
		}
		c.apparent = c.apparent && k.EvaluateValue(&c.cell) == record.Passed
		switch got.Status {
		case record.Inconclusive:
			c.verdict = record.Inconclusive
		case record.NotEvaluated: // there may be samples enough in more replications
			c.verdict = record.Inconclusive
			failed = failed || s.n[i] >= s.opt.MaxReplications
		case record.FailedCheck:
			failed = true
		}
	}
	if failed {
		c.verdict = record.FailedCheck
	}
}

// ran reports whether a candidate was run.
func (s *search) ran(i int) bool { return s.n[i] > 0 }

// before returns the nearest candidate below i that was run, -1 if there is none.
func (s *search) before(i int) int {
	for i--; i >= 0 && !s.ran(i); i-- {
	}
	return i
}

// maxed reports whether a candidate has had all replications that it may have.
func (s *search) maxed(i int) bool { return s.n[i] >= s.opt.MaxReplications }

// best returns the size to use as far as is known, -1 if there is none.
func (s *search) best() int {
	if !s.bound() {
		k, ok := s.knee()
		if !ok {
			return -1
		}
		return k.at
	}
	return slices.IndexFunc(s.all, func(c candidate) bool { return c.verdict == record.Passed })
}

// target returns the smallest size that may turn out to be the one to use, -1 if there is none.
func (s *search) target() int {
	if !s.bound() {
		return s.best()
	}
	for i, c := range s.all {
		if c.verdict == record.Passed || c.verdict == record.Inconclusive && c.apparent && !s.maxed(i) {
			return i
		}
	}
	return -1
}

// gaps returns the candidates that have not been run and are to be run next.
func (s *search) gaps() []wish {
	var want []wish
	add := func(i int) {
		if !s.ran(i) && !slices.ContainsFunc(want, func(w wish) bool { return w.candidate == i }) {
			want = append(want, wish{i, s.opt.MinReplications})
		}
	}
	halve := func(i int) { // what lies before i
		if i > 0 {
			if p := s.before(i); i-p > 1 {
				add((p + i) / 2)
			}
		}
	}
	t := s.target()
	if t < 0 {
		if c := s.closest(); c >= 0 {
			halve(c)
			if next := s.after(c); next >= 0 {
				halve(next)
			}
		}
	} else {
		if !s.scan {
			s.scanned = s.turns(t)
			s.scan = s.scanned != ""
		}
		if s.scan {
			for i := range t {
				add(i)
			}
		}
		halve(t)
	}
	if k, ok := s.knee(); ok {
		halve(k.at)
	}
	halve(s.cleanFrom())
	halve(s.refusedFrom())
	halve(s.missedFrom(t))
	return want
}

// after returns the nearest candidate above i that was run, -1 if there is none.
func (s *search) after(i int) int {
	for i++; i < len(s.all); i++ {
		if s.ran(i) {
			return i
		}
	}
	return -1
}

// turns says why the size to use cannot be found by halving: on the way to candidate t, a figure that misses its limit gets worse,
// or without checks the throughput. It is empty if there is nothing of the kind.
func (s *search) turns(t int) string {
	for b := s.after(-1); b >= 0 && b <= t; b = s.after(b) {
		a := s.before(b)
		if a < 0 {
			continue
		}
		if f := s.worse(a, b); f != "" {
			return fmt.Sprintf("%s gets worse from %d to %d", f, s.all[a].size, s.all[b].size)
		}
	}
	return ""
}

// worse returns the figure that gets worse from candidate a to candidate b, as far as that is no luck, and matters.
func (s *search) worse(a, b int) string {
	change := func(f record.Figure) (from float64, d record.Float) {
		return record.PairedAt(f.Sample(&s.all[b].cell), f.Sample(&s.all[a].cell), 1-confidence)
	}
	if !s.bound() {
		f := mustFigure("throughput")
		if _, d := change(f); d.Known && d.Hi < 0 {
			return f.String()
		}
	}
	for j := range s.checks {
		k := &s.checks[j]
		from, d := change(k.Figure)
		if !k.binding() || !d.Known {
			continue
		}
		at := k.Excess(from)
		least := min(k.Excess(from+d.Lo), k.Excess(from+d.Hi)) // of what it may be at b
		if least > at && k.Excess(from+d.Value) > 0 {
			return k.Figure.String()
		}
	}
	return ""
}

// excess returns the check that a candidate misses by most, relative to its limit.
func (s *search) excess(i int) (check int, by float64) {
	check, by = -1, math.Inf(-1)
	for j := range s.checks {
		k := &s.checks[j]
		if !k.binding() {
			continue
		}
		x := math.Inf(1)
		if f := k.Measure(&s.all[i].cell); f.Known {
			x = k.Excess(f.Value)
		}
		if x > by {
			check, by = j, x
		}
	}
	return check, by
}

// closest returns the candidate that comes nearest to meeting the checks, -1 if none was measured.
func (s *search) closest() int {
	closest, least := -1, math.Inf(1)
	for i := range s.all {
		if !s.ran(i) {
			continue
		}
		if _, by := s.excess(i); by < least {
			closest, least = i, by
		}
	}
	return closest
}

// refusedFrom returns the first of the candidates at all of which, as far as they were run, the server refuses connections; -1 if
// there is none, or if it does so at the smallest too, which is then not for their size.
func (s *search) refusedFrom() int {
	from := -1
	for i := range s.all {
		switch {
		case !s.ran(i):
		case s.all[i].cell.Server.Refused == 0:
			from = -1
		case from < 0:
			from = i
		}
	}
	if from < 0 || s.before(from) < 0 {
		return -1
	}
	return from
}

// cleanFrom returns the first of the candidates that were run at which no request fails, while some do at the one before; -1 if there
// is none.
func (s *search) cleanFrom() int {
	for i := range s.all {
		if b := s.before(i); s.ran(i) && b >= 0 && s.all[i].cell.Clean() && !s.all[b].cell.Clean() && s.all[b].cell.Requests.Failed > 0 {
			return i
		}
	}
	return -1
}

// missedFrom returns the first of the candidates above t at all of which, as far as they were run, a check is missed; -1 if there
// is none.
func (s *search) missedFrom(t int) int {
	from := -1
	for i := t + 1; i < len(s.all); i++ {
		switch {
		case !s.ran(i):
		case s.all[i].verdict != record.FailedCheck:
			from = -1
		case from < 0:
			from = i
		}
	}
	if t < 0 {
		return -1
	}
	return from
}

// contenders returns the candidates that are to be run more often.
func (s *search) contenders() []wish {
	var want []wish
	add := func(i int) {
		if !s.maxed(i) && !slices.ContainsFunc(want, func(w wish) bool { return w.candidate == i }) {
			want = append(want, wish{i, min(2*s.n[i], s.opt.MaxReplications)})
		}
	}
	use := s.best()
	if s.bound() {
		t := s.target() // not above use
		for i := range s.all {
			open := s.all[i].verdict == record.Inconclusive
			if open && (t < 0 || i <= t || use >= 0 && i < use) {
				add(i)
			}
		}
		if want != nil {
			return want
		}
	}
	if use < 0 {
		return nil
	}
	pair := func(i, with int) {
		if s.unsettled(i, with) {
			if s.n[i] <= s.n[with] {
				add(i)
			}
			if s.n[with] <= s.n[i] {
				add(with)
			}
		}
	}
	for _, i := range s.nearest(use) {
		if s.all[i].verdict == record.Inconclusive {
			add(i)
		} else {
			pair(i, use)
		}
	}
	return want
}

// nearest returns the candidates that may be as good as use, the nearest first.
func (s *search) nearest(use int) []int {
	var all []int
	refused := s.refusedFrom()
	for i, c := range s.all {
		if i != use && s.ran(i) && (refused < 0 || i < refused) && (c.verdict == record.Passed || c.verdict == record.Inconclusive && i > use && c.apparent) {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(max(a-use, use-a), max(b-use, use-b)) })
	return all
}

// versus compares a candidate with another, figure by figure.
func (s *search) versus(i, with int) []record.Versus {
	all := []record.Versus{}
	for _, f := range s.figures {
		v := record.Versus{Figure: f.String(), Verdict: record.ZoneUnknown}
		base, d := record.PairedAt(f.Sample(&s.all[i].cell), f.Sample(&s.all[with].cell), s.alphaPairs)
		if d.Known {
			v.Base, v.Difference = record.ExactFloat(base), d
			if b := math.Abs(base); b > 0 {
				v.Relative = record.Float{Value: d.Value / b, Lo: d.Lo / b, Hi: d.Hi / b, Known: true, Interval: true}
			}
			v.Verdict = zone(d, s.opt.Indifference*math.Abs(base), f.more)
		}
		all = append(all, v)
	}
	return all
}

// zone says where an interval lies: within ±half, outside, or on an edge.
func zone(d record.Float, half float64, more bool) record.Zone {
	switch {
	case -half <= d.Lo && d.Hi <= half:
		return record.ZoneWithin
	case d.Lo > half && more, d.Hi < -half && !more:
		return record.ZoneBetter
	case d.Lo > half, d.Hi < -half:
		return record.ZoneWorse
	}
	return record.ZoneEdge
}

// relation says how a candidate stands to another by what versus found.
func relation(versus []record.Versus) record.SizeRelation {
	n := map[record.Zone]int{}
	for _, v := range versus {
		n[v.Verdict]++
	}
	switch {
	case n[record.ZoneBetter] > 0 && n[record.ZoneWorse] > 0:
		return record.SizeDifferent
	case n[record.ZoneBetter] > 0:
		return record.SizeBetter
	case n[record.ZoneWorse] > 0:
		return record.SizeWorse
	case n[record.ZoneEdge] > 0 || n[record.ZoneWithin] == 0:
		return record.SizeUnsettled
	}
	return record.SizeAlike
}

// unsettled reports whether more replications may settle how a candidate stands to another.
func (s *search) unsettled(i, with int) bool {
	versus := s.versus(i, with)
	edge := slices.ContainsFunc(versus, func(v record.Versus) bool { return v.Verdict == record.ZoneEdge })
	return edge && relation(versus) == record.SizeUnsettled
}

// knee is the knee of the curve.
type knee struct{ at, best, fastest int }

// knee returns the knee of the sizes that were run; see record.Knee.
func (s *search) knee() (k knee, ok bool) {
	sound := s.sound()
	if sound == nil {
		return k, false
	}
	x, p := mustFigure("throughput"), mustFigure("p(99)")
	k.best = sound[0]
	for _, i := range sound[1:] {
		if s.change(x, i, k.best) > 0 {
			k.best = i
		}
	}
	fast := slices.DeleteFunc(slices.Clone(sound), func(i int) bool { return s.change(x, i, k.best) < -s.opt.Indifference })
	k.fastest = fast[0]
	for _, i := range fast[1:] {
		if s.change(p, i, k.fastest) < 0 {
			k.fastest = i
		}
	}
	for _, i := range fast {
		if s.change(p, i, k.fastest) <= s.opt.Indifference {
			k.at = i
			break
		}
	}
	return k, true
}

// sound returns the candidates that were run and at which requests succeed: those at which none fails, but by chance, if there are any.
func (s *search) sound() []int {
	var clean, some []int
	for i := range s.all {
		switch c := &s.all[i].cell; {
		case c.Requests.OK == 0 || !c.Throughput.Known:
		case c.Clean():
			clean = append(clean, i)
			fallthrough
		default:
			some = append(some, i)
		}
	}
	if clean != nil {
		return clean
	}
	return some
}

// change returns by how much a figure of a candidate differs from that of another, as a share of the latter, by the means of the
// replications that both have; 0 if it was not measured.
func (s *search) change(f record.Figure, i, from int) float64 {
	if i == from {
		return 0
	}
	base, d := record.PairedAt(f.Sample(&s.all[i].cell), f.Sample(&s.all[from].cell), 1-confidence)
	if !d.Known || base == 0 {
		return 0
	}
	return d.Value / base
}

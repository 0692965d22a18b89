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

// headline says in plain words what matters, in one sentence at least. It says only what the figures show.
func headline(r *record.Result) []string {
	says := append(notStarted(r), deadlocks(r)...)
	line, ok := sweep(r)
	keys := digest.Varying(r)
	switch {
	case len(r.Cells) == 0:
		says = []string{"Nothing was run."}
	case len(r.Cells) == 1:
		says = append(says, cellHeadline(&r.Cells[0])...)
	case ok && line.IsLoad():
		says = append(says, loadHeadline(&line)...)
	case len(keys) == 1 && (!ok || digest.IsLabel(keys[0])):
		says = append(says, variantHeadline(r, keys[0])...)
	case ok && line.IsSize() && line.Open():
		says = append(says, openSizeHeadline(&line, r)...)
	case ok:
		says = append(says, sweepHeadline(&line)...)
	default:
		says = append(says, gridHeadline(r)...)
	}
	says = append(says, notRecovered(r)...)
	says = append(says, leaks(r)...)
	return append(says, checks(r)...)
}

// sweep returns the line of a result that varies one setting, a number, and nothing else.
func sweep(r *record.Result) (digest.Line, bool) {
	if keys := digest.Varying(r); len(keys) == 1 {
		if lines := digest.Lines(r, keys[0]); len(lines) == 1 {
			return lines[0], true
		}
	}
	return digest.Line{}, false
}

func cellHeadline(c *record.Cell) []string {
	q := c.Requests
	says := overload(c)
	few := q.Unfinished > 0 && q.Unfinished <= q.Total/100
	switch {
	case q.Total == 0:
		return []string{"No request was made."}
	case q.OK == 1 && q.Total == 1:
		says = append(says, "The one request succeeds"+speed(c)+".")
	case q.OK == q.Total:
		says = append(says, "All "+digest.Plural(q.Total, "request", "requests")+replications(c)+" succeed"+speed(c)+".")
	case q.Failed == 0 && few:
		says = append(says, fmt.Sprintf("No request fails; %s of %s succeed, the others still go on at the end%s.", digest.Count(q.OK), digest.Count(q.Total), speed(c)))
	case q.Failed == 0:
		says = append(says, fmt.Sprintf("No request fails; %s of %s succeed%s.", digest.Count(q.OK), digest.Count(q.Total), speed(c)))
	default:
		says = append(says, failures(c)+".")
	}
	says = append(says, retries(c)...)
	says = append(says, timeouts(c)...)
	if q.Unfinished > 0 && !few {
		says = append(says, unfinished(q)+" at the end.")
	}
	says = append(says, failingPools(c)...)
	return append(says, stageHeadline(c)...)
}

// retries says how many attempts requests make, where they are repeated.
func retries(c *record.Cell) []string {
	q := c.Requests
	if q.Retries == 0 {
		return nil
	}
	attempts := float64(q.Total+q.Retries) / float64(q.Total)
	s := "With retries a request makes " + digest.Number(attempts) + " attempts in the mean"
	if c.Arrivals.Known {
		s += fmt.Sprintf(": %s a second, of %s requests a second that arrive", perSecond(record.ExactFloat(c.Arrivals.Value*attempts)), perSecond(c.Arrivals))
	}
	return []string{s + "."}
}

// speed adds the throughput and the latency to a sentence.
func speed(c *record.Cell) string {
	s := ""
	if c.Throughput.Known {
		s += ": " + rate(c.Throughput)
		if arriving(c.Arrivals, c.Throughput) {
			s += " of " + digest.Rate(c.Arrivals.Value) + " that arrive"
		}
	}
	if c.Latency.P50.Known {
		s += ", latency p50 " + digest.Duration(c.Latency.P50.Value)
	}
	if c.Latency.P99.Known {
		s += ", p99 " + digest.Duration(c.Latency.P99.Value)
	}
	return s
}

func rate(f record.Float) string {
	if f.Interval {
		return digest.Rate(f.Value) + " (" + digest.RateMargin(f) + ")"
	}
	return digest.Rate(f.Value)
}

// failures says how many requests of a cell fail, how, and what the server refuses.
func failures(c *record.Cell) string {
	q := c.Requests
	requests := digest.Plural(q.Total, "request", "requests")
	s := digest.Count(q.Failed) + " of " + requests + " fail"
	switch {
	case q.Failed == q.Total:
		s = "all " + requests + " fail"
		if q.Total == 1 {
			s = "the one request fails"
		}
	case q.Unfinished == 0:
		s += " (" + digest.Share(1-digest.OKShare(q)) + ")"
	default:
		s += " (" + digest.Share(1-digest.OKShare(q)) + " of those that ended)"
	}
	if o := outcomes(q.Outcomes); o != "" {
		s += ": " + o
	}
	switch v := c.Server; {
	case v.Refused > 0 && v.Opened > 0:
		s += fmt.Sprintf("; the server refuses %s of %s and has at most %s open",
			digest.Count(v.Refused), attempts(v.Opened+v.Refused), digest.Count(v.PeakOpen))
	case v.Refused > 0:
		s += "; the server refuses all " + attempts(v.Refused)
	}
	return s
}

func attempts(n int64) string { return digest.Plural(n, "connection attempt", "connection attempts") }

func unfinished(q record.Requests) string {
	return fmt.Sprintf("%s of %s are unfinished", digest.Count(q.Unfinished), digest.Plural(q.Total, "request", "requests"))
}

func failingPools(c *record.Cell) []string {
	var names []string
	for _, p := range c.Pools {
		if p.Requests.Failed > 0 {
			names = append(names, digest.Printable(p.Name))
		}
	}
	failing := int64(len(names))
	if failing == 0 {
		return nil
	}
	if failing > 4 {
		names = append(names[:3], digest.Count(failing-3)+" more")
	}
	return []string{fmt.Sprintf("Requests fail in %s of %s: %s.",
		digest.Count(failing), digest.Plural(int64(len(c.Pools)), "pool", "pools"), wording.And(names))}
}

// sweepHeadline says what a line along one setting shows.
func sweepHeadline(l *digest.Line) []string {
	var clean, failed, empty []int
	for i, p := range l.Points {
		switch q := p.Cell.Requests; {
		case p.Clean():
			clean = append(clean, i)
		case q.Failed > 0:
			failed = append(failed, i)
		default:
			empty = append(empty, i)
		}
	}
	key := digest.Printable(l.Key)
	var says []string
	if len(clean) > 0 {
		s := succeed(l, clean)
		if best := l.Best(); l.Open() {
			s += p99s(l, clean[0], clean[len(clean)-1])
		} else if best >= 0 {
			s += "; " + bestOf(l, best, len(clean) == 1)
		}
		says = append(says, s+".")
	} else if len(failed) > 0 {
		says = append(says, "At every value of "+key+" requests fail"+failedShares(l, failed)+".")
	} else {
		says = append(says, "At no value of "+key+" is a request served.")
	}
	says = append(says, tooSmall(l)...)
	if len(failed) == len(l.Points) && !slices.ContainsFunc(l.Points, func(p digest.Point) bool { return p.Cell.Server.Refused > 0 }) {
		return append(overloadedAlong(l), says...) // all of it is said
	}
	for _, group := range runs(failed) {
		says = append(says, failingStretch(l, group))
	}
	if n := len(runs(failed)); n > 3 {
		says = append(says[:len(says)-n], fmt.Sprintf("Requests fail at %d of %d values.", len(failed), len(l.Points)))
	}
	if len(empty) > 0 && len(empty) < len(l.Points) {
		says = append(says, "At "+values(l, empty)+" no request is served.")
	}
	return append(overloadedAlong(l), says...)
}

// overloadedAlong says where along a line more is asked for than there is, with the figures of where it is most.
func overloadedAlong(l *digest.Line) (says []string) {
	var kinds []string
	points := map[string][]int{}
	for i, p := range l.Points {
		if kind := overloadKind(p.Cell); kind != "" {
			if points[kind] == nil {
				kinds = append(kinds, kind)
			}
			points[kind] = append(points[kind], i)
		}
	}
	for _, kind := range kinds {
		first, at := l.Points[points[kind][0]], points[kind]
		text := overloaded(first.Cell)
		if slices.ContainsFunc(at, func(i int) bool { return overloaded(l.Points[i].Cell) != text }) {
			text = kind + " (" + lacking(first.Cell)
			if slices.ContainsFunc(at, func(i int) bool { return lacking(l.Points[i].Cell) != lacking(first.Cell) }) {
				text += " at " + first.Label
			}
			text += ")"
		}
		says = append(says, "At "+digest.Printable(l.Key)+" "+values(l, at)+" "+text+".")
	}
	return says
}

// succeed says at which points no request fails.
func succeed(l *digest.Line, points []int) string {
	first := l.Points[points[0]].Cell
	total, finished, share := first.Requests.Total, true, 0.0
	for _, i := range points {
		q := l.Points[i].Cell.Requests
		share = max(share, 1-digest.OKShare(q))
		finished = finished && q.Unfinished == 0
		if q.Total != total {
			total = 0 // not the same everywhere
		}
	}
	at := digest.Printable(l.Key) + " " + values(l, points)
	switch {
	case share > 0:
		return "At " + at + " at most " + digest.Share(share) + " of the requests fail"
	case !finished:
		return "At " + at + " no request fails"
	case total == 0:
		return "At " + at + " every request succeeds"
	case !l.IsSize():
		return "At " + at + " all " + digest.Plural(total, "request", "requests") + replications(first) + " succeed"
	}
	serve := " serve"
	if len(points) == 1 {
		serve = " serves"
	}
	return at + serve + " all " + digest.Plural(total, "request", "requests") + replications(first)
}

// replications says over how many of them counts are sums.
func replications(c *record.Cell) string {
	if c.Replications < 2 {
		return ""
	}
	return fmt.Sprintf(" of %d replications", c.Replications)
}

// bestOf says how good the best point is, which may be the only one.
func bestOf(l *digest.Line, best int, only bool) string {
	c := l.Points[best].Cell
	s := "throughput " + rate(c.Throughput)
	if !only {
		s = "best " + s + " at " + l.Points[best].Label
	}
	if c.Latency.P99.Known {
		s += " with p99 " + digest.Duration(c.Latency.P99.Value)
	}
	if first, last := l.Flat(); first != last {
		s += fmt.Sprintf(", within %d %% of it from %s to %s", digest.Tolerance, l.Points[first].Label, l.Points[last].Label)
	}
	return s
}

// failedShares says how many of the requests fail at the points where the fewest and the most do.
func failedShares(l *digest.Line, failed []int) string {
	byShare := func(i, j int) int {
		return cmp.Compare(digest.OKShare(l.Points[j].Cell.Requests), digest.OKShare(l.Points[i].Cell.Requests))
	}
	least, most := slices.MinFunc(failed, byShare), slices.MaxFunc(failed, byShare)
	share := func(i int) string { return digest.Share(1 - digest.OKShare(l.Points[i].Cell.Requests)) }
	if share(least) == share(most) {
		return ": " + share(least) + " of them"
	}
	return fmt.Sprintf(": from %s of them at %s to %s at %s", share(least), l.Points[least].Label, share(most), l.Points[most].Label)
}

// tooSmall says which pool sizes cost throughput.
func tooSmall(l *digest.Line) []string {
	best := l.Best()
	if best < 0 || !l.IsSize() {
		return nil
	}
	var below []int
	lo, hi := 1.0, 0.0
	for i, region := range l.Regions() {
		if c := l.Points[i].Cell; region == digest.Below && c.Requests.Failed == 0 && c.Throughput.Known {
			share := c.Throughput.Value / l.Points[best].Cell.Throughput.Value
			lo, hi = min(lo, share), max(hi, share)
			below = append(below, i)
		}
	}
	if len(below) == 0 {
		return nil
	}
	if lo >= 0.8 {
		return []string{"At " + values(l, below) + " throughput is " + span(lo, hi) + " of the best."}
	}
	is := " are"
	if len(below) == 1 {
		is = " is"
	}
	return []string{values(l, below) + is + " too small: " + span(lo, hi) + " of the best throughput."}
}

// span writes a range of shares.
func span(lo, hi float64) string {
	from, to := digest.Share(lo), digest.Share(hi)
	if from == to {
		return from
	}
	return from + " to " + to
}

func failingStretch(l *digest.Line, group []int) string {
	if len(group) == 1 {
		p := l.Points[group[0]]
		return strings.Join(append([]string{"At " + p.Label + ", " + failures(p.Cell) + "."}, failingPools(p.Cell)...), " ")
	}
	lo, hi, refused := 1.0, 0.0, true
	for _, i := range group {
		c := l.Points[i].Cell
		share := 1 - digest.OKShare(c.Requests)
		lo, hi = min(lo, share), max(hi, share)
		refused = refused && c.Server.Refused > 0
	}
	s := "At " + values(l, group) + ", " + span(lo, hi) + " of the requests fail"
	if refused {
		s += ", and the server refuses connections"
	}
	return s + "."
}

// runs splits ascending numbers into runs of neighbours.
func runs(points []int) [][]int {
	var all [][]int
	for i, p := range points {
		if i == 0 || p != points[i-1]+1 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], p)
	}
	return all
}

// values lists the values of points: "2, 4 and 16 to 40".
func values(l *digest.Line, points []int) string {
	var parts []string
	for _, run := range runs(points) {
		first, last := l.Points[run[0]].Label, l.Points[run[len(run)-1]].Label
		switch len(run) {
		case 1:
			parts = append(parts, first)
		case 2:
			parts = append(parts, first, last)
		default:
			parts = append(parts, first+" to "+last)
		}
	}
	return wording.And(parts)
}

// gridHeadline says what cells show that do not lie on one line.
func gridHeadline(r *record.Result) []string {
	var best, worst *record.Cell
	open := !slices.ContainsFunc(r.Cells, func(c record.Cell) bool { return !c.Arrivals.Known })
	better := func(c, than *record.Cell) bool {
		if open { // throughput is what arrives
			return c.Latency.P99.Known && (than == nil || c.Latency.P99.Value < than.Latency.P99.Value)
		}
		return c.Throughput.Known && (than == nil || c.Throughput.Value > than.Throughput.Value)
	}
	clean, none := 0, "no request"
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Clean() {
			clean++
			if c.Requests.Failed > 0 {
				none = "hardly any request"
			}
			if better(c, best) {
				best = c
			}
		} else if c.Requests.Failed > 0 && (worst == nil || digest.OKShare(c.Requests) < digest.OKShare(worst.Requests)) {
			worst = c
		}
	}
	s := fmt.Sprintf("%d of %d settings fail %s", clean, len(r.Cells), none)
	switch clean {
	case 0:
		s = "No setting serves requests without failures"
	case len(r.Cells):
		s = capital(none) + " fails at any setting"
	}
	switch {
	case best != nil && open:
		s += "; lowest p99 " + digest.Duration(best.Latency.P99.Value) + at(best)
	case best != nil:
		s += "; best throughput " + rate(best.Throughput) + at(best)
		if best.Latency.P99.Known {
			s += " with p99 " + digest.Duration(best.Latency.P99.Value)
		}
	}
	cells := make([]*record.Cell, len(r.Cells))
	for i := range r.Cells {
		cells[i] = &r.Cells[i]
	}
	says := append(overloadedAt(cells, func(c *record.Cell) string { return digest.Label(c.Settings) }), s+".")
	if worst != nil {
		says = append(says, "Most fail"+at(worst)+": "+failures(worst)+".")
	}
	return says
}

func at(c *record.Cell) string {
	if len(c.Settings) == 0 {
		return ""
	}
	return " at " + digest.Label(c.Settings)
}

// leaks says in how many cells slots of a pool are lost for ever.
func leaks(r *record.Result) []string {
	cells, most := 0, &record.Cell{}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Leaked.Known && c.Leaked.Value > 0 {
			cells++
			if c.Leaked.Value > most.Leaked.Value {
				most = c
			}
		}
	}
	if cells == 0 {
		return nil
	}
	lost := digest.Number(most.Leaked.Value) + " slots of the pool are lost for ever"
	if most.Leaked.Value == 1 {
		lost = "1 slot of the pool is lost for ever"
	}
	if most.Restarts() {
		lost = strings.Replace(lost, "lost for ever", "lost, each until a restart", 1)
	}
	if most.Replications > 1 {
		lost += " per replication"
	}
	if len(r.Cells) == 1 {
		return []string{lost + "."}
	}
	return []string{fmt.Sprintf("Slots leak at %d of %d settings; most%s: %s.", cells, len(r.Cells), at(most), lost)}
}

// deadlocks says where requests deadlocked, and how, as it was first seen.
func deadlocks(r *record.Result) []string {
	var first *record.Diagnosis
	var cells []*record.Cell
	for i := range r.Cells {
		c := &r.Cells[i]
		for j := range c.Diagnoses {
			if d := &c.Diagnoses[j]; d.Kind == record.Deadlocked && !slices.Contains(cells, c) {
				cells = append(cells, c)
				if first == nil {
					first = d
				}
			}
		}
	}
	if first == nil {
		return nil
	}
	where := ""
	switch {
	case len(r.Cells) == 1:
	case len(cells) == 1:
		where = at(cells[0])
	default:
		where = fmt.Sprintf(" at %d of %d settings, first%s", len(cells), len(r.Cells), at(cells[0]))
	}
	if first.Service != "" {
		where += " in " + digest.Printable(first.Service)
	}
	return []string{"Deadlock" + where + ": " + digest.Printable(first.Text) + "."}
}

// notRecovered says at which settings a disturbance had consequences to the end of the run.
func notRecovered(r *record.Result) []string {
	var text string
	var cells []*record.Cell
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, d := range c.Diagnoses {
			if d.Kind == record.NotRecovered {
				text, cells = d.Text, append(cells, c)
			}
		}
	}
	keys := digest.Varying(r)
	switch n := len(cells); {
	case n == 0:
		return nil
	case len(r.Cells) == 1:
		return []string{capital(digest.Printable(text)) + "."}
	case n == len(r.Cells):
		return []string{"At every setting it had not recovered by the end of the run."}
	case n <= 3 && len(keys) == 1:
		var names []string
		for _, c := range cells {
			names = append(names, labelOf(c, keys[0]))
		}
		return []string{"At " + wording.And(names) + " it had not recovered by the end of the run."}
	default:
		return []string{fmt.Sprintf("At %d of %d settings it had not recovered by the end of the run.", n, len(r.Cells))}
	}
}

// checks says how many checks passed, and names those that did not.
func checks(r *record.Result) []string {
	n := map[record.Status]int64{}
	for _, k := range r.Checks {
		n[k.Status]++
	}
	total := int64(len(r.Checks)) - n[record.Off]
	if total == 0 {
		return nil
	}
	if n[record.Passed] == total {
		if total == 1 {
			return []string{"The check passes."}
		}
		return []string{"All " + digest.Count(total) + " checks pass."}
	}
	var parts []string
	part := func(status record.Status, one, many string) {
		if n[status] > 0 {
			parts = append(parts, digest.Plural(n[status], one, many)+which(r, status))
		}
	}
	part(record.FailedCheck, "fails", "fail")
	part(record.Inconclusive, "is inconclusive", "are inconclusive")
	if slices.ContainsFunc(r.Checks, func(k record.Check) bool { return k.Status == record.NotEvaluated && k.Why == "" }) {
		part(record.NotEvaluated, "has nothing to measure", "have nothing to measure")
	} else {
		part(record.NotEvaluated, "has no baseline to compare with", "have no baseline to compare with")
	}
	return []string{"Of " + digest.Plural(total, "check", "checks") + ", " + strings.Join(parts, "; ") + "."}
}

// which names the checks with a status, where they have it, and what was measured there.
func which(r *record.Result, status record.Status) string {
	var order []string
	alike := map[string][]record.Check{}
	for _, k := range r.Checks {
		if k.Status == status {
			if alike[k.Expr] == nil {
				order = append(order, k.Expr)
			}
			alike[k.Expr] = append(alike[k.Expr], k)
		}
	}
	const most = 2
	var parts []string
	for _, expr := range order[:min(len(order), most)] {
		s := digest.Printable(expr)
		if w := whereChecked(r, alike[expr]); w != "" {
			s += " at " + w
		}
		if v := inBrief(alike[expr]); v != "" {
			s += " (" + v + ")"
		}
		parts = append(parts, s)
	}
	if n := len(order) - len(parts); n > 0 {
		parts = append(parts, digest.Count(int64(n))+" more")
	}
	return ": " + wording.And(parts)
}

// inBrief writes what was measured for checks with one status: the range of the values, or that of the intervals if these leave it open.
func inBrief(checks []record.Check) string {
	k := checks[0]
	if k.Status == record.NotEvaluated {
		return ""
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, c := range checks {
		if k.Status == record.Inconclusive {
			lo, hi = min(lo, c.Lo), max(hi, c.Hi)
		} else {
			lo, hi = min(lo, c.Value), max(hi, c.Value)
		}
	}
	from, to := digest.InUnit(lo, k.Unit), digest.InUnit(hi, k.Unit)
	if from == to {
		return from
	}
	return from + " to " + to
}

// whereChecked is where, by the labels alone if that is what cells are named by.
func whereChecked(r *record.Result, checks []record.Check) string {
	keys := digest.Varying(r)
	const most = 3
	if len(keys) != 1 || !digest.IsLabel(keys[0]) || len(checks) > most {
		return where(r, checks)
	}
	var labels []string
	for _, k := range checks {
		if label, _ := digest.Value(k.Settings, keys[0]); !slices.Contains(labels, quoted(label)) {
			labels = append(labels, quoted(label))
		}
	}
	return wording.And(labels)
}

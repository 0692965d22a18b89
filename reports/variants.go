package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

// This file says in what cells differ that are named by labels: by the figures of each service where there are several, for in their
// sum a small service vanishes and a fast one hides behind a slow one.

// variantHeadline says what differs between cells that are named by labels: what makes a check fail at some of them, or else the figure
// that differs most.
func variantHeadline(r *record.Result, key string) []string {
	cells := make([]*record.Cell, len(r.Cells))
	for i := range r.Cells {
		cells[i] = &r.Cells[i]
	}
	name := func(c *record.Cell) string { return labelOf(c, key) }
	says := overloadedAt(cells, name)
	d := mostDifferent(cells, r.Checks)
	none := ""
	if !slices.ContainsFunc(cells, func(c *record.Cell) bool { return c.Requests.Failed > 0 || c.Requests.OK == 0 }) {
		none = "No request fails at any setting; "
	}
	if d == nil {
		return append(says, capital(none+fmt.Sprintf("the settings differ by less than %d %% in failures and latency.", digest.Tolerance)))
	}
	order := upTo(len(cells) - 1)
	if len(cells) > 4 {
		byFigure := func(i, j int) int { return cmp.Compare(d.of(cells[i]).Value, d.of(cells[j]).Value) }
		order = []int{slices.MinFunc(order, byFigure), slices.MaxFunc(order, byFigure)}
	}
	var parts []string
	for _, i := range order {
		parts = append(parts, digest.InUnit(d.of(cells[i]).Value, d.unit)+" at "+name(cells[i]))
	}
	s := d.what + ": " + wording.And(parts)
	if len(cells) > 4 {
		s = d.what + ": from " + parts[0] + " to " + parts[1]
	}
	says = append(says, capital(none+s+"."))
	if worst := worstCell(cells); worst != nil {
		says = append(says, "Most fail"+at(worst)+": "+failures(worst)+".")
		says = append(says, retries(worst)...)
	}
	return says
}

// overloadedAt says at which settings more is asked for than there is, and how much where it is the same at all of them.
func overloadedAt(cells []*record.Cell, name func(*record.Cell) string) (says []string) {
	type group struct {
		what, text string // text with the figures, empty if they differ
		at, each   []string
	}
	var groups []group
	for _, c := range cells {
		what, text := overloadKind(c), overloaded(c)
		if what == "" {
			continue
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.what == what })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{what: what, text: text})
		}
		if groups[i].text != text {
			groups[i].text = ""
		}
		groups[i].at = append(groups[i].at, name(c))
		groups[i].each = append(groups[i].each, lacking(c)+" at "+name(c))
	}
	const few = 3
	for _, g := range groups {
		text := cmp.Or(g.text, g.what)
		switch {
		case g.text == "" && len(g.at) <= few:
			says = append(says, capital(g.what)+": "+wording.And(g.each)+".")
		case len(g.at) == len(cells):
			says = append(says, "At every setting "+text+".")
		case len(g.at) > 4 || len(wording.And(g.at)) > 80:
			says = append(says, fmt.Sprintf("At %d of %d settings %s.", len(g.at), len(cells), text))
		default:
			says = append(says, "At "+wording.And(g.at)+" "+text+".")
		}
	}
	return says
}

// worstCell returns the cell with the largest share of failures, nil if it is none.
func worstCell(cells []*record.Cell) (worst *record.Cell) {
	for _, c := range cells {
		if !c.Clean() && c.Requests.Failed > 0 && (worst == nil || digest.OKShare(c.Requests) < digest.OKShare(worst.Requests)) {
			worst = c
		}
	}
	return worst
}

// difference is a figure by which cells differ.
type difference struct {
	what string
	unit string
	of   func(*record.Cell) record.Float
}

// differenceIn makes a difference of a figure, in words.
func differenceIn(f record.Figure) *difference {
	what, verb := f.Of("").String(), " differs most"
	switch {
	case what == "failed_rate":
		what, verb = "failures", " differ most"
	case what == "p(99)":
		what = "p99"
	case what == "p(50)":
		what = "the median of latency"
	case strings.HasPrefix(what, "outcome("):
		what = "the number of " + strings.TrimSuffix(strings.TrimPrefix(what, "outcome("), ")")
	}
	if s := f.Service(); s != "" {
		what += " of " + digest.Printable(s)
	}
	return &difference{what + verb, f.Unit(), f.Measure}
}

// mostDifferent returns what to say about cells, nil if they hardly differ: the figure of a check that fails at some of them, if it
// differs; failures if they do by one in a hundred, for then latencies are of different requests; else the figure with the largest
// ratio. With several services each is looked at by itself, those first that checks name.
func mostDifferent(cells []*record.Cell, checks []record.Check) *difference {
	names := commonServices(cells)
	if d := failedCheckThatDiffers(cells, checks); d != nil {
		return d
	}
	for _, some := range [][]string{inChecks(names, checks), names} {
		if d := differsIn(cells, some); d != nil {
			return d
		}
	}
	if d := differsIn(cells, []string{""}); d != nil && len(names) == 0 {
		return d
	}
	connects := &difference{"the number of connects differs most", "count", func(c *record.Cell) record.Float {
		return record.ExactFloat(float64(c.Server.Opened+c.Server.Refused) / float64(max(c.Replications, 1)))
	}}
	return largestRatio(cells, []*difference{differenceIn(mustFigure("p(50)")), connects})
}

// failedCheckThatDiffers returns the figure of a check that fails at some cell: of those that differ, the one with the largest ratio.
// A latency is passed over where the failures differ.
func failedCheckThatDiffers(cells []*record.Cell, checks []record.Check) *difference {
	var all []*difference
	for _, k := range checks {
		e, err := record.ParseCheck(k.Expr)
		if err != nil || k.Status != record.FailedCheck || k.Level == record.LevelWarning || e.Against() {
			continue
		}
		if e.Unit() == "ns" && failuresDiffer(cells, []string{e.Service()}) != nil {
			continue
		}
		all = append(all, differenceIn(e.Figure))
	}
	return largestRatio(cells, all)
}

// differsIn returns what differs most in some services, or in the sum of all if the name is empty.
func differsIn(cells []*record.Cell, services []string) *difference {
	if d := failuresDiffer(cells, services); d != nil {
		return d
	}
	var all []*difference
	for _, s := range services {
		all = append(all, differenceIn(mustFigure("p(99)").Of(s)))
		if !slices.ContainsFunc(cells, func(c *record.Cell) bool { return !arrivals(c, s) }) {
			continue // throughput is what arrives, and the last to arrive makes the makespan
		}
		all = append(all, differenceIn(mustFigure("throughput").Of(s)))
		if s == "" && !slices.ContainsFunc(cells, func(c *record.Cell) bool { return c.Requests.Unfinished > 0 || c.Requests.OK == 0 }) {
			all = append(all, &difference{"the makespan differs most", "ns", mustFigure("makespan").Measure})
		}
	}
	return largestRatio(cells, all)
}

// failuresDiffer returns the failures of the service in which they differ most, nil if they do nowhere by one in a hundred.
func failuresDiffer(cells []*record.Cell, services []string) (most *difference) {
	largest := 0.01
	for _, s := range services {
		d := differenceIn(mustFigure("failed_rate").Of(s))
		if lo, hi, ok := extent(cells, d); ok && hi-lo >= largest {
			most, largest = d, hi-lo
		}
	}
	return most
}

// arrivals reports whether requests arrive at a service, at all if the name is empty, whether or not earlier ones have ended.
func arrivals(c *record.Cell, service string) bool {
	if service == "" {
		return c.Arrivals.Known
	}
	return slices.ContainsFunc(eachService(c), func(p *record.PoolCell) bool { return p.Name == service && p.Arrivals.Known })
}

// eachService returns what is known of each service of a cell: its totals, or the only pool it has.
func eachService(c *record.Cell) (all []*record.PoolCell) {
	for i := range c.Pools {
		p := &c.Pools[i]
		s := serviceOf(c, p)
		if s == nil {
			s = p
		}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// commonServices names the services that all cells have, if there are several.
func commonServices(cells []*record.Cell) (names []string) {
	for _, s := range eachService(cells[0]) {
		everywhere := !slices.ContainsFunc(cells, func(c *record.Cell) bool {
			return !slices.ContainsFunc(eachService(c), func(p *record.PoolCell) bool { return p.Name == s.Name })
		})
		if everywhere {
			names = append(names, s.Name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	return names
}

// inChecks returns those of the services that a check names.
func inChecks(services []string, checks []record.Check) (some []string) {
	for _, s := range services {
		if slices.ContainsFunc(checks, func(k record.Check) bool {
			e, err := record.ParseCheck(k.Expr)
			return err == nil && e.Service() == s
		}) {
			some = append(some, s)
		}
	}
	return some
}

// largestRatio returns the figure whose greatest value is the largest multiple of its least, and more than the tolerance above it;
// nil for none.
func largestRatio(cells []*record.Cell, all []*difference) (most *difference) {
	largest := 1 + digest.Tolerance/100.0
	for _, d := range all {
		if lo, hi, ok := extent(cells, d); ok && hi > largest*lo {
			most = d
			if lo <= 0 {
				break
			}
			largest = hi / lo
		}
	}
	return most
}

// extent returns the least and the greatest value of a figure; false if it is not known everywhere.
func extent(cells []*record.Cell, d *difference) (lo, hi float64, ok bool) {
	for i, c := range cells {
		v := d.of(c)
		if !v.Known {
			return 0, 0, false
		}
		if i == 0 {
			lo, hi = v.Value, v.Value
		}
		lo, hi = min(lo, v.Value), max(hi, v.Value)
	}
	return lo, hi, len(cells) > 1
}

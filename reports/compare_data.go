package reports

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"

	"poolwise/sim/record"
)

// CompareJSON writes a comparison in its schema (ComparisonSchema), indented, with a newline at the end:
//
//	{schema, verdict,                                    verdict: better, worse, mixed, no difference or inconclusive
//	 before, after: {name, hash, seed, estimate},        the scenarios
//	 indifference, tests,                                the zone, as a share of before; how many p were corrected for
//	 pairs: [{before, after: {"pool.max": 8},            the settings of the two cells
//	          replications: {before, after},
//	          figures: [{figure, unit, better,           as in a check; ns, ratio, count or per_second; more or less
//	                     before, after,                  means of the replications that were compared
//	                     difference, relative,           after less before, and as a share of before: {value, lo, hi}
//	                     method, replications,           paired, welch, none or unmeasured; how many were compared
//	                     p, p_corrected,
//	                     verdict, why}]}],               why: what there is to say about the verdict
//	 unmatched: {before, after: [{"pool.max": 8}]},      settings that only one of the two has
//	 checks, checks_verdict,                             as in a result (record.Check)
//	 notes, warnings}
//
// Durations are in whole nanoseconds, shares from 0 to 1; numbers have nine digits, and those that are unknown are null.
func CompareJSON(w io.Writer, c *Comparison) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	whole := *c
	whole.Pairs = slices.Clone(c.Pairs)
	for i := range whole.Pairs {
		p := &whole.Pairs[i]
		p.Figures = slices.Clone(p.Figures)
		for j := range p.Figures {
			p.Figures[j] = p.Figures[j].whole()
		}
	}
	return e.Encode(&whole)
}

// whole returns r with whole nanoseconds.
func (r Row) whole() Row {
	if r.Unit == "ns" {
		for _, f := range []*record.Float{&r.Before, &r.After, &r.Difference} {
			f.Value, f.Lo, f.Hi = math.Round(f.Value), math.Round(f.Lo), math.Round(f.Hi)
		}
	}
	return r
}

// CompareCSV writes one row for each figure of each pair, in the order of the pairs. The columns are
//
//	before, after                                       the settings of the two cells, as key=value
//	figure, unit, better                                better is more or less
//	before_value, after_value
//	difference, difference_lo, difference_hi            after less before, with its interval at 95 %
//	relative, relative_lo, relative_hi                  the same as a share of before
//	method, before_replications, after_replications     how it was tested, and with how many
//	p, p_corrected, verdict, why
//
// An unknown number is an empty field.
func CompareCSV(w io.Writer, c *Comparison) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{
		"before", "after", "figure", "unit", "better", "before_value", "after_value",
		"difference", "difference_lo", "difference_hi", "relative", "relative_lo", "relative_hi",
		"method", "before_replications", "after_replications", "p", "p_corrected", "verdict", "why",
	}); err != nil {
		return err
	}
	number := func(v float64, ok bool) string {
		text, err := record.ExactFloat(v).MarshalJSON()
		if !ok || err != nil {
			return ""
		}
		return string(text)
	}
	var err error
	c.rows(func(p *Pair, exact *Row) {
		r := exact.whole()
		fields := []string{p.Before.String(), p.After.String(), r.Figure, r.Unit, r.Better, number(r.Before.Value, r.Before.Known), number(r.After.Value, r.After.Known)}
		for _, f := range []record.Float{r.Difference, r.Relative} {
			fields = append(fields, number(f.Value, f.Known), number(f.Lo, f.Interval), number(f.Hi, f.Interval))
		}
		fields = append(fields, string(r.Method), strconv.Itoa(r.Replications.Before), strconv.Itoa(r.Replications.After),
			number(r.P.Value, r.P.Known), number(r.Corrected.Value, r.Corrected.Known), string(r.Verdict), r.Why)
		if e := out.Write(fields); err == nil {
			err = e
		}
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

// sized makes a search of relations: of a size, at most one is the one to use. Each size has one check, and stands 10 % from the
// one to use in throughput if it is better or worse.
func sized(relations map[int]record.SizeRelation, sizes ...int) *record.Sizing {
	s := &record.Sizing{
		Schema: record.SizingSchema, Key: "pool.max", Verdict: record.FailedCheck, Basis: record.ByChecks,
		Scenario: record.Scenario{Name: "sized", Seed: 1, Estimate: "terminating"}, Indifference: 0.02, Figures: []string{"throughput", "p(99)"},
		Undecided: []int{}, Alike: []int{}, Unsettled: []int{}, Warnings: []string{},
		Search:     record.Search{From: sizes[0], To: sizes[len(sizes)-1], Sizes: len(sizes), Method: record.SearchAll, Why: "All sizes were run.", Replications: 5 * len(sizes), Budget: 250},
		Confidence: record.Confidence{Level: 0.95, Checks: 0.001, Comparisons: 0.0005, Looks: 4},
	}
	for i, size := range sizes {
		row := reporttest.Lab[2]
		row.Settings = reporttest.Set("pool.max", size)
		z := record.Sized{Size: size, Relation: relations[size], Verdict: record.Passed, Cell: reporttest.Result("", "", []reporttest.Row{row}, 5).Cells[0]}
		k := record.Check{Expr: "p(99)<50ms", Cell: i, Status: record.Passed, Value: 40e6, Lo: 39e6, Hi: 41e6, Unit: "ns", Level: record.LevelError}
		change := 0.0
		switch z.Relation {
		case record.SizeUsed:
			s.Use, s.Verdict = &s.Search.From, record.Passed
			n := size
			s.Use = &n
			s.Alike = append(s.Alike, size)
		case record.SizeAlike:
			s.Alike = append(s.Alike, size)
		case record.SizeUnsettled:
			s.Alike, s.Unsettled = append(s.Alike, size), append(s.Unsettled, size)
		case record.SizeMisses:
			k.Status, k.Value, k.Lo, k.Hi, z.Verdict = record.FailedCheck, 52.1e6, 51e6, 53e6, record.FailedCheck
		case record.SizeUndecided:
			k.Lo, k.Hi, k.Status, z.Verdict = 39e6, 55e6, record.Inconclusive, record.Inconclusive
			s.Undecided = append(s.Undecided, size)
		case record.SizeBetter:
			change = 0.1
		case record.SizeWorse:
			change = -0.1
		}
		z.Checks = []record.Check{k}
		if z.Relation != record.SizeUsed {
			verdict := map[bool]record.Zone{change > 0: record.ZoneBetter, change < 0: record.ZoneWorse, change == 0: record.ZoneWithin}[true]
			diff := func(v float64) record.Float { return record.Float{Value: v, Lo: v, Hi: v, Known: true, Interval: true} }
			z.Versus = []record.Versus{
				{Figure: "throughput", Base: record.ExactFloat(600), Difference: diff(600 * change), Relative: diff(change), Verdict: verdict},
				{Figure: "p(99)", Base: record.ExactFloat(2e8), Difference: diff(0), Relative: diff(0), Verdict: record.ZoneWithin},
			}
		}
		s.Sizes = append(s.Sizes, z)
	}
	return s
}

// lab is a search that says all there is to say.
func lab() *record.Sizing {
	s := sized(map[int]record.SizeRelation{
		4: record.SizeMisses, 6: record.SizeMisses, 7: record.SizeUndecided, 8: record.SizeUsed, 12: record.SizeAlike, 20: record.SizeAlike, 21: record.SizeRefused, 40: record.SizeRefused,
	}, 4, 6, 7, 8, 12, 20, 21, 40)
	s.Below = &record.Miss{Size: 6, Check: s.Of(6).Checks[0]}
	from := 21
	s.RefusedFrom = &from
	return s
}

// TestSizeHeadline: the first lines say in plain words which size to use, and why no other.
func TestSizeHeadline(t *testing.T) {
	number := func(n int) *int { return &n }
	for _, c := range []struct {
		name string
		of   func() *record.Sizing
		want string
	}{
		{"all there is", lab, "Use 8. 6 misses p(99)<50ms (52.1 ms); 7 is too close to call; 8 to 20 cannot be told apart; from 21 on the server refuses connections."},
		{"the smallest", func() *record.Sizing {
			return sized(map[int]record.SizeRelation{2: record.SizeUsed, 3: record.SizeBetter, 4: record.SizeBetter, 9: record.SizeWorse}, 2, 3, 4, 9)
		}, "Use 2. No smaller size was tried; 3 and 4 pass, too, and do better (throughput +10 % at 3); 9 does worse (throughput -10 %)."},
		{"missed above, too", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{2: record.SizeMisses, 3: record.SizeUsed, 8: record.SizeMisses, 9: record.SizeMisses}, 2, 3, 8, 9)
			s.Below, s.Above = &record.Miss{Size: 2, Check: s.Of(2).Checks[0]}, &record.Miss{Size: 8, Check: s.Of(8).Checks[0]}
			return s
		}, "Use 3. 2 misses p(99)<50ms (52.1 ms); from 8 on p(99)<50ms is missed."},
		{"the knee", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{3: record.SizeWorse, 4: record.SizeUsed, 8: record.SizeUnsettled}, 3, 4, 8)
			s.Basis = record.ByKnee
			s.Knee = &record.Knee{Size: 4, Below: 3, BelowShare: record.ExactFloat(0.75)}
			return s
		}, "Use 4. 3 reaches 75 % of the best throughput; 4 and 8 cannot be told apart."},
		{"a knee of latency", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{3: record.SizeWorse, 4: record.SizeUsed}, 3, 4)
			s.Basis = record.ByKnee
			s.Knee = &record.Knee{Size: 4, Below: 3, BelowShare: record.ExactFloat(0.99)}
			s.Sizes[0].Versus[1].Relative.Value = 0.32
			return s
		}, "Use 4. 3 has a longer p(99) (+32 %)."},
		{"a knee that is hard to see", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{2: record.SizeWorse, 3: record.SizeUnsettled, 4: record.SizeUsed, 5: record.SizeAlike}, 2, 3, 4, 5)
			s.Basis = record.ByKnee
			s.Knee = &record.Knee{Size: 4, Below: 3, BelowShare: record.ExactFloat(0.98)}
			return s
		}, "Use 4. 3 may be as good; 4 and 5 cannot be told apart."},
		{"none", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{2: record.SizeMisses, 3: record.SizeMisses}, 2, 3)
			s.Closest = &record.Miss{Size: 3, Check: s.Of(3).Checks[0]}
			s.Knee = &record.Knee{Size: 2}
			return s
		}, "No size meets the checks. Of the sizes from 2 to 3, 3 comes closest, with 52.1 ms for p(99)<50ms. The knee of the curve is at 2: from there on, throughput is within 2 % of the best, and p(99) of the lowest with it."},
		{"nothing to measure", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{2: record.SizeMisses}, 2)
			s.Closest = &record.Miss{Size: 2, Check: record.Check{Expr: "p(99)<50ms", Status: record.NotEvaluated}}
			return s
		}, "No size meets the checks. For p(99)<50ms there is nothing to measure at any size from 2 to 2."},
		{"nothing served", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{2: record.SizeMisses}, 2)
			s.Basis = record.ByKnee
			return s
		}, "At no size is a request served."},
		{"inconclusive", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{2: record.SizeMisses, 3: record.SizeUndecided, 4: record.SizeUndecided}, 2, 3, 4)
			s.Verdict, s.RefusedFrom = record.Inconclusive, number(5)
			return s
		}, "It cannot be told which size to use. 3 and 4 are too close to call (p(99)<50ms at 3: 39.0 ms to 55.0 ms); from 5 on the server refuses connections."},
		{"instances", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{8: record.SizeUsed}, 8)
			s.Instances = &record.Instances{Limit: 200, Of: "server", Superuser: 3, Reserved: 10, Others: 40, Left: 147, Instances: 6, Surge: 2, Each: 18, Without: 24}
			return s
		}, "Use 8. No smaller size was tried. 8 instances at the peak (6, and 2 more) can have 18 connections each, of the 147 that the server allows (its limit of 200, less 3 for superusers, 10 reserved and 40 for other services); the 24 that fit without the peak would need 192."},
		{"too large for the instances", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{8: record.SizeUsed}, 8)
			s.Instances = &record.Instances{Limit: 90, Of: "pooler", Left: 90, Instances: 15, Each: 6, Without: 6}
			return s
		}, "Use 8. No smaller size was tried. 15 instances can have 6 connections each, of the 90 that the pooler allows; 8 each would need 120."},
		{"Erlang", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{8: record.SizeUsed}, 8)
			s.ErlangC = &record.ErlangC{
				Servers: 8, Load: record.ExactFloat(5.5), Wait: record.Exact(20 * time.Millisecond), Wrong: true, Reasons: []string{"arrivals are in bursts, not Poisson"},
				Simulated: record.Duration{Value: 50 * time.Millisecond, Lo: 48 * time.Millisecond, Hi: 52 * time.Millisecond, Known: true, Interval: true},
			}
			return s
		}, "Use 8. No smaller size was tried. An M/M/c calculation would have gone wrong: for 5.50 erlangs and 8 connections it has a mean wait of 20.0 ms, and the simulation 50.0 ms (±2.0 ms). It takes for granted what is not so here: arrivals are in bursts, not Poisson."},
		{"Erlang without end", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{8: record.SizeUsed}, 8)
			s.ErlangC = &record.ErlangC{Servers: 8, Load: record.ExactFloat(9), Wrong: true, Simulated: record.Exact(time.Second)}
			return s
		}, "Use 8. No smaller size was tried. An M/M/c calculation would have gone wrong: for 9 erlangs and 8 connections it has no end of waiting, and the simulation a mean wait of 1.00 s."},
		{"Erlang is right", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{8: record.SizeUsed}, 8)
			s.ErlangC = &record.ErlangC{Servers: 8}
			return s
		}, "Use 8. No smaller size was tried."},
		{"a law", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{8: record.SizeUsed}, 8)
			of := func(v, lo, hi float64) record.Float {
				return record.Float{Value: v, Lo: lo, Hi: hi, Known: true, Interval: true}
			}
			s.USL = &record.USL{
				Fitted: true, Lambda: of(200, 195, 205), Sigma: of(0.03, 0.02, 0.04), Kappa: of(0.001, 0.0009, 0.0011), Peak: of(31.1, 30, 32.4), AtPeak: of(2190, 2180, 2200), Off: record.ExactFloat(0.0015),
			}
			return s
		}, "Use 8. No smaller size was tried. The universal scalability law fits the throughput to within 0.15 %: sigma 0.03 (0.02 to 0.04), kappa 0.001 (0.0009 to 0.0011), 200/s (±5/s) for one connection; the peak is at 31.1 (30 to 32.4) connections, with 2190/s (±10/s)."},
		{"no law", func() *record.Sizing {
			s := sized(map[int]record.SizeRelation{8: record.SizeUsed}, 8)
			s.USL = &record.USL{Why: "there are too few"}
			return s
		}, "Use 8. No smaller size was tried. The universal scalability law was not fitted: there are too few."},
	} {
		if d := cmp.Diff(c.want, strings.Join(SizeHeadline(c.of()), " ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestSizeText(t *testing.T) {
	var b bytes.Buffer
	if err := SizeText(&b, lab(), Options{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{
		"sized: Use 8. 6 misses",
		"pool.max, seed 1, terminating, 8 sizes in 40 replications\n",
		"       8  use                   5",
		"       7  too close to call     5",
		"      12  alike ",
		"      21  refused ",
		"       6  failed        p(99)<50ms  52.1 ms (51.0 ms to 53.0 ms)\n",
		"       7  inconclusive  p(99)<50ms  40.0 ms (39.0 ms to 55.0 ms)\n",
		"with a confidence of 95 %",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "      40  passed") {
		t.Errorf("the checks of a size that nobody asks about:\n%s", b.String())
	}
}

// TestSizeReports: every format says what is to be used; JSON reads back; the rows of CSV are the sizes.
func TestSizeReports(t *testing.T) {
	s := lab()
	for name, f := range map[string]func(io.Writer) error{
		"markdown": func(w io.Writer) error { return SizeMarkdown(w, s) },
		"summary":  func(w io.Writer) error { return SizeSummary(w, s) },
		"github":   func(w io.Writer) error { return SizeAnnotations(w, s, "x.yaml") },
	} {
		var b bytes.Buffer
		if err := f(&b); err != nil || !strings.Contains(b.String(), "Use 8.") {
			t.Errorf("%s: error %v\n%s", name, err, b.String())
		}
		if err := f(full{}); err == nil || err.Error() != "disk full" {
			t.Errorf("%s: error %v of a full disk", name, err)
		}
	}
	var b bytes.Buffer
	if err := SizeJUnit(&b, s, "x.yaml"); err != nil || !strings.Contains(b.String(), `tests="1" failures="0"`) {
		t.Errorf("error %v, or not the one check of the size to use:\n%s", err, b.String())
	}
	none := sized(map[int]record.SizeRelation{2: record.SizeMisses, 3: record.SizeMisses}, 2, 3)
	b.Reset()
	if err := SizeJUnit(&b, none, "x.yaml"); err != nil || !strings.Contains(b.String(), `tests="2" failures="2"`) {
		t.Errorf("error %v, or not the checks of both:\n%s", err, b.String())
	}
	b.Reset()
	if err := SizeAnnotations(&b, none, "x.yaml"); err != nil || !strings.Contains(b.String(), "::error file=x.yaml,title=sized sized::No size meets the checks.") {
		t.Errorf("error %v:\n%s", err, b.String())
	}

	b.Reset()
	if err := SizeJSON(&b, s); err != nil {
		t.Fatal(err)
	}
	var again record.Sizing
	if err := json.Unmarshal(b.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	var b2 bytes.Buffer
	if err := SizeJSON(&b2, &again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b.String(), b2.String()); d != "" {
		t.Errorf("written again after reading:\n%s", d)
	}

	b.Reset()
	if err := SizeCSV(&b, s); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 1+len(s.Sizes) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	column := map[string]int{}
	for i, head := range rows[0] {
		if _, twice := column[head]; twice {
			t.Errorf("two columns %s", head)
		}
		column[head] = i
	}
	for i, z := range s.Sizes {
		row := rows[i+1]
		got := []string{row[column["size"]], row[column["relation"]], row[column["pool.max"]], row[column["throughput_change"]], row[column["replications"]]}
		change := "0"
		if z.Versus == nil {
			change = ""
		}
		want := []string{strconv.Itoa(z.Size), string(z.Relation), strconv.Itoa(z.Size), change, "5"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("row %d:\n%s", i, d)
		}
		if missed := row[column["missed"]]; (missed != "") != (z.Relation == record.SizeMisses || z.Relation == record.SizeUndecided) {
			t.Errorf("size %d, which %s: missed %q", z.Size, z.Relation, missed)
		}
	}
	if err := errors.Join(SizeCSV(full{}, s), SizeJSON(full{}, s)); err == nil || strings.Count(fmt.Sprint(err), "disk full") != 2 {
		t.Errorf("errors %v of a full disk", err)
	}
}

// TestSizeUnderOverload: if the cores cannot do the work no size can, which is said first after the size; and if requests fail even
// at the size to use, that.
func TestSizeUnderOverload(t *testing.T) {
	s := sized(map[int]record.SizeRelation{4: record.SizeUsed, 8: record.SizeAlike}, 4, 8)
	offer := func(load float64) {
		for i := range s.Sizes {
			s.Sizes[i].Cell.Offered = []record.Offered{{Of: record.OfCores, Load: record.ExactFloat(load), Have: 4, Busy: record.ExactFloat(1)}}
		}
	}
	offer(3.9)
	plain := SizeHeadline(s)
	offer(5)
	if got := SizeHeadline(s); len(got) != len(plain)+1 || got[1] != "No size of the pool is enough: more work arrives than the cores can do (5 cores' worth, on 4 cores)." {
		t.Errorf("%q", got)
	}
	offer(3.9)
	s.Of(4).Cell.Requests = record.Requests{Total: 100, OK: 80, Failed: 20}
	if got := SizeHeadline(s); len(got) != len(plain)+1 || got[1] != "Even at 4, 20 % of the requests fail." {
		t.Errorf("%q", got)
	}
}

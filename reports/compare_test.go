package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

// readSides reads the results of a test: each is a line of "before" or "after" with name, hash, seed and estimate, then for each
// cell a line "cell" with its settings and a line for each figure with its values in the replications, - where it was not
// measured. "failed N" are requests of the cell, "check EXPR" checks of all cells, "warning TEXT" a warning of the cell.
func readSides(t testing.TB, text string) map[string]*record.Result {
	t.Helper()
	sides := map[string]*record.Result{}
	var r *record.Result
	var c *record.Cell
	var checks []record.Check
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "before", "after":
			r = &record.Result{Schema: record.Schema, Scenario: record.Scenario{Seed: 1, Estimate: "terminating"}}
			sides[word] = r
			for _, field := range strings.Fields(rest) {
				switch key, value, _ := strings.Cut(field, "="); key {
				case "name":
					r.Scenario.Name = value
				case "hash":
					r.Scenario.Hash = value
				case "seed":
					r.Scenario.Seed, _ = strconv.ParseUint(value, 10, 64)
				case "estimate":
					r.Scenario.Estimate = value
				default:
					t.Fatalf("%s: no such field", field)
				}
			}
		case "cell":
			r.Cells = append(r.Cells, record.Cell{Replications: 1})
			c = &r.Cells[len(r.Cells)-1]
			for _, field := range strings.Fields(rest) {
				key, value, _ := strings.Cut(field, "=")
				c.Settings = append(c.Settings, record.Setting{Key: key, Value: value})
			}
		case "failed":
			c.Requests.Failed, _ = strconv.ParseInt(rest, 10, 64)
		case "warning":
			c.Warnings = append(c.Warnings, rest)
		case "check":
			checks = append(checks, readCheck(rest))
		default:
			if !addFigure(c, word, strings.Fields(rest)) {
				t.Fatalf("%s: cannot be read", line)
			}
		}
	}
	for _, r := range sides {
		for i := range r.Cells {
			for _, k := range checks {
				e, err := record.ParseCheck(k.Expr)
				if err != nil {
					t.Fatal(err)
				}
				got := e.Evaluate(&r.Cells[i])
				got.Cell, got.Level, got.Line = i, k.Level, k.Line
				if k.Level == record.LevelOff {
					got = record.Check{Expr: got.Expr, Cell: i, Status: record.Off, Unit: got.Unit, Level: k.Level, Line: k.Line}
				}
				got.Settings = r.Cells[i].Settings
				r.Checks = append(r.Checks, got)
			}
		}
		r.Verdict = record.Verdict(r.Checks)
	}
	return sides
}

// readCheck reads EXPR level=LEVEL line=N.
func readCheck(s string) (k record.Check) {
	var expr []string
	for _, field := range strings.Fields(s) {
		switch key, value, _ := strings.Cut(field, "="); key {
		case "level":
			k.Level = value
		case "line":
			k.Line, _ = strconv.Atoi(value)
		default:
			expr = append(expr, field)
		}
	}
	k.Expr = strings.Join(expr, " ")
	return k
}

// addFigure adds the values of a figure to a cell. Of several they are samples; one is measured.
func addFigure(c *record.Cell, figure string, values []string) bool {
	var v []float64
	for _, s := range values {
		x, err := strconv.ParseFloat(s, 64)
		if d, e := time.ParseDuration(s); e == nil {
			x, err = float64(d), nil
		}
		if s == "-" {
			x, err = math.NaN(), nil
		}
		if err != nil {
			return false
		}
		v = append(v, x)
	}
	if len(v) == 0 {
		return false
	}
	mean, n := 0.0, 0.0
	for _, x := range v {
		if !math.IsNaN(x) {
			mean, n = mean+x, n+1
		}
	}
	if len(v) > 1 {
		c.Replications = len(v)
		c.Samples = append(c.Samples, record.Sample{Figure: figure, Values: v})
	}
	if n == 0 {
		return true
	}
	switch mean /= n; figure {
	case "throughput":
		c.Throughput = record.ExactFloat(mean)
	case "failed_rate":
		c.FailedRate = record.ExactFloat(mean)
	case "p(99)":
		c.Latency.P99 = record.Exact(time.Duration(mean))
	case "core_utilisation":
		c.Server.CoreUtilisation = record.ExactFloat(mean)
	default:
		return len(v) > 1
	}
	return true
}

// compareReport is the command compare of testdata.
func compareReport(t *testing.T, d *datadriven.TestData) string {
	o := CompareOptions{Indifference: DefaultIndifference}
	layout := Options{Colour: d.HasArg("colour")}
	var format string
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "indifference":
			o.Indifference, _ = strconv.ParseFloat(a.Vals[0], 64)
		case "width":
			layout.Width, _ = strconv.Atoi(a.Vals[0])
		case "text", "markdown", "csv", "json", "junit", "github":
			format = a.Key
		}
	}
	sides := readSides(t, d.Input)
	var c *Comparison
	if d.HasArg("within") {
		c = CompareCells(sides["after"], 0, o)
	} else {
		c = Compare(sides["before"], sides["after"], o)
	}
	var b bytes.Buffer
	var err error
	switch format {
	case "text":
		err = CompareText(&b, c, layout)
	case "markdown":
		err = CompareMarkdown(&b, c)
	case "csv":
		err = CompareCSV(&b, c)
	case "json":
		err = CompareJSON(&b, c)
	case "junit":
		err = CompareJUnit(&b, c, "file.yaml", Worse)
	case "github":
		err = CompareAnnotations(&b, c, "file.yaml", d.HasArg("fails"))
	default:
		d.Fatalf(t, "no such report")
	}
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(b.String(), "\x1b", "^[")
}

// checksReport is the command checks of testdata.
func checksReport(t *testing.T, d *datadriven.TestData) string {
	r := readSides(t, d.Input)["after"]
	var file string
	d.MaybeScanArgs(t, "file", &file)
	var b bytes.Buffer
	var err error
	switch {
	case d.HasArg("junit"):
		err = JUnit(&b, r, file)
	case d.HasArg("github"):
		err = Annotations(&b, r, file)
	case d.HasArg("summary"):
		err = Summary(&b, r)
	case d.HasArg("text"):
		err = Text(&b, r, Options{})
	default:
		d.Fatalf(t, "no such report")
	}
	if err != nil {
		return err.Error()
	}
	return b.String()
}

// anySamples draws a result with samples of some figures, in cells that may be those of another such result.
func anySamples() *rapid.Generator[*record.Result] {
	value := rapid.OneOf(rapid.Float64Range(0, 10), rapid.SampledFrom([]float64{0, 1, 1, 2, math.NaN(), 1e300}))
	return rapid.Custom(func(t *rapid.T) *record.Result {
		r := &record.Result{
			Schema: record.Schema, Verdict: record.Passed,
			Scenario: record.Scenario{Name: "any", Hash: "9f2c", Seed: uint64(rapid.IntRange(1, 2).Draw(t, "seed"))},
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "cells") {
			c := record.Cell{Settings: record.Settings{{Key: "pool.max", Value: strconv.Itoa(2*i + rapid.IntRange(0, 1).Draw(t, "size"))}}}
			c.Replications = rapid.IntRange(1, 4).Draw(t, "replications")
			for _, f := range []string{"throughput", "failed_rate", "p(99)"} {
				v := rapid.SliceOfN(value, c.Replications, c.Replications).Draw(t, f)
				if c.Replications > 1 {
					c.Samples = append(c.Samples, record.Sample{Figure: f, Values: v})
				} else if f == "throughput" {
					c.Throughput = record.ExactFloat(v[0])
				}
			}
			r.Cells = append(r.Cells, c)
		}
		return r
	})
}

// A result and itself: there is no difference anywhere.
func TestCompareWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.OneOf(anySamples(), reporttest.Any()).Draw(t, "result")
		for i := range r.Cells {
			for j := range i {
				if slices.Equal(r.Cells[i].Settings, r.Cells[j].Settings) {
					t.Skip("cells with the same settings")
				}
			}
		}
		c := Compare(r, r, CompareOptions{Indifference: rapid.Float64Range(0, 1).Draw(t, "indifference")})
		n := 0
		c.rows(func(p *Pair, row *Row) {
			n++
			if row.Verdict != NoDifference {
				t.Fatalf("%s at %s is %s, %s", row.Figure, p.After, row.Verdict, row.Why)
			}
		})
		if want := map[bool]Verdict{true: NoDifference, false: Inconclusive}[n > 0]; c.Verdict != want {
			t.Fatalf("verdict %s of %d figures, want %s", c.Verdict, n, want)
		}
		if len(c.Unmatched.Before)+len(c.Unmatched.After) > 0 || len(c.Pairs) != len(r.Cells) {
			t.Fatalf("%d of %d cells were compared", len(c.Pairs), len(r.Cells))
		}
	})
}

// The other way round, a comparison is the mirror. Only the zone of indifference, which is a share of before, may change its mind, and
// never from better to better.
func TestCompareTheOtherWayRound(t *testing.T) {
	mirror := map[Verdict]Verdict{Better: Worse, Worse: Better, Mixed: Mixed, NoDifference: NoDifference, Inconclusive: Inconclusive}
	rapid.Check(t, func(t *rapid.T) {
		a, b := anySamples().Draw(t, "a"), anySamples().Draw(t, "b")
		o := CompareOptions{Indifference: rapid.SampledFrom([]float64{0, 0.02, 0.5}).Draw(t, "indifference")}
		there, back := Compare(a, b, o), Compare(b, a, o)
		if o.Indifference == 0 && back.Verdict != mirror[there.Verdict] {
			t.Fatalf("verdicts %s and %s", there.Verdict, back.Verdict)
		}
		if there.Tests != back.Tests || len(there.Pairs) != len(back.Pairs) {
			t.Fatalf("%d and %d tests of %d and %d pairs", there.Tests, back.Tests, len(there.Pairs), len(back.Pairs))
		}
		if diff := cmp.Diff(there.Unmatched.Before, back.Unmatched.After); diff != "" {
			t.Fatalf("unmatched:\n%s", diff)
		}
		find := func(p *Pair, figure string) *Row {
			for i := range back.Pairs {
				for j := range back.Pairs[i].Figures {
					q, r := &back.Pairs[i], &back.Pairs[i].Figures[j]
					if r.Figure == figure && slices.Equal(q.Before, p.After) && slices.Equal(q.After, p.Before) {
						return r
					}
				}
			}
			return nil
		}
		there.rows(func(p *Pair, x *Row) {
			y := find(p, x.Figure)
			if y == nil {
				t.Fatalf("%s is not there the other way round", x.Figure)
			}
			d := y.Difference
			d.Value, d.Lo, d.Hi = -d.Value, -d.Hi, -d.Lo
			if x.Before != y.After || x.After != y.Before || x.Difference != d || x.P != y.P || x.Corrected != y.Corrected {
				t.Fatalf("no mirror: %+v\n%+v", x, y)
			}
			if o.Indifference == 0 && y.Verdict != mirror[x.Verdict] || x.Verdict == y.Verdict && (x.Verdict == Better || x.Verdict == Worse) {
				t.Fatalf("verdicts %s and %s of %+v", x.Verdict, y.Verdict, x)
			}
		})
	})
}

// The zone of indifference is a share of before. What is significant but small is neither better nor worse, and no difference
// either if the interval ends outside the zone.
func TestZoneOfIndifference(t *testing.T) {
	for _, c := range []struct {
		after []float64
		want  Verdict
	}{
		{[]float64{102, 102, 102}, NoDifference},
		{[]float64{98, 98, 98}, NoDifference},
		{[]float64{102.01, 102.01, 102.01}, Better}, // 2.01 is within 2 % of after
		{[]float64{97.99, 97.99, 97.99}, Worse},
		{[]float64{101, 101.1, 101.2}, NoDifference}, // 0.85 to 1.35
		// Mean 1.6, variance 0.215 and standard error 0.207: 1.02 to 2.18, and t = 7.7 with 4 degrees of freedom, p = 0.0015.
		{[]float64{101, 101.5, 102.2, 101.9, 101.4}, Inconclusive},
	} {
		result := func(v []float64) *record.Result {
			return &record.Result{Cells: []record.Cell{{Replications: len(v), Samples: record.Samples{{Figure: "throughput", Values: v}}}}}
		}
		before := slices.Repeat([]float64{100}, len(c.after))
		got := Compare(result(before), result(c.after), CompareOptions{Indifference: 0.02})
		if r := got.Pairs[0].Figures[0]; r.Verdict != c.want {
			t.Errorf("%v: %s, want %s: %+v", c.after, r.Verdict, c.want, r)
		}
	}
}

// A verdict is what the definition says, and the corrected p keep the order of the p.
func TestVerdictsAreWhatTheyMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := CompareOptions{Indifference: rapid.SampledFrom([]float64{0, 0.02, 0.5}).Draw(t, "indifference")}
		c := Compare(anySamples().Draw(t, "before"), anySamples().Draw(t, "after"), o)
		var tested []*Row
		c.rows(func(_ *Pair, r *Row) {
			d, zone := r.Difference, o.Indifference*math.Abs(r.Before.Value)
			if r.log {
				d, zone = r.Relative, o.Indifference
			}
			want := Inconclusive
			switch significant := r.Corrected.Known && r.Corrected.Value <= 0.05 && math.Abs(d.Value) > zone; {
			case significant && (d.Value > 0) == (r.Figure == "throughput"):
				want = Better
			case significant:
				want = Worse
			case r.Difference.Known && r.Difference.Lo == 0 && r.Difference.Hi == 0, d.Interval && d.Lo >= -zone && d.Hi <= zone:
				want = NoDifference
			}
			if r.Verdict != want {
				t.Fatalf("%s, want %s: %+v", r.Verdict, want, r)
			}
			if r.Corrected.Known {
				tested = append(tested, r)
			}
		})
		for _, x := range tested {
			if x.Corrected.Value < x.P.Value || x.Corrected.Value > 1 {
				t.Fatalf("%v is corrected to %v", x.P.Value, x.Corrected.Value)
			}
			for _, y := range tested {
				if x.P.Value <= y.P.Value && x.Corrected.Value > y.Corrected.Value {
					t.Fatalf("the order of %v and %v has changed: %v and %v", x.P.Value, y.P.Value, x.Corrected.Value, y.Corrected.Value)
				}
			}
		}
	})
}

// A saved result gives the same bytes as the one that it was saved from.
func TestCompareSavedResults(t *testing.T) {
	read := func(r *record.Result) *record.Result {
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		again, err := record.ReadResult(&b)
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	for _, replications := range []int{1, 5} {
		slower := slices.Clone(reporttest.Lab)
		for i := range slower {
			slower[i].P99 += slower[i].P99 / 7
			slower[i].Took += slower[i].Took / 9
		}
		before := reporttest.Result("lab", "", reporttest.Lab, replications)
		after := reporttest.Check(reporttest.Result("lab", "", slower[1:], replications), "p(99)<=baseline*1.05", "throughput>=baseline")
		for _, r := range []*record.Result{before, after} {
			r.Schema = record.Schema
			for i := range r.Cells {
				r.Cells[i].KeepSamples(nil)
			}
		}
		o := CompareOptions{Indifference: DefaultIndifference}
		want := allFormats(t, Compare(before, after, o)) + allFormats(t, CompareCells(after, 0, o))
		for _, c := range []*Comparison{Compare(read(before), after, o), Compare(before, read(after), o), Compare(read(before), read(after), o)} {
			if diff := cmp.Diff(want, allFormats(t, c)+allFormats(t, CompareCells(read(after), 0, o))); diff != "" {
				t.Errorf("%d replications (-want +got):\n%s", replications, diff)
			}
		}
		if strings.Contains(want, "NaN") || strings.Contains(want, "Inf") {
			t.Errorf("something is not a number:\n%s", want)
		}
	}
}

// allFormats returns a comparison in every format there is.
func allFormats(t testing.TB, c *Comparison) string {
	t.Helper()
	var b bytes.Buffer
	err := errors.Join(
		CompareText(&b, c, Options{}), CompareMarkdown(&b, c), CompareJSON(&b, c), CompareCSV(&b, c), CompareJUnit(&b, c, "f", Worse),
		CompareAnnotations(&b, c, "f", true),
	)
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Any two results can be compared and shown, with the same bytes each time, no control characters, and lines that fit.
func TestCompareAnyResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		results := rapid.OneOf(anySamples(), reporttest.Any())
		before, after := results.Draw(t, "before"), results.Draw(t, "after")
		for range rapid.IntRange(0, 2).Draw(t, "checks") {
			reporttest.Check(after, rapid.SampledFrom([]string{"p(99)<1ms", "throughput>=baseline", "ok>baseline*2"}).Draw(t, "check"))
		}
		comparisons := []*Comparison{Compare(before, after, CompareOptions{})}
		if len(after.Cells) > 0 {
			comparisons = append(comparisons, CompareCells(after, len(after.Cells)-1, CompareOptions{Indifference: 0.1}))
		}
		for _, c := range comparisons {
			var first, second bytes.Buffer
			for _, b := range []*bytes.Buffer{&first, &second} {
				err := errors.Join(
					CompareText(b, c, Options{}), CompareMarkdown(b, c), CompareCSV(io.Discard, c), CompareJUnit(b, c, "f", Worse),
					CompareAnnotations(b, c, "f", false), CompareJSON(b, c), JUnit(b, after, ""), Annotations(b, after, ""), Summary(b, after),
				)
				if err != nil && !strings.Contains(err.Error(), "json") {
					t.Fatal(err)
				}
			}
			if first.String() != second.String() {
				t.Fatal("two reports of one comparison differ")
			}
			if strings.ContainsAny(first.String(), "\x1b\t") {
				t.Fatalf("control characters in:\n%s", first.String())
			}
		}
	})
}

// Where it is possible, no line is longer than the width that was asked for.
func TestComparisonFits(t *testing.T) {
	lab := result("replications")
	c := CompareCells(lab, 1, CompareOptions{Indifference: DefaultIndifference})
	for _, width := range []int{0, 80, 60} {
		var b bytes.Buffer
		if err := CompareText(&b, c, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := uniseg.StringWidth(line); n > max(width, 60) && (width > 0 || n > 100) {
				t.Errorf("%d columns: %s", n, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("spaces at the end: %q", line)
			}
		}
	}
}

// The rows of the CSV are the figures of the JSON, in the same order.
func TestComparisonCSVAndJSONAgree(t *testing.T) {
	c := CompareCells(result("replications"), 1, CompareOptions{Indifference: DefaultIndifference})
	var table, text bytes.Buffer
	if err := errors.Join(CompareCSV(&table, c), CompareJSON(&text, c)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll() // which refuses rows of another length
	if err != nil {
		t.Fatal(err)
	}
	var read Comparison
	d := json.NewDecoder(&text)
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		t.Fatal(err)
	}
	if read.Schema != "poolwise.comparison/v1" {
		t.Errorf("schema %s", read.Schema)
	}
	i := 0
	read.rows(func(p *Pair, r *Row) {
		i++
		got := rows[i]
		want := []string{
			p.Before.String(), p.After.String(), r.Figure, r.Unit, r.Better, fmt.Sprint(r.Difference.Known), string(r.Method),
			fmt.Sprint(r.Replications.Before), string(r.Verdict),
		}
		got = []string{got[0], got[1], got[2], got[3], got[4], fmt.Sprint(got[7] != ""), got[13], got[14], got[18]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("row %d:\n%s", i, diff)
		}
	})
	if i != len(rows)-1 || i != 5*len(record.Compared) {
		t.Errorf("%d figures in JSON, %d in CSV, want %d", i, len(rows)-1, 5*len(record.Compared))
	}
}

func TestErrorsOfTheWriterOfComparisons(t *testing.T) {
	r := result("lab")
	c := CompareCells(r, 0, CompareOptions{})
	for name, err := range map[string]error{
		"text": CompareText(full{}, c, Options{}), "markdown": CompareMarkdown(full{}, c), "csv": CompareCSV(full{}, c),
		"json": CompareJSON(full{}, c), "junit": JUnit(full{}, r, ""), "compare junit": CompareJUnit(full{}, c, ""),
		"annotations": Annotations(full{}, r, ""), "compare annotations": CompareAnnotations(full{}, c, "", false), "summary": Summary(full{}, r),
	} {
		if err == nil || err.Error() != "disk full" {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// With very many settings the report for a comment stays readable: all of them in the overview, and the worst figures.
func TestManySettings(t *testing.T) {
	r := &record.Result{}
	for i := range 100 {
		r.Cells = append(r.Cells, record.Cell{
			Settings: reporttest.Set("pool.max", i+1), Replications: 2,
			Samples: record.Samples{{Figure: "p(99)", Values: []float64{1e6 * float64(i+1), 1e6 * float64(i+1)}}},
		})
	}
	c := CompareCells(r, 0, CompareOptions{})
	var b bytes.Buffer
	if err := CompareMarkdown(&b, c); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if n := strings.Count(text, "| p(99) |"); n != mostRows {
		t.Errorf("%d rows of figures, want %d", n, mostRows)
	}
	if !strings.Contains(text, "\n| 100 | p(99) | 1.00 ms | 100 ms | ×100 | exact | &lt;0.001 | worse |\n") {
		t.Errorf("the worst is not there:\n%s", text)
	}
	if !strings.Contains(text, "\n59 more figures differ or may; csv and json have all.\n") {
		t.Errorf("what is left out is not said:\n%s", text)
	}
	for i := range 99 {
		if !strings.Contains(text, fmt.Sprintf("\n| %d | ", i+2)) {
			t.Errorf("pool.max=%d is not in the overview", i+2)
		}
	}
}

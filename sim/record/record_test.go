package record

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"poolwise/sim"
)

const ms = time.Millisecond

// TestHistogramAgainstASortedSlice: count, mean, extremes are exact, percentiles are the value at that rank to three digits, and
// merging two histograms is the same as counting everything in one.
func TestHistogramAgainstASortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOf(rapid.Map(rapid.Int64Range(0, 1<<50), func(x int64) time.Duration { return time.Duration(x) }))
		a, b := durations.Draw(t, "a"), durations.Draw(t, "b")
		var ha, hb, all Histogram
		for _, d := range a {
			ha.Record(d)
			all.Record(d)
		}
		for _, d := range b {
			hb.Record(d)
			all.Record(d)
		}
		ha.Merge(&hb)
		if d := cmp.Diff(all.Cumulative(), ha.Cumulative()); d != "" {
			t.Fatalf("merged (-counted in one +merged):\n%s", d)
		}
		vs := slices.Concat(a, b)
		slices.Sort(vs)
		if all.N() != int64(len(vs)) {
			t.Fatalf("n %d", all.N())
		}
		if len(vs) == 0 {
			return
		}
		var sum time.Duration
		for _, v := range vs {
			sum += v
		}
		for _, h := range []*Histogram{&all, &ha} {
			if h.Min() != vs[0] || h.Max() != vs[len(vs)-1] || h.Mean() != sum/time.Duration(len(vs)) {
				t.Fatalf("min %v mean %v max %v", h.Min(), h.Mean(), h.Max())
			}
		}
		for _, p := range []float64{0.001, 50, 90, 99, 99.9, 100} {
			want := vs[max(int(math.Ceil(p/100*float64(len(vs))-1e-9))-1, 0)]
			got := all.At(p)
			if got < want || float64(got) > float64(want)*1.001+1 {
				t.Fatalf("p%v = %d, want %d up to a thousandth more", p, got, want)
			}
		}
	})
}

func TestPercentilesNeedSamples(t *testing.T) {
	var h Histogram
	for range 99 {
		h.Record(ms)
	}
	if h.Estimable(99) {
		t.Error("p99 of 99 values is their maximum")
	}
	h.Record(ms)
	if !h.Estimable(99) || h.Estimable(99.9) {
		t.Error("100 values support p99 and not p99.9")
	}
	if s := h.Summary(); !s.P99.Known || s.P999.Known {
		t.Errorf("summary %+v", s)
	}
}

func TestHistogramRefusesNegativeDurations(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	new(Histogram).Record(-1)
}

// TestLevelAgainstTheIntegral: the mean of a random step function, over its whole time and over each bin.
func TestLevelAgainstTheIntegral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Level
		s := newSeries([]string{"x"}, []*Level{&l})
		var at sim.Time
		value, highest := int64(0), int64(0)
		steps := map[sim.Time]int64{}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			at += sim.Time(rapid.Int64Range(0, 3).Draw(t, "after")) * sim.Time(ms)
			d := rapid.Int64Range(-value, 5).Draw(t, "by")
			s.upTo(at)
			l.Add(at, d)
			value += d
			highest = max(highest, value)
			steps[at] = value
		}
		end := at + sim.Time(rapid.Int64Range(1, 5).Draw(t, "rest"))*sim.Time(ms)
		s.upTo(end)
		var area, v float64
		for i := sim.Time(0); i < end; i += sim.Time(ms) {
			if x, ok := steps[i]; ok {
				v = float64(x)
			}
			area += v
			if got := s.courses[0].mean[0][i/sim.Time(ms)]; got != v {
				t.Fatalf("bin at %v: %v, want %v", i, got, v)
			}
		}
		if want := area / float64(end/sim.Time(ms)); math.Abs(l.mean(0, end)-want) > 1e-9 {
			t.Fatalf("mean %v, want %v", l.mean(0, end), want)
		}
		if l.max != highest || l.value != value {
			t.Fatalf("max %d value %d, want %d %d", l.max, l.value, highest, value)
		}
	})
}

// TestSeriesHalves: however long the run, there are at most 512 bins, and they keep the mean and the maximum.
func TestSeriesHalves(t *testing.T) {
	var l Level
	s := newSeries([]string{"x"}, []*Level{&l})
	l.Add(0, 2)
	s.upTo(sim.Time(700 * ms))
	l.Add(sim.Time(700*ms), 8)
	l.Add(sim.Time(701*ms), -8)
	end := sim.Time(2000 * ms)
	s.upTo(end)
	r := s.result(end)
	if r.Bin != 4*ms || len(r.Mean[0]) != 500 {
		t.Fatalf("%d bins of %v, want 500 of 4ms", len(r.Mean[0]), r.Bin)
	}
	for i := range r.Mean[0] {
		mean, highest := 2.0, int64(2)
		if i == 175 { // 700 ms / 4 ms: 10 for a millisecond, 2 for three
			mean, highest = 4, 10
		}
		if r.Mean[0][i] != mean || r.Max[0][i] != highest {
			t.Errorf("bin %d: mean %v max %d, want %v %d", i, r.Mean[0][i], r.Max[0][i], mean, highest)
		}
	}
}

// story is a run of two requests over one pool: one waits 10 ms for the connection of the other.
var story = []Fact{
	{At: 0, Kind: RequestBegan, Request: 0},
	{At: 0, Kind: ConnMoved, Move: Between(None, Opening)},
	{At: sim.Time(20 * ms), Kind: ConnectEnded, Took: 20 * ms, Conn: 1},
	{At: sim.Time(20 * ms), Kind: ConnMoved, Move: Between(Opening, InUse)},
	{At: sim.Time(20 * ms), Kind: AcquireEnded, Request: 0, Took: 20 * ms},
	{At: sim.Time(30 * ms), Kind: RequestBegan, Request: 1},
	{At: sim.Time(30 * ms), Kind: WaitBegan, Request: 1},
	{At: sim.Time(40 * ms), Kind: Returned, Request: 0, Took: 20 * ms},
	{At: sim.Time(40 * ms), Kind: ConnMoved, Move: Between(InUse, Idle)},
	{At: sim.Time(40 * ms), Kind: WaitEnded, Request: 1},
	{At: sim.Time(40 * ms), Kind: ConnMoved, Move: Between(Idle, InUse)},
	{At: sim.Time(40 * ms), Kind: AcquireEnded, Request: 1, Took: 10 * ms},
	{At: sim.Time(40 * ms), Kind: RequestEnded, Request: 0, Took: 40 * ms},
	{At: sim.Time(45 * ms), Kind: Returned, Request: 1, Took: 5 * ms},
	{At: sim.Time(45 * ms), Kind: ConnMoved, Move: Between(InUse, None)},
	{At: sim.Time(45 * ms), Kind: SessionEnded, Outcome: ClosedHard, Conn: 1},
	{At: sim.Time(50 * ms), Kind: RequestEnded, Request: 1, Took: 20 * ms, Outcome: Failed},
}

func record(from sim.Time, facts []Fact) *Run {
	r := NewRecorder(1, from)
	for _, f := range facts {
		r.Note(f)
	}
	return r.Finish(sim.Time(100*ms), 30*ms, 3)
}

func TestRecorderTellsTheStory(t *testing.T) {
	c := Merge(nil, []string{"app"}, []*Run{record(0, story)})
	if c.Requests.Total != 2 || c.Requests.OK != 1 || c.Requests.Failed != 1 || c.Requests.Outcomes[Failed] != 1 {
		t.Errorf("requests %+v", c.Requests)
	}
	for name, x := range map[string]struct {
		got  Duration
		want time.Duration
	}{
		"latency": {c.Latency.Mean, 40 * ms}, "wait": {c.Wait.Mean, 15 * ms}, "connect": {c.Connect.Mean, 20 * ms},
		"hold": {c.Hold.Max, 20 * ms}, "failed after": {c.FailedAfter.Mean, 20 * ms}, "makespan": {c.Makespan, 50 * ms},
	} {
		if x.got.Value != x.want || !x.got.Known || x.got.Interval {
			t.Errorf("%s %+v, want %v", name, x.got, x.want)
		}
	}
	for name, x := range map[string]struct{ got, want float64 }{
		"throughput": {c.Throughput.Value, 20}, "failed rate": {c.FailedRate.Value, 0.5}, "utilisation": {c.Server.CoreUtilisation.Value, 0.1},
		"size mean": {c.Levels.Size.Mean.Value, 0.45}, "in use mean": {c.Levels.InUse.Mean.Value, 0.25}, "waiting mean": {c.Levels.Waiting.Mean.Value, 0.1},
		"connecting mean": {c.Levels.Opening.Mean.Value, 0.2}, "size final": {c.Levels.Size.Final.Value, 0}, "in use max": {c.Levels.InUse.Max.Value, 1},
	} {
		if math.Abs(x.got-x.want) > 1e-12 {
			t.Errorf("%s %v, want %v", name, x.got, x.want)
		}
	}
	if s := c.Server; s.Opened != 1 || s.Closed != 1 || s.PeakOpen != 1 || s.Refused != 0 {
		t.Errorf("server %+v", s)
	}
}

// TestWarmUpIsRemoved: from 25 ms on, only the second request and the levels of the last 75 ms count.
func TestWarmUpIsRemoved(t *testing.T) {
	c := Merge(nil, []string{"app"}, []*Run{record(sim.Time(25*ms), story)})
	if c.Requests.Total != 1 || c.Requests.Failed != 1 || c.Latency.N != 0 {
		t.Errorf("requests %+v", c.Requests)
	}
	if got, want := c.Levels.Size.Mean.Value, 20.0/75; math.Abs(got-want) > 1e-12 {
		t.Errorf("mean size %v, want %v", got, want)
	}
}

// TestMergeGivesStudentIntervals: values 10, 20, 30 have mean 20 and, with t(2; 0.975) = 4.3027 from a table, half width
// 4.3027 x 10 / sqrt(3) = 24.84.
func TestMergeGivesStudentIntervals(t *testing.T) {
	var runs []*Run
	for _, d := range []time.Duration{10 * ms, 20 * ms, 30 * ms} {
		runs = append(runs, record(0, []Fact{
			{At: 0, Kind: RequestBegan}, {At: sim.Time(d), Kind: RequestEnded, Took: d},
		}))
	}
	c := Merge(nil, []string{"app"}, runs)
	m := c.Makespan
	if !m.Interval || m.Value != 20*ms || m.Lo != 0 || math.Abs(m.Hi.Seconds()-0.04484) > 1e-5 {
		t.Errorf("makespan %+v", m)
	}
	if c.Requests.OK != 3 || c.Latency.N != 3 || c.Latency.Max.Value != 30*ms || c.Replications != 3 {
		t.Errorf("cell %+v", c)
	}
	if l := c.Latency.Mean; l.Value != 20*ms || l.Hi <= l.Value || l.Lo != 0 {
		t.Errorf("mean latency %+v", l)
	}
}

func TestPoolNotesAreCounted(t *testing.T) {
	note := []Fact{{Kind: PoolNote, Outcome: Rejected}, {Kind: PoolNote, Outcome: Rejected}}
	c := Merge(nil, []string{""}, []*Run{record(0, note), record(0, note)})
	if c.PoolNotes[Rejected] != 4 {
		t.Errorf("%d notes, want 4", c.PoolNotes[Rejected])
	}
}

func TestWarningsAreCountedOnce(t *testing.T) {
	runs := []*Run{record(0, nil), record(0, nil)}
	runs[0].Warnings = []string{"a", "b"}
	runs[1].Warnings = []string{"b"}
	got := Merge(nil, []string{"app"}, runs).Warnings
	if d := cmp.Diff([]string{"a (in 1 of 2 replications)", "b"}, got); d != "" {
		t.Error(d)
	}
}

func TestResultReadsBackWhatItWrites(t *testing.T) {
	cell := Merge(Settings{{"pool.max", "8"}, {"server.connect", "20ms"}}, []string{"a", "b"}, []*Run{twoPools(), twoPools()})
	want := Result{Schema: Schema, Scenario: Scenario{Name: "x", Hash: "h", Seed: 1, Estimate: "terminating"}, Cells: []Cell{cell},
		Checks: []Check{{Expr: "p(99)<1s", Status: Passed, Value: 1, Unit: "ns"}}, Verdict: Passed}
	want.Cells[0].Curves = Curves{}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Result
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != string(again) {
		t.Errorf("wrote\n%s\nread and wrote\n%s", b, again)
	}
	if !strings.Contains(string(b), `"settings":{"pool.max":8,"server.connect":"20ms"}`) {
		t.Errorf("settings in %s", b)
	}
	if !strings.Contains(string(b), `"outcomes":{"failed":2}`) {
		t.Errorf("outcomes in %s", b)
	}
}

func twoPools() *Run {
	r := NewRecorder(2, 0)
	for _, f := range story {
		r.Note(f)
		f.Pool = 1
		if f.Kind != RequestEnded || f.Outcome == OK {
			r.Note(f)
		}
	}
	return r.Finish(sim.Time(100*ms), 0, 0)
}

func TestPoolsAddUp(t *testing.T) {
	c := Merge(nil, []string{"a", "b"}, []*Run{twoPools()})
	if len(c.Pools) != 2 || c.Pools[0].Name != "a" || c.Requests.Total != 4 || c.Requests.Unfinished != 1 {
		t.Fatalf("%+v", c.Requests)
	}
	if got := c.Levels.Size.Mean.Value; math.Abs(got-0.9) > 1e-12 || c.Levels.Size.Max.Value != 2 {
		t.Errorf("size of both %+v", c.Levels.Size)
	}
	if c.Server.CoreUtilisation.Known {
		t.Error("utilisation without a number of cores")
	}
}

func TestTraceSaysOneLineAFact(t *testing.T) {
	var text, lines strings.Builder
	for w, asJSON := range map[*strings.Builder]bool{&text: false, &lines: true} {
		tr := NewTrace(w, asJSON, []string{"app"})
		tr.Note(story[3])
		tr.Note(story[16])
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := "          20ms  move            request=0 opening -> in_use\n" +
		"          50ms  request_end     request=1 failed after 20ms\n"
	if d := cmp.Diff(want, text.String()); d != "" {
		t.Error(d)
	}
	want = `{"at":20000000,"fact":"move","request":0,"from":"opening","to":"in_use"}` + "\n" +
		`{"at":50000000,"fact":"request_end","request":1,"outcome":"failed","took":20000000}` + "\n"
	if d := cmp.Diff(want, lines.String()); d != "" {
		t.Error(d)
	}
}

func TestNamesAreCompleteAndDistinct(t *testing.T) {
	seen := map[string]bool{}
	for o := range NumOutcomes {
		name := o.String()
		if name == "" || seen[name] {
			t.Errorf("outcome %d is called %q", o, name)
		}
		seen[name] = true
		if back, ok := OutcomeNamed(name); !ok || back != o {
			t.Errorf("OutcomeNamed(%q) = %v", name, back)
		}
	}
	for k := range numFactKinds {
		if k.String() == "" {
			t.Errorf("fact %d has no name", k)
		}
	}
	for s := range NumStates {
		if s.String() == "" {
			t.Errorf("state %d has no name", s)
		}
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	r := NewRecorder(1, 0)
	at := sim.Time(0)
	once := func() {
		at += sim.Time(ms)
		for _, f := range story {
			f.At = at + f.At/100
			r.Note(f)
		}
	}
	once()
	if n := testing.AllocsPerRun(2000, once); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRecorderMissesNothingThatItDoesNotWant: a run without the unwanted facts measures the same.
func TestRecorderMissesNothingThatItDoesNotWant(t *testing.T) {
	r := NewRecorder(1, 0)
	if !Wants(NewFan(r, NewTrace(new(strings.Builder), false, nil)), QueryEnded) || Wants(NewFan(r), QueryEnded) || !Wants(r, RequestEnded) {
		t.Error("a trace wants everything, a recorder only what it measures")
	}
	all, few := NewRecorder(1, 0), NewRecorder(1, 0)
	for k := range numFactKinds {
		f := Fact{At: sim.Time(k), Kind: k, Took: 1, Move: Between(None, Idle), Conn: 1, Outcome: OK}
		all.Note(f)
		if few.Wants(k) {
			few.Note(f)
		}
	}
	a, b := Merge(nil, nil, []*Run{all.Finish(100, 0, 0)}), Merge(nil, nil, []*Run{few.Finish(100, 0, 0)})
	a.Curves, b.Curves = Curves{}, Curves{}
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("(-all +wanted):\n%s", d)
	}
}

// TestProportion: Wilson's interval of 5 in 50 is 0.0435 to 0.2136 (Brown, Cai and DasGupta 2001 give the formula), and without
// an event in 1000 trials the rule of three says 0.3 %.
func TestProportion(t *testing.T) {
	for _, x := range []struct {
		k, n   int64
		lo, hi float64
	}{{5, 50, 0.04348, 0.21360}, {0, 1000, 0, 0.003}, {1000, 1000, 0.997, 1}, {0, 1, 0, 1}} {
		if lo, hi := proportion(x.k, x.n); math.Abs(lo-x.lo) > 1e-4 || math.Abs(hi-x.hi) > 1e-4 {
			t.Errorf("%d of %d: %.5f to %.5f, want %v to %v", x.k, x.n, lo, hi, x.lo, x.hi)
		}
	}
}

// requests is a run in which ok requests take 1 ms each and failed ones fail at once.
func requests(ok, failed int) *Run { return requestsUntil(ms, ok, failed) }

// another is the same run with other luck: it ends a nanosecond later.
func another(ok, failed int) *Run { return requestsUntil(ms+1, ok, failed) }

func requestsUntil(end time.Duration, ok, failed int) *Run {
	r := NewRecorder(1, 0)
	for i := range ok + failed {
		f := Fact{At: sim.Time(end), Kind: RequestEnded, Took: ms}
		if i >= ok {
			f.Outcome, f.Took = Failed, 0
		}
		r.Note(Fact{Kind: RequestBegan})
		r.Note(f)
	}
	return r.Finish(sim.Time(end), 0, 0)
}

func TestFailedRateIntervals(t *testing.T) {
	rate := func(runs ...*Run) Float { return Merge(nil, nil, runs).FailedRate }
	if f := rate(requests(1000, 0)); f.Interval || f.Value != 0 || f.Hi != 0 {
		t.Errorf("one replication: %+v, want no interval", f)
	}
	if f := rate(requests(500, 0), another(500, 0)); !f.Interval || f.Value != 0 || f.Lo != 0 || f.Hi != 0.003 {
		t.Errorf("no failure in 1000 requests: %+v, want 0 to 0.003", f)
	}
	// 100 and 200 of 1000: mean 0.15, t(1; 0.975) = 12.706, half 12.706 x 0.0707 / sqrt(2) = 0.635.
	if f := rate(requests(900, 100), requests(800, 200)); f.Value != 0.15 || f.Lo != 0 || math.Abs(f.Hi-0.7853) > 1e-3 {
		t.Errorf("many failures: %+v, want 0.15, 0 to 0.785", f)
	}
	// Two replications that agree on 5 of 500 would give no width at all: Wilson's 10 of 1000.
	if f := rate(requests(495, 5), another(495, 5)); math.Abs(f.Lo-0.00544) > 1e-4 || math.Abs(f.Hi-0.01831) > 1e-4 {
		t.Errorf("few failures: %+v, want 0.0054 to 0.0183", f)
	}
	// If they agree in everything, to the nanosecond, there was no luck in them.
	if f := rate(requests(495, 5), requests(495, 5)); !f.Interval || f.Lo != 0.01 || f.Hi != 0.01 {
		t.Errorf("without chance: %+v, want 0.01", f)
	}
}

func TestDifferenceIsTakenPairByPair(t *testing.T) {
	nan := math.NaN()
	// 1, 2, 3 less 0 each: mean 2, t(2; 0.975) = 4.3027, half 4.3027 / sqrt(3) = 2.4841.
	d := Difference([]float64{11, 12, nan, 13}, []float64{5, 5, 5, 5}, 2)
	if !d.Interval || d.Value != 2 || math.Abs(d.Hi-4.4841) > 1e-3 {
		t.Errorf("%+v, want 2 ± 2.484", d)
	}
	if d := Difference([]float64{1, 2}, []float64{1}, 1); d.Known {
		t.Errorf("samples of different lengths: %+v", d)
	}
	if d := Difference([]float64{1, nan}, []float64{1, 2}, 1); d.Known {
		t.Errorf("one pair: %+v", d)
	}
}

func TestSamplesAreKeptAndReadBack(t *testing.T) {
	c := Merge(nil, []string{""}, []*Run{requests(10, 0), requests(0, 5), requests(30, 0)})
	wait, err := ParseFigure("p(99){wait}")
	if err != nil {
		t.Fatal(err)
	}
	c.KeepSamples([]Figure{wait})
	b, err := json.Marshal(c.Samples)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"failed_rate":[0,1,0]`, `"avg":[1000000,null,1000000]`, `"throughput":[10000,0,30000]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	var back Samples
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c.Samples, back, cmp.Comparer(func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })); d != "" {
		t.Error(d)
	}
	// From the samples alone, as from a result that was read back, a figure has the same values.
	avg, _ := ParseFigure("avg")
	read := Cell{Samples: back}
	if got := avg.Sample(&read); len(got) != 3 || got[0] != 1e6 || !math.IsNaN(got[1]) {
		t.Errorf("avg %v", got)
	}
}

func TestCheckAgainstABaseline(t *testing.T) {
	cell := func(oks ...int) *Cell {
		var runs []*Run
		for _, n := range oks {
			runs = append(runs, requests(n, 0))
		}
		c := Merge(nil, []string{""}, runs)
		return &c
	}
	for _, x := range []struct {
		expr     string
		now, old *Cell
		want     Status
	}{
		{"throughput>=baseline*0.95", cell(96), cell(100), Passed},
		{"throughput>=baseline*0.95", cell(94), cell(100), FailedCheck},
		{"throughput>=baseline", cell(100), cell(100), Passed},
		{"throughput>=baseline", cell(100), nil, NotEvaluated},
		{"p(99)<=baseline", cell(10), cell(10), NotEvaluated}, // 10 values support no p99
		// Pair by pair each is 1 higher, although the values are far apart.
		{"throughput>baseline", cell(101, 201, 301), cell(100, 200, 300), Passed},
		{"throughput>baseline", cell(101, 199, 301), cell(100, 200, 300), Inconclusive},
	} {
		e, err := ParseCheck(x.expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.EvaluateAgainst(x.now, x.old); got.Status != x.want {
			t.Errorf("%s: %s (%v), want %s", x.expr, got.Status, got.Value, x.want)
		}
		if again, err := ParseCheck(e.String()); err != nil || again != e {
			t.Errorf("%s is written %s, and read %v, %v", x.expr, e, again, err)
		}
	}
	for _, bad := range []string{"p(99)<baseline*", "p(99)<baseline*x", "p(99)<baseline+1", "p(99)<baseline*-1"} {
		if _, err := ParseCheck(bad); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"poolwise/sim"
)

// playStages plays a fact a line, "at fact request=... conn=... pool=... from->to in=... outcome", as a trace has them, to stages. Of
// RequestEnded the Took is that since its RequestBegan.
func playStages(t *testing.T, s *Stages, lines string) {
	t.Helper()
	type name struct {
		pool    int16
		request int64
	}
	began := map[name]sim.Time{}
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at, err := time.ParseDuration(words[0])
		if err != nil {
			t.Fatal(err)
		}
		f := Fact{At: sim.Time(at), Kind: FactKind(slices.Index(factNames[:], words[1])), Request: -1}
		for _, w := range words[2:] {
			key, value, _ := strings.Cut(w, "=")
			var n int64
			fmt.Sscan(value, &n)
			switch key {
			case "request":
				f.Request = n
			case "conn":
				f.Conn = int32(n)
			case "pool":
				f.Pool = int16(n)
			case "in", "from":
				f.Move = Between(State(slices.Index(stateNames[:], value)), f.Move.To())
			case "to":
				f.Move = Between(f.Move.From(), State(slices.Index(stateNames[:], value)))
			default:
				o, ok := OutcomeNamed(key)
				if !ok {
					t.Fatalf("no outcome %s", key)
				}
				f.Outcome = o
			}
		}
		switch k := (name{f.Pool, f.Request}); f.Kind {
		case RequestBegan:
			began[k] = f.At
		case RequestEnded:
			f.Took = f.At.Sub(began[k])
		}
		if !s.Wants(f.Kind) {
			t.Fatalf("nobody wants %v", f.Kind)
		}
		s.Note(f)
	}
}

// spent lists what a sum has, as "wait 5ms, run 3ms".
func spent(s *StageSum) string {
	var parts []string
	for i := range s.Spent {
		if d := s.Spent[i].Duration(); d != 0 {
			parts = append(parts, fmt.Sprint(Stage(i), " ", d))
		}
	}
	return strings.Join(parts, ", ")
}

func course(e *ExemplarRun) string {
	var parts []string
	for _, span := range e.Course {
		parts = append(parts, fmt.Sprint(span.Stage, " ", span.For))
	}
	return strings.Join(parts, ", ")
}

// TestStagesOfARequest: the splits are computed by hand.
func TestStagesOfARequest(t *testing.T) {
	for _, c := range []struct{ name, facts, all, failed, course string }{
		{
			name: "it waits, its query waits for a core, it returns",
			facts: `
				0ms request request=0
				0ms acquire request=0
				0ms wait request=0
				7ms query_sent request=0 conn=3
				9ms query_queued conn=3
				14ms query conn=3
				20ms return request=0
				21ms request_end request=0`,
			all:    "wait 7ms, queue 5ms, run 8ms, return 1ms",
			course: "wait 7ms, run 2ms, queue 5ms, run 6ms, return 1ms",
		},
		{
			name: "it finds a dead connection, opens another, which takes two connects, and has to wait again",
			facts: `
				1ms request request=4
				1ms acquire request=4
				2ms acquire_turn request=4 in=checking
				5ms acquire_turn request=4 in=opening
				40ms wait request=4
				43ms acquire_turn request=4 in=checking
				44ms call request=4 in=in_use
				50ms request_end request=4`,
			all:    "wait 4ms, connect 35ms, check 4ms, kept_idle 6ms",
			course: "wait 1ms, check 3ms, connect 35ms, wait 3ms, check 1ms, kept_idle 6ms",
		},
		{
			name: "it works with a connection and without one, and begins late",
			facts: `
				0ms request request=0
				2ms call request=0
				5ms acquire request=0
				5ms call request=0 in=in_use
				9ms return request=0
				9ms call request=0
				10ms request_end request=0`,
			all:    "kept_idle 4ms, outside 4ms, other 2ms",
			course: "other 2ms, outside 3ms, kept_idle 4ms, outside 1ms",
		},
		{
			name: "its second attempt succeeds; the query of the first runs on",
			facts: `
				0ms request request=0
				0ms acquire request=0
				0ms query_sent request=0 conn=1
				2ms return request=0
				2ms request_retry request=0
				3ms query_queued conn=1
				12ms acquire request=0
				13ms query_sent request=0 conn=2
				14ms query conn=1
				15ms return request=0
				15ms request_end request=0`,
			all:    "wait 1ms, run 4ms, pause 10ms",
			course: "run 2ms, pause 10ms, wait 1ms, run 2ms",
		},
		{
			name: "it waits for a thread, and its query for a lock and then for a core",
			facts: `
				0ms request request=0
				0ms thread_wait request=0
				2ms acquire request=0
				2ms query_sent request=0 conn=1
				3ms query_blocked conn=1
				7ms query conn=1
				7ms query_queued conn=1
				8ms query conn=1
				9ms return request=0
				9ms thread_wait request=0
				14ms request_end request=0`,
			all:    "thread 7ms, queue 1ms, lock 4ms, run 2ms",
			course: "thread 2ms, run 1ms, lock 4ms, queue 1ms, run 1ms, thread 5ms",
		},
		{
			name: "it fails while its query is queued",
			facts: `
				0ms request request=0
				0ms acquire request=0
				0ms query_sent request=0 conn=1
				0ms query_queued conn=1
				6ms return request=0
				6ms request_end request=0 request_timeout
				8ms query conn=1`,
			failed: "queue 6ms",
		},
		{
			name: "stretches of one stage are one",
			facts: `
				0ms request request=0
				0ms query_sent request=0 conn=1
				1ms query_sent request=0 conn=1
				3ms query_sent request=0
				4ms request_end request=0`,
			all: "run 4ms", course: "run 4ms",
		},
		{
			name: "requests of two pools have the same numbers, of requests and of connections",
			facts: `
				0ms request request=0
				0ms request request=0 pool=1
				1ms query_sent request=0 conn=1
				1ms query_sent request=0 pool=1 conn=1
				2ms query_queued conn=1 pool=1
				5ms request_end request=0 pool=1
				9ms request_end request=0`,
			all: "queue 3ms, run 9ms, other 2ms", course: "other 1ms, run 8ms",
		},
		{
			name: "a number is used again by a program that was started anew",
			facts: `
				0ms request request=0
				0ms acquire request=0
				4ms request_end request=0 killed
				5ms request request=0
				5ms call request=0
				7ms request_end request=0`,
			all: "outside 2ms", failed: "wait 4ms", course: "outside 2ms",
		},
		{
			name: "a pooler lends a server connection, and lends it on",
			facts: `
				0ms request request=0
				0ms request request=1
				0ms query_sent request=0 conn=1
				0ms pooler_move conn=8 from=idle to=in_use
				0ms pooler_serve conn=1
				0ms query_sent request=1 conn=2
				0ms pooler_wait conn=2
				3ms query_queued conn=8 pool=-1
				5ms query conn=8 pool=-1
				9ms request_end request=0
				9ms pooler_wait_end conn=2
				9ms pooler_move conn=8 from=in_use to=in_use
				9ms pooler_serve conn=2
				9ms query_queued conn=8 pool=-1
				10ms query conn=8 pool=-1
				14ms pooler_move conn=8 from=in_use to=idle
				14ms query_queued conn=8 pool=-1
				16ms request_end request=1`,
			all:    "pooler 9ms, queue 3ms, run 13ms",
			course: "pooler 9ms, queue 1ms, run 6ms",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewStages(0, true)
			playStages(t, s, c.facts)
			r := s.Finish()
			if got := spent(&r.All); got != c.all {
				t.Errorf("served requests: %s; want %s", got, c.all)
			}
			if got := spent(&r.Failed); got != c.failed {
				t.Errorf("failed requests: %s; want %s", got, c.failed)
			}
			if c.course != "" {
				if got := course(&r.Exemplars[0]); got != c.course {
					t.Errorf("course: %s; want %s", got, c.course)
				}
			}
			if len(s.free) != len(s.slots) || s.requests.n != 0 || s.queries.n != 0 {
				t.Errorf("of %d slots %d are free; %d requests and %d queries are left", len(s.slots), len(s.free), s.requests.n, s.queries.n)
			}
		})
	}
}

// simple makes requests whose latency is at one stage, served one after the other. The number of each is its place.
func simple(s *Stages, latencies ...time.Duration) {
	at := sim.Time(0)
	for i, d := range latencies {
		s.Note(Fact{At: at, Kind: RequestBegan, Request: int64(i)})
		s.Note(Fact{At: at, Kind: CallBegan, Request: int64(i)})
		at = at.Add(d)
		s.Note(Fact{At: at, Kind: RequestEnded, Request: int64(i), Took: d})
	}
}

// TestSlowest: of 1000 requests that take 1 ms to 1000 ms in some order, the slowest 1 % take 991 ms to 1000 ms.
func TestSlowest(t *testing.T) {
	latencies := make([]time.Duration, 1000)
	for i, j := range rand.New(rand.NewPCG(1, 2)).Perm(1000) {
		latencies[i] = time.Duration(j+1) * ms
	}
	s := NewStages(0, true)
	simple(s, latencies...)
	r := s.Finish()
	if r.All.N != 1000 || r.All.Latency.Duration() != 500_500*ms || r.Slowest.N != 10 || r.Slowest.Latency.Duration() != 9955*ms || r.From != 991*ms {
		t.Errorf("%d requests take %v; the slowest %d, from %v on, %v", r.All.N, r.All.Latency.Duration(), r.Slowest.N, r.From, r.Slowest.Latency.Duration())
	}
	var got []string
	for _, e := range r.Exemplars {
		got = append(got, fmt.Sprint(e.Which, " ", e.Latency))
		if e.Request != int64(slices.Index(latencies, e.Latency)) {
			t.Errorf("request %d is said to take %v", e.Request, e.Latency)
		}
	}
	// The median of an even number of requests is either of the two in the middle.
	want := []string{"slowest 1s", "p99 991ms", "p99 992ms", "p99 993ms", "median 500ms"}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("examples (-want +got):\n%s", d)
	}
}

func TestSlowestOfFew(t *testing.T) {
	for _, c := range []struct {
		n       int
		slowest int64
		want    string
	}{
		{0, 0, ""},
		{1, 1, "slowest 1ms"},
		{2, 1, "slowest 2ms, median 1ms"},
		{100, 1, "slowest 100ms, median 50ms"},
		{101, 2, "slowest 101ms, p98 100ms, median 51ms"},
		{200, 2, "slowest 200ms, p99 199ms, median 100ms"},
	} {
		s := NewStages(0, true)
		var latencies []time.Duration
		for i := range c.n {
			latencies = append(latencies, time.Duration(i+1)*ms)
		}
		simple(s, latencies...)
		r := s.Finish()
		var got []string
		for _, e := range r.Exemplars {
			got = append(got, fmt.Sprint(e.Which, " ", e.Latency))
		}
		if r.Slowest.N != c.slowest || strings.Join(got, ", ") != c.want {
			t.Errorf("of %d requests the slowest are %d; examples: %s; want %d and %s", c.n, r.Slowest.N, strings.Join(got, ", "), c.slowest, c.want)
		}
	}
}

// TestOfEqualLatenciesTheFirstIsSlowest, so that which one is kept hangs on nothing else.
func TestOfEqualLatenciesTheFirstIsSlowest(t *testing.T) {
	s := NewStages(0, true)
	simple(s, slices.Repeat([]time.Duration{ms}, 300)...)
	for i, e := range s.Finish().Exemplars[:3] {
		if want := []int64{0, 1, 2}[i]; e.Request != want {
			t.Errorf("example %d is request %d, want %d", i, e.Request, want)
		}
	}
}

func TestStagesForgetTheWarmUp(t *testing.T) {
	s := NewStages(sim.Time(10*ms), true)
	simple(s, 9*ms, 2*ms, 3*ms) // beginning at 0, 9 ms, 11 ms
	if r := s.Finish(); r.All.N != 1 || r.All.Latency.Duration() != 3*ms || len(r.Exemplars) != 1 {
		t.Errorf("%d requests, %v", r.All.N, r.All.Latency.Duration())
	}
}

// TestALongCourseIsCutShort: what was cut off is in the rest.
func TestALongCourseIsCutShort(t *testing.T) {
	s := NewStages(0, true)
	s.Note(Fact{Kind: RequestBegan})
	for i := range 1000 {
		s.Note(Fact{At: sim.Time(i), Kind: []FactKind{CallBegan, RequestRetry}[i%2]})
	}
	s.Note(Fact{At: 1000, Kind: RequestEnded, Took: 1000})
	e := s.Finish().Exemplars[0]
	if len(e.Course) != maxSpans || e.Rest != 1000-maxSpans {
		t.Errorf("%d stretches and a rest of %d", len(e.Course), e.Rest)
	}
}

func TestStagesPanicOnARequestThatNeverBegan(t *testing.T) {
	for name, f := range map[string][]Fact{
		"it never began":   {{At: 5, Kind: RequestEnded, Took: 5}},
		"it began earlier": {{At: 2, Kind: RequestBegan}, {At: 5, Kind: RequestEnded, Took: 5}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			s := NewStages(0, false)
			for _, f := range f {
				s.Note(f)
			}
		}()
	}
}

// TestKeepAgainstASortedSlice: what is kept is what comes first in order of key, highest first, and of offer.
func TestKeepAgainstASortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.Uint64Range(0, 20)).Draw(t, "keys")
		k := keep{limit: rapid.IntRange(1, 8).Draw(t, "limit")}
		order, places := make([]int, len(keys)), map[int32]int{}
		for i, key := range keys {
			order[i] = i
			if at, ok := k.offer(key, int64(i)); ok {
				places[at] = i
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[b], keys[a]) })
		var got []int
		for _, r := range k.highestFirst() {
			got = append(got, places[r.at])
		}
		want := append([]int(nil), order[:min(k.limit, len(order))]...)
		if d := gocmp.Diff(want, got); d != "" {
			t.Fatalf("kept (-want +got):\n%s", d)
		}
	})
}

// TestIndexAgainstAMap with names that collide.
func TestIndexAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, m := newIndex(), map[inPool]int32{}
		name := rapid.Custom(func(t *rapid.T) inPool {
			return inPool{int64(rapid.IntRange(0, 40).Draw(t, "number")), int16(rapid.IntRange(-1, 2).Draw(t, "pool"))}
		})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, slot := name.Draw(t, "name"), rapid.Int32Range(0, 100).Draw(t, "slot")
				x.put(k, slot)
				m[k] = slot
			},
			"remove": func(t *rapid.T) {
				k := name.Draw(t, "name")
				x.remove(k)
				delete(m, k)
			},
			"": func(t *rapid.T) {
				if x.n != len(m) || 2*x.n > len(x.places)+2 {
					t.Fatalf("%d names in %d places, want %d", x.n, len(x.places), len(m))
				}
				for number := range int64(41) {
					for pool := range int16(4) {
						k := inPool{number, pool - 1}
						want, ok := m[k]
						if !ok {
							want = -1
						}
						if got := x.get(k); got != want {
							t.Fatalf("%v has slot %d, want %d", k, got, want)
						}
					}
				}
			},
		})
	})
}

func TestStagesAllocateNothingInSteadyState(t *testing.T) {
	s := NewStages(0, true)
	at, n := sim.Time(0), int64(0)
	many := func() {
		for range 20_000 {
			facts := []Fact{
				{Kind: RequestBegan}, {Kind: AcquireBegan}, {At: sim.Time(n % 97), Kind: AcquireTurned, Move: Between(Opening, None)},
				{At: 100, Kind: QuerySent, Conn: int32(n%1000) + 1}, {At: 100, Kind: QueryQueued, Conn: int32(n%1000) + 1},
				{At: 110, Kind: Returned}, {At: 110, Kind: RequestEnded, Took: 110},
			}
			for _, f := range facts {
				f.At += at
				if f.Kind != QueryQueued {
					f.Request = n
				}
				s.Note(f)
			}
			at, n = at.Add(50), n+1
		}
	}
	many()
	if a := testing.AllocsPerRun(3, many); a > 50 { // a course is kept longer than any before in its place
		t.Errorf("%v allocations", a)
	}
}

func TestMergedStages(t *testing.T) {
	run := func(latencies ...time.Duration) *Run {
		s := NewStages(0, true)
		simple(s, latencies...)
		s.Note(Fact{Kind: RequestBegan, Request: 99})
		s.Note(Fact{Kind: AcquireBegan, Request: 99})
		s.Note(Fact{At: sim.Time(6 * ms), Kind: RequestEnded, Request: 99, Took: 6 * ms, Outcome: AcquireTimeout})
		r := NewRecorder(1, 0).Finish(0, 0, 0)
		r.Stages = s.Finish()
		return r
	}
	a, b := run(ms, 3*ms), run(5*ms, 7*ms, 11*ms)
	c := Merge(nil, []string{""}, []*Run{a, b})
	if c.Stages.All.N != 5 || c.Stages.Slowest.N != 2 || c.Stages.Failed.N != 2 {
		t.Errorf("%d, %d and %d requests", c.Stages.All.N, c.Stages.Slowest.N, c.Stages.Failed.N)
	}
	// Means of 2 ms and 7.67 ms; 27 ms in all. The half-width is t(0.975, 1) = 12.706 times 2.833 ms.
	latency := c.Stages.All.Latency
	if latency.Value != 5400*time.Microsecond || !latency.Interval || latency.Lo != 0 || latency.Hi.Round(100*time.Microsecond) != 40800*time.Microsecond {
		t.Errorf("mean latency %v, from %v to %v", latency.Value, latency.Lo, latency.Hi)
	}
	outside := c.Stages.All.Stages[StageOutside]
	if outside.Mean != latency || outside.Share != 1 || c.Stages.All.Stages[StageWait].Share != 0 || c.Stages.All.Stages[StageWait].Mean.Value != 0 {
		t.Errorf("%v", c.Stages.All.Stages)
	}
	if v := c.Stages.Slowest.From.Value; v != 7*ms { // of 3 ms and 11 ms
		t.Errorf("the slowest are from %v on", v)
	}
	if p := c.Stages.Failed.Stages[StageWait]; p.Mean.Value != 6*ms || p.Share != 1 {
		t.Errorf("%v", p)
	}
	if len(c.Stages.Exemplars) != 2 || c.Stages.Exemplars[0].Latency != 3*ms || c.Stages.Exemplars[0].Pool != "" {
		t.Errorf("examples %v", c.Stages.Exemplars)
	}
	b.Stages = nil
	if c := Merge(nil, []string{""}, []*Run{a, b}); c.Stages != nil {
		t.Error("stages of one replication only")
	}
	text, err := json.Marshal(c.Stages)
	if err != nil {
		t.Fatal(err)
	}
	var back StageCell
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(&back); !bytes.Equal(text, again) {
		t.Errorf("read back:\n%s\n%s", text, again)
	}
	for _, bad := range []string{`{"all":{"n":1,"latency":1,"stages":{"waiting":{"mean":1,"share":1}}}}`, `{"all":{"stages":{"wait":{"min":1}}}}`} {
		if json.Unmarshal([]byte(bad), &back) == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestReadResultRefusesImpossibleStages(t *testing.T) {
	s := NewStages(0, true)
	simple(s, ms, 2*ms)
	run := NewRecorder(1, 0).Finish(0, 0, 0)
	run.Stages = s.Finish()
	r := &Result{Schema: Schema, Cells: []Cell{Merge(nil, []string{""}, []*Run{run})}, Verdict: Passed}
	read := func() error {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadResult(bytes.NewReader(text))
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	c := r.Cells[0].Stages
	for _, bad := range []struct {
		set  func(undo bool)
		want string
	}{
		{func(undo bool) { c.All.N = map[bool]int64{false: -1, true: 2}[undo] }, "stages: want no negative count"},
		{func(undo bool) { c.Slowest.Stages[StageRunning].Share = map[bool]float64{false: 1.5}[undo] }, "stages: run: want a share of 0 to 1, have 1.5"},
		{func(undo bool) { c.Exemplars[0].Course[0].For *= -1 }, "stages: exemplars: want no negative time"},
	} {
		bad.set(false)
		if err := read(); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v, want %s", err, bad.want)
		}
		bad.set(true)
	}
	if err := read(); err != nil {
		t.Error(err)
	}
}

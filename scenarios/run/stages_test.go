package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"poolwise/pool/models"
	"poolwise/scenarios"
	"poolwise/sim/record"
)

// oneRun runs the first replication of a cell and returns what was measured.
func oneRun(t testing.TB, c scenarios.Cell, opt Options) *record.Run {
	t.Helper()
	r, err := replicate(context.Background(), c, job{}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestStages holds the splits of testdata/stages, which are computed by hand.
func TestStages(t *testing.T) {
	datadriven.RunTest(t, "testdata/stages", func(t *testing.T, d *datadriven.TestData) string {
		base, cells, err := scenarios.Load("test.yaml", []byte("name: test\nuntil: drained\n"+d.Input), scenarios.Options{})
		if err != nil {
			return err.Error() + "\n"
		}
		_ = base
		r := oneRun(t, cells[0], Options{Stages: true, CheckInvariants: true})
		var b strings.Builder
		for _, of := range []struct {
			name string
			sum  *record.StageSum
		}{{"served", &r.Stages.All}, {"slowest", &r.Stages.Slowest}, {"failed", &r.Stages.Failed}} {
			if of.sum.N > 0 {
				fmt.Fprintf(&b, "%s %d:%s\n", of.name, of.sum.N, split(of.sum))
			}
		}
		return b.String()
	})
}

// split lists the stages of a sum.
func split(s *record.StageSum) string {
	var b strings.Builder
	sep := " "
	for i := range s.Spent {
		if d := s.Spent[i].Duration(); d != 0 {
			fmt.Fprintf(&b, "%s%v %v", sep, record.Stage(i), d)
			sep = ", "
		}
	}
	return b.String()
}

// TestEveryModelSaysWhatAnAcquireIsAt: one that opens a connection does so for all of its time.
func TestEveryModelSaysWhatAnAcquireIsAt(t *testing.T) {
	for _, m := range models.Table {
		_, cells := mustLoad(t, `
name: first
until: drained
server: {connect: 20ms}
pool: `+m.Name+`
workload: {clients: 1, repeat: 1, request: [acquire, query: 5ms, release]}
`, scenarios.Options{})
		r := oneRun(t, cells[0], Options{Stages: true})
		want := " connect 20ms, run 5ms"
		if r.Server.Opened == 0 {
			want = " run 5ms"
		}
		if got := split(&r.Stages.All); got != want {
			t.Errorf("%s:%s; want%s", m.Name, got, want)
		}
	}
}

// TestStagesAreTheSameOnAnyNumberOfProcessors, with several replications and a warm-up.
func TestStagesAreTheSameOnAnyNumberOfProcessors(t *testing.T) {
	const src = `
name: workers
estimate: steady
warmup: 2s
until: 12s
replications: 5
server: {cores: 2, connect: 20ms}
pool: {model: sqlx, max_connections: 4}
workload:
  arrivals: {poisson: 300/s}
  request: [acquire, query: {exponential: {mean: 5ms}}, release]
sweep: {pool.max_connections: [2, 4]}
`
	base, cells := mustLoad(t, src, scenarios.Options{})
	var want string
	for _, workers := range []int{1, 2, 5} {
		res, err := Run(context.Background(), base, cells, Options{Workers: workers, Stages: true})
		if err != nil {
			t.Fatal(err)
		}
		got := asJSON(t, res)
		if want == "" {
			want = got
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("with %d workers:\n%s", workers, d)
		}
		for i := range res.Cells {
			c := &res.Cells[i]
			if s := c.Stages; s == nil || s.All.N != c.Latency.N || s.All.Latency.Value != c.Latency.Mean.Value || len(s.Exemplars) != 5 {
				t.Errorf("%s: stages %+v, latency %+v", c.Settings, s, c.Latency)
			}
		}
		read, err := record.ReadResult(strings.NewReader(got))
		if err != nil {
			t.Fatal(err)
		}
		if again := asJSON(t, read); again != got {
			t.Error("a result with stages is read back as another")
		}
	}
}

// TestStagesOfBuiltIns: asking where the time went changes no other figure, and the two agree.
func TestStagesOfBuiltIns(t *testing.T) {
	for _, info := range scenarios.List() {
		src, err := scenarios.Open(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		_, cells, err := scenarios.Load(info.Name, src, scenarios.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cells {
			if i > 0 && i < len(cells)-1 {
				continue
			}
			without, with := oneRun(t, c, Options{}), oneRun(t, c, Options{Stages: true})
			s := with.Stages
			with.Stages = nil
			name := fmt.Sprint(info.Name, " ", c.Settings)
			if d := cmp.Diff(toJSON(t, without), toJSON(t, with)); d != "" {
				t.Errorf("%s: without (-) and with (+) stages:\n%s", name, d)
			}
			var latency, failed record.Histogram
			for i := range with.Parts {
				latency.Merge(&with.Parts[i].Latency)
				failed.Merge(&with.Parts[i].Failed)
			}
			for _, of := range []struct {
				sum *record.StageSum
				h   *record.Histogram
			}{{&s.All, &latency}, {&s.Failed, &failed}} {
				if of.sum.N != of.h.N() || of.sum.N > 0 && of.sum.Latency.Duration()/time.Duration(of.sum.N) != of.h.Mean() {
					t.Errorf("%s: %d requests of %v in all, but %d of %v on the average", name, of.sum.N, of.sum.Latency.Duration(), of.h.N(), of.h.Mean())
				}
				if d := of.sum.Spent[record.StageOther].Duration(); d > 0 && len(c.Scenario.Actions) == 0 {
					t.Errorf("%s: %v are at no stage", name, d)
				}
			}
		}
	}
}

// toJSON is a replication as text.
func toJSON(t *testing.T, r *record.Run) string {
	c := record.Merge(nil, make([]string, len(r.Parts)), []*record.Run{r})
	b, err := json.MarshalIndent(&c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestStagesAgreeWithOtherFacts: in random scenarios the stages of every request add up to its latency (or the sink panics), none is
// negative, and what acquires, queries and loans say of themselves is what their stages have.
func TestStagesAgreeWithOtherFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
		maybe := func(label, s string) string {
			if rapid.Bool().Draw(t, label) {
				return s
			}
			return ""
		}
		wait := func(label string) string {
			return draw(label, "0s", "1ms", "4ms", "{exponential: {mean: 3ms}}", "{uniform: {min: 0s, max: 10ms}}")
		}
		patience := maybe("deadline", "  deadline: "+draw("for", "5ms", "20ms", "60ms")+"\n") // requests that give up leave queries running
		faults := maybe("faults", ", faults: ["+draw("fault",
			"{at: 5ms, for: 30ms, refuse: true}", "{at: 20ms, restart: true}", "{at: 20ms, terminate: 1}", "{at: 10ms, for: 20ms, slow: 3}",
			"{at: 15ms, for: 10ms, partition: true}", "{at: 0s, for: 40ms, error: true}", "{at: 3ms, for: 20ms, drop_idle: {after: 2ms}}")+"]")
		pooler := maybe("pooler", fmt.Sprintf("pooler: {mode: %s, default_pool_size: %d, client_connect: %s, round_trip: %s}\n",
			draw("mode", "session", "transaction"), rapid.IntRange(1, 3).Draw(t, "pool size"), wait("client connect"), wait("pooler round trip")))
		model := draw("model",
			"{model: none}",
			"{model: asyncio, max_size: 2, checkout_timeout: 20ms}",
			"{model: semaphore, max: 2, test_on_acquire: true, acquire_timeout: 30ms}",
			"{model: semaphore, max: 3, max_lifetime: 20ms}",
			"{model: handoff, max_total: 2, validate: always, acquire_timeout: 40ms, wake_delay: 1ms}",
			"{model: handoff, max_total: 2, max_lifetime: 15ms, reset: false}",
			"{model: sqlx, max_connections: 2, acquire_timeout: 50ms}",
			"{model: sqlx, max_connections: 3, after_connect: {takes: 2ms, error_probability: 30%}, before_acquire: {takes: 1ms, false_probability: 30%}}",
		)
		program := draw("program",
			"acquire, query: X, release",
			"acquire, query: X, call: Y, query: {phases: [{cpu: 2ms}, {io: 3ms}, {cpu: 1ms}]}, discard, call: Y",
			"call: Y, acquire, query: X, fail: 30%, release",
			"acquire, call: Y, {do: [query: X], chance: 50%}, release, acquire: {try: true}, query: X, release",
		)
		nested := rapid.IntRange(0, 4).Draw(t, "nested") == 0
		if nested {
			program = "acquire, query: X, acquire, call: Y, query: X, release, call: Y, release"
			patience = "  deadline: 60ms\n" // or they wait for each other
		}
		program = strings.ReplaceAll(strings.ReplaceAll(program, "X", wait("query")), "Y", wait("call"))
		source := draw("source", "clients: 4\n  repeat: 6", "arrivals: {poisson: 300/s}\n  limit: 25", "arrivals: {bursts: {size: 6, every: 20ms, count: 4}}")
		src := fmt.Sprintf("name: random\nseed: %d\nuntil: drained\nserver: {connect: %s, ping: %s, close: %s, round_trip: %s, cores: %d, discipline: %s%s}\n%spool: %s\nworkload:\n  %s\n%s%s  request: [%s]\n",
			rapid.Uint64().Draw(t, "seed"), wait("connect"), wait("ping"), wait("close"), wait("round trip"), rapid.IntRange(1, 3).Draw(t, "cores"),
			draw("discipline", "fifo", "sharing"), faults, pooler, model, source, patience,
			maybe("retry", "  retry: {attempts: 3, backoff: 4ms}\n"), program)
		_, cells, err := scenarios.Load("random.yaml", []byte(src), scenarios.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		var facts story
		r, err := replicate(context.Background(), cells[0], job{}, Options{Stages: true, Trace: func([]string) record.Sink { return &facts }})
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if r.Parts[0].Requests.Unfinished > 0 { // they wait for what never comes
			return
		}
		s := r.Stages
		of := func(stages ...record.Stage) (sum time.Duration) {
			for _, st := range stages {
				all, failed := s.All.Spent[st].Duration(), s.Failed.Spent[st].Duration()
				if all < 0 || failed < 0 {
					t.Fatalf("%v: %v and %v\n%s", st, all, failed, src)
				}
				sum += all + failed
			}
			return sum
		}
		took := func(kind record.FactKind) (sum time.Duration) {
			for _, f := range facts.of(kind) {
				sum += f.Took
			}
			return sum
		}
		agree := func(what string, stages, facts time.Duration) {
			if stages != facts {
				t.Fatalf("%s: %v by the stages, %v by the facts\nserved: %s\nfailed: %s\n%s", what, stages, facts, split(&s.All), split(&s.Failed), src)
			}
		}
		agree("latency", s.All.Latency.Duration()+s.Failed.Latency.Duration(), took(record.RequestEnded))
		agree("acquires", of(record.StageWait, record.StageConnect, record.StageCheck), took(record.AcquireEnded))
		agree("at no stage", of(record.StageOther), 0)
		gaveUp := patience != ""
		if !gaveUp && pooler == "" && !strings.Contains(model, "asyncio") {
			agree("queries", of(record.StageQueue, record.StageRunning), took(record.QueryEnded))
			if faults == "" {
				agree("queue", of(record.StageQueue), took(record.QueryBegan))
			}
		}
		if !nested {
			agree("loans", of(record.StageKept, record.StageQueue, record.StageRunning, record.StagePooler), took(record.Returned))
		}
		for _, e := range s.Exemplars {
			sum := e.Rest
			for _, span := range e.Course {
				sum += span.For
			}
			if sum != e.Latency {
				t.Fatalf("the course of request %d takes %v, it %v\n%s", e.Request, sum, e.Latency, src)
			}
		}
	})
}

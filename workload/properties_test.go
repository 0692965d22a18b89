package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// drawSteps draws a sequence of steps that returns what it acquires, with at most depth connections held at once, perhaps for
// requests that run on threads.
func drawSteps(t *rapid.T, held, depth int, nested, threads bool) []Step {
	times := rapid.Custom(func(t *rapid.T) dist.Distribution {
		d := time.Duration(rapid.IntRange(0, 20).Draw(t, "ms")) * time.Millisecond
		if rapid.Bool().Draw(t, "constant") {
			return dist.Fixed(d)
		}
		return dist.Distribution{Uniform: &dist.Uniform{Max: d + 1}}
	})
	some := rapid.SampledFrom([]dist.Probability{0, 0.1, 0.5, 1})
	chance := func(s Step) Step {
		if rapid.IntRange(0, 3).Draw(t, "always") == 0 {
			s.Chance = ptr(some.Draw(t, "chance"))
		}
		return s
	}
	var steps []Step
	base := held
	begun := make([]bool, depth+1) // by the number held
	for range rapid.IntRange(1, 6).Draw(t, "steps") {
		switch k := rapid.IntRange(0, 13).Draw(t, "op"); {
		case k == 10 && held > base:
			a := BeginTx
			if begun[held] {
				a = rapid.SampledFrom([]Act{CommitTx, RollbackTx}).Draw(t, "end")
			}
			begun[held] = !begun[held]
			steps = append(steps, Step{Act: &a})
		case k == 11 && held > 0:
			steps = append(steps, Step{Dirty: ptr(Dirt(rapid.IntRange(0, 1).Draw(t, "dirt")))})
		case k == 12 && held > 0:
			q := query(1)
			q.CancelAfter = ptr(dist.Fixed(time.Duration(rapid.IntRange(0, 20).Draw(t, "cancel")) * time.Millisecond))
			steps = append(steps, q)
		case k == 13 && threads:
			steps = append(steps, Step{Act: ptr(SwitchThread)})
		case k <= 1 && held < depth:
			a := &Acquire{Try: rapid.IntRange(0, 5).Draw(t, "try") == 0}
			if !a.Try && rapid.Bool().Draw(t, "limited") {
				a.Timeout = ptr(time.Duration(rapid.IntRange(1, 30).Draw(t, "timeout")) * time.Millisecond)
			}
			steps = append(steps, Step{Acquire: a})
			held++
		case k == 2 && held > base:
			steps = append(steps, returnStep(Return(rapid.IntRange(0, int(Leak)).Draw(t, "how"))))
			begun[held] = false
			held--
		case k <= 4 && held > 0:
			steps = append(steps, chance(query(1)))
		case k == 5 && held > 0:
			steps = append(steps, Step{Leak: ptr(some.Draw(t, "leak"))})
		case k == 6:
			steps = append(steps, Step{Fail: ptr(some.Draw(t, "fail") / 4)})
		case k == 7:
			steps = append(steps, chance(Step{Cancel: &Cancel{After: dist.Fixed(time.Duration(rapid.IntRange(0, 30).Draw(t, "after")) * time.Millisecond)}}))
		case k == 8 && !nested:
			steps = append(steps, chance(Step{Do: drawSteps(t, held, depth, true, threads)}))
		default:
			steps = append(steps, chance(call(times.Draw(t, "call"))))
		}
	}
	for range held - base {
		steps = append(steps, returnStep(Release))
	}
	return steps
}

// drawOptions draws a valid workload that ends.
func drawOptions(t *rapid.T) Options {
	var o Options
	ms := func(name string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * time.Millisecond
	}
	switch rapid.IntRange(0, 4).Draw(t, "source") {
	case 0, 1:
		o.Clients = ptr(rapid.IntRange(1, 5).Draw(t, "clients"))
		o.Repeat = ptr(rapid.Int64Range(1, 5).Draw(t, "repeat"))
		o.Think = dist.Fixed(ms("think", 0, 3))
		o.Stagger = dist.Distribution{Uniform: &dist.Uniform{Max: ms("stagger", 0, 30)}}
	case 2, 3:
		a := drawArrivals(t)
		o.Arrivals = &a
		o.Limit = ptr(rapid.Int64Range(1, 20).Draw(t, "limit"))
	default:
		for range rapid.IntRange(1, 9).Draw(t, "entries") {
			s := Scripted{
				At: ms("at", 0, 50), Op: ScriptOp(rapid.IntRange(0, 1).Draw(t, "op")), Hold: ms("hold", 0, 20),
				Then: Return(rapid.IntRange(0, int(Leak)).Draw(t, "then")),
			}
			if s.Op == AcquireOp && rapid.Bool().Draw(t, "limited") {
				s.Timeout = ptr(ms("timeout", 1, 20))
			}
			if rapid.Bool().Draw(t, "cancel") {
				s.CancelAt = ptr(s.At + ms("cancel", 0, 20))
			}
			o.Script = append(o.Script, s)
		}
		return o
	}
	if rapid.Bool().Draw(t, "deadline") {
		o.Deadline = ptr(ms("deadline", 1, 60))
	}
	if rapid.Bool().Draw(t, "has threads") {
		o.Threads = ptr(rapid.IntRange(1, 4).Draw(t, "threads"))
	}
	o.Request = drawSteps(t, 0, 3, false, o.Threads != nil)
	if rapid.Bool().Draw(t, "retry") {
		o.Retry = &Retry{Attempts: rapid.IntRange(2, 3).Draw(t, "attempts"), Backoff: ms("backoff", 0, 10), Jitter: 0.5}
	}
	return o
}

// TestEveryRequestEnds runs random workloads against pools and servers that fail at random, and holds the driver to its
// promises: each request begins once and ends once, within its attempts and its deadline; queries have numbers of their own;
// everything is given back but what was leaked; no slot is lost; the end is told once, at the end. The pool and the server
// check how they are used.
func TestEveryRequestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		o.Validate(func(path, message string) { t.Fatalf("%s: %s", path, message) })
		seed := rapid.Uint64().Draw(t, "seed")
		w := newWorld(o, seed)
		w.pool.size = rapid.IntRange(0, 4).Draw(t, "size")
		if rapid.Bool().Draw(t, "stateful") {
			w.driver.env.Pool = statefulPool{w.pool}
		}
		w.pool.timeout = time.Second
		w.pool.asleep = rapid.Bool().Draw(t, "asleep")
		w.pool.bare = rapid.IntRange(0, 3).Draw(t, "bare") == 0
		w.pool.grant = time.Duration(rapid.IntRange(0, 5).Draw(t, "grant")) * time.Millisecond
		w.pool.slow = time.Duration(rapid.IntRange(0, 5).Draw(t, "slow")) * time.Millisecond
		luck := sim.NewStream(seed, "failures")
		w.pool.refuse = func(n int, _ pool.Request) record.Outcome {
			if r := luck.At(int64(n)); r.Below(5) == 0 {
				return record.CreateFailed
			}
			return record.OK
		}
		w.pool.reject = func(c pool.Conn) bool { r := luck.At(int64(w.sim.Now()) + int64(c)); return r.Below(20) == 0 }
		w.server.takes = func(number int64) (time.Duration, record.Outcome) {
			r := luck.At(-1 - number)
			outcomes := [...]record.Outcome{record.OK, record.OK, record.OK, record.ConnectionReset, record.QueryCancelled}
			return time.Duration(r.Below(20)) * time.Millisecond, outcomes[r.Below(len(outcomes))]
		}
		if rapid.IntRange(0, 3).Draw(t, "stopped") == 0 {
			at := sim.Time(rapid.IntRange(0, 100).Draw(t, "stop")) * sim.Time(time.Millisecond)
			w.sim.At(at, sim.Event{To: w.sim.Add(stopper{w})})
		}
		w.driver.Start()
		w.sim.Run(sim.Forever)

		began, ended, retried := map[int64]sim.Time{}, map[int64]bool{}, map[int64]int{}
		for _, f := range w.facts {
			switch f.Kind {
			case record.RequestBegan:
				if _, twice := began[f.Request]; twice {
					t.Fatalf("request %d begins twice", f.Request)
				}
				began[f.Request] = f.At
				continue
			case record.RequestEnded:
				if ended[f.Request] {
					t.Fatalf("request %d ends twice", f.Request)
				}
				ended[f.Request] = true
			case record.RequestRetry:
				if ended[f.Request] {
					t.Fatalf("request %d goes on after its end", f.Request)
				}
				retried[f.Request]++
			case record.QuerySent, record.ThreadWanted, record.CallBegan:
				if at, ok := began[f.Request]; !ok || ended[f.Request] || f.At < at {
					t.Fatalf("%v of request %d, which does not go on", f.Kind, f.Request)
				}
				continue
			}
			if at, ok := began[f.Request]; !ok || f.At.Sub(at) != f.Took {
				t.Fatalf("%v of request %d, which began at %v, says that it took %v", f.Kind, f.Request, at, f.Took)
			}
			if o.Deadline != nil && f.Took > *o.Deadline {
				t.Fatalf("request %d took %v", f.Request, f.Took)
			}
		}
		if len(began) != len(ended) {
			t.Fatalf("%d requests began, %d ended\n%s", len(began), len(ended), w.text())
		}
		for n, k := range retried {
			if o.Retry == nil || k >= o.Retry.Attempts {
				t.Fatalf("request %d: %d further attempts", n, k)
			}
		}
		if want := expected(&o); want >= 0 && !w.driver.stopped && len(began) != want {
			t.Fatalf("%d requests, want %d", len(began), want)
		}
		slices.Sort(w.server.numbers)
		if n := len(w.server.numbers); len(slices.Compact(w.server.numbers)) != n {
			t.Fatal("two queries have one number")
		}
		if d := w.driver; d.threads != nil && (d.threads.busy != 0 || d.threads.queue.Len() != 0) || d.watch != nil && len(d.watch.holders) > 0 {
			t.Fatalf("threads %+v, those who hold connections %+v", d.threads, d.watch)
		}
		for s, open := range w.server.begun {
			if open && !w.pool.bare && w.pool.dirty[s] == 0 && !w.pool.spoilt(s) {
				t.Fatalf("session %d was given back in a transaction, and nobody knows\n%s", s, w.text())
			}
		}
		if w.held() != 0 || !w.vacant() || w.done != 1 {
			t.Fatalf("%d connections held, slots vacant: %v, done told %d times\n%s", w.held(), w.vacant(), w.done, w.text())
		}
	})
}

// expected returns how many requests a workload makes, -1 if that hangs on its arrivals.
func expected(o *Options) int {
	switch {
	case o.Clients != nil:
		return *o.Clients * int(*o.Repeat)
	case o.Script != nil:
		return len(o.Script)
	case o.Arrivals.Poisson != nil, o.Arrivals.Constant != nil, o.Arrivals.Modulated != nil:
		return int(*o.Limit)
	}
	return -1
}

// TestCommonRandomNumbers: what belongs to a request is the same whatever pool it meets: when it arrives, how long its queries
// and calls take, whether it leaks, fails, makes its slow step or takes a second connection.
func TestCommonRandomNumbers(t *testing.T) {
	exponential := func(mean time.Duration) dist.Distribution {
		return dist.Distribution{Exponential: &dist.Exponential{Mean: mean}}
	}
	request := []Step{
		acquireStep(), query(1), call(exponential(3 * time.Millisecond)),
		{Leak: ptr(dist.Probability(0.02))},
		{Fail: ptr(dist.Probability(0.2))},
		{Call: ptr(exponential(time.Millisecond)), Chance: ptr(dist.Probability(0.3))},
		{Do: []Step{acquireStep(), query(2), returnStep(Release)}, Chance: ptr(dist.Probability(0.1))},
		returnStep(Release), call(exponential(time.Millisecond)),
	}
	for name, o := range map[string]Options{
		"open":   {Arrivals: &Arrivals{Poisson: ptr(dist.Rate(500))}, Limit: ptr(int64(300)), Request: request},
		"closed": {Clients: ptr(20), Repeat: ptr(int64(15)), Think: exponential(5 * time.Millisecond), Request: request},
		"retry": {Arrivals: &Arrivals{Poisson: ptr(dist.Rate(500))}, Limit: ptr(int64(300)), Request: request,
			Retry: &Retry{Attempts: 3, Backoff: time.Millisecond, Jitter: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			stories := func(size int, grant, slow time.Duration, asleep bool) map[int64]string {
				w := newWorld(o, 3)
				calls := spyOnCalls(w.driver)
				w.pool.size, w.pool.grant, w.pool.slow, w.pool.asleep = size, grant, slow, asleep
				w.server.takes = func(number int64) (time.Duration, record.Outcome) {
					return time.Duration(number%7) * time.Millisecond, record.OK
				}
				w.driver.Start()
				w.sim.Run(sim.Forever)
				all := storiesOf(w, name != "closed")
				slices.Sort(*calls)
				all[-1] = fmt.Sprint(*calls) // whose they are is not known, but not one of them differs
				return all
			}
			want := stories(1000, 0, 0, false)
			different := 0
			for _, s := range want {
				if s != want[0] {
					different++
				}
			}
			if len(want) != 301 || different < 50 {
				t.Fatalf("%d stories, %d of them not the first: too few for a test", len(want), different)
			}
			for _, other := range []map[int64]string{
				stories(12, 0, 0, false), stories(30, 2*time.Millisecond, time.Millisecond, true), stories(300, 0, 3*time.Millisecond, false),
			} {
				if d := cmp.Diff(want, other); d != "" {
					t.Fatalf("another pool, another story (-first +other):\n%s", d)
				}
			}
		})
	}
}

// spyOnCalls notes the time of every call and think time of random length.
func spyOnCalls(d *Driver) *[]time.Duration {
	var calls []time.Duration
	if d.think.draw != nil {
		d.think.draw = spy{d.think.draw, &calls}
	}
	for i := range d.steps {
		if st := &d.steps[i]; st.op == opCall && st.wait.draw != nil {
			st.wait.draw = spy{st.wait.draw, &calls}
		}
	}
	return &calls
}

type spy struct {
	of  sim.Sampler
	saw *[]time.Duration
}

func (s spy) Sample(r *sim.Rand) time.Duration {
	d := s.of.Sample(r)
	*s.saw = append(*s.saw, d)
	return d
}

// storiesOf tells of each request what does not hang on the pool: its arrival (of an open workload), the end of each attempt,
// the numbers of its queries and the ends of its loans.
func storiesOf(w *world, arrivals bool) map[int64]string {
	stories := map[int64]string{}
	for _, f := range w.facts {
		switch f.Kind {
		case record.RequestBegan:
			if arrivals {
				stories[f.Request] += fmt.Sprint(f.At, " ")
			}
		case record.RequestRetry, record.RequestEnded:
			stories[f.Request] += f.Outcome.String() + " "
		}
	}
	for _, n := range w.server.numbers {
		stories[n/maxQueries] += fmt.Sprint("query ", n%maxQueries, " ")
	}
	for _, c := range w.pool.ends {
		stories[c.request] += fmt.Sprint(endNames[c.how], " ")
	}
	return stories
}

// TestAttemptsDrawAnew: the luck of a second attempt has nothing to do with that of the first.
func TestAttemptsDrawAnew(t *testing.T) {
	w := newWorld(Options{
		Clients: ptr(10_000), Repeat: ptr(int64(1)), Request: []Step{{Fail: ptr(dist.Probability(0.5))}},
		Retry: &Retry{Attempts: 2},
	}, 1)
	w.driver.Start()
	w.sim.Run(sim.Forever)
	retried, failed := 0.0, 0.0
	for _, f := range w.facts {
		switch {
		case f.Kind == record.RequestRetry:
			retried++
		case f.Kind == record.RequestEnded && f.Outcome == record.Failed:
			failed++
		}
	}
	near(t, "first attempts that failed", retried/10_000, 0.5, 5*0.005)
	near(t, "second attempts that failed", failed/retried, 0.5, 5*0.5/math.Sqrt(retried))
}

// TestSteadyStateAllocatesNothing: once the slots and queues have their size, requests cost no memory.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	exponential := dist.Distribution{Exponential: &dist.Exponential{Mean: time.Millisecond}}
	everything := []Step{
		acquireStep(), {Cancel: &Cancel{After: exponential}}, query(1), {Leak: ptr(dist.Probability(0.1))}, call(exponential),
		{Fail: ptr(dist.Probability(0.1))}, {Do: []Step{acquireStep(), query(1), returnStep(Discard)}, Chance: ptr(dist.Probability(0.5))},
		call(dist.Fixed(time.Millisecond)), returnStep(Release),
	}
	retry := &Retry{Attempts: 3, Backoff: time.Microsecond, Jitter: 1}
	phases := []Phase{{Rate: 1000}}
	for name, o := range map[string]Options{
		"open":       openOptions(),
		"closed":     {Clients: ptr(100), Think: dist.Fixed(time.Second), Request: openOptions().Request},
		"everything": {Clients: ptr(100), Think: exponential, Request: everything, Retry: retry, Deadline: ptr(3 * time.Millisecond)},
		"phases":     {Arrivals: &Arrivals{Phases: phases, Bursts: &Bursts{Size: 3, Every: time.Millisecond}}, Request: everything},
		"modulated": {Request: everything, Arrivals: &Arrivals{Modulated: &Modulated{States: []ModulatedState{
			{Rate: 100, MeanStay: time.Millisecond}, {Rate: 1000, MeanStay: time.Millisecond}}}}},
	} {
		s, d := newInstant(o)
		s.RunSome(sim.Forever, 500_000)
		slots := len(d.slots)
		if n := testing.AllocsPerRun(10, func() { s.RunSome(sim.Forever, 10_000) }); n != 0 {
			t.Errorf("%s: %v allocations in 10000 events", name, n)
		}
		if s.Fired() < 300_000 || len(d.slots) != slots {
			t.Errorf("%s: %d events, %d slots grew to %d", name, s.Fired(), slots, len(d.slots))
		}
	}
}

func TestEndless(t *testing.T) {
	poisson := &Arrivals{Poisson: ptr(dist.Rate(1))}
	finite := []Phase{{For: ptr(time.Second), Rate: 1}}
	for _, c := range []struct {
		o    Options
		want bool
	}{
		{Options{Clients: ptr(1)}, true},
		{Options{Clients: ptr(1), Repeat: ptr(int64(1))}, false},
		{Options{Arrivals: poisson}, true},
		{Options{Arrivals: poisson, Limit: ptr(int64(1))}, false},
		{Options{Arrivals: &Arrivals{Constant: ptr(dist.Rate(1))}}, true},
		{Options{Arrivals: &Arrivals{Modulated: &Modulated{}}}, true},
		{Options{Arrivals: &Arrivals{Phases: finite}}, false},
		{Options{Arrivals: &Arrivals{Phases: []Phase{finite[0], {Rate: 1}}}}, true},
		{Options{Arrivals: &Arrivals{Phases: finite, Bursts: &Bursts{}}}, true},
		{Options{Arrivals: &Arrivals{Phases: finite, Bursts: &Bursts{Count: ptr(int64(1))}}}, false},
		{Options{Arrivals: &Arrivals{Trace: &Trace{}}}, false},
		{Options{Script: []Scripted{{}}}, false},
		{Options{}, false},
	} {
		if got := c.o.Endless(); got != c.want {
			t.Errorf("%+v: endless %v, want %v", c.o, got, c.want)
		}
	}
}

// TestServicesDrawTheirOwn: two services of different names under one seed share no draws and no numbers of queries.
func TestServicesDrawTheirOwn(t *testing.T) {
	numbers := map[int64]string{}
	times := map[sim.Time]string{}
	for _, name := range []string{"", "api", "worker", "api/1", "api/2"} {
		o := Options{Arrivals: &Arrivals{Poisson: ptr(dist.Rate(1000))}, Limit: ptr(int64(1000)), Request: openOptions().Request}
		w := newWorld(o, 1)
		w.pool.size = 1000
		w.driver = New(Env{Sim: &w.sim, Pool: w.pool, Server: w.server, Options: &server.Options{}, Sink: w, Seed: 1, Name: name, Done: sim.Reply{To: sim.Nobody}}, o)
		w.driver.Start()
		w.sim.Run(sim.Forever)
		for _, n := range w.server.numbers {
			if n < 0 || numbers[n] != "" {
				t.Fatalf("query %d of %q is also one of %q", n, name, numbers[n])
			}
			numbers[n] = name + "."
		}
		for _, f := range w.facts {
			if f.Kind == record.RequestBegan && times[f.At] != "" {
				t.Fatalf("%q and %s both have an arrival at %v", name, times[f.At], f.At)
			}
			if f.Kind == record.RequestBegan {
				times[f.At] = fmt.Sprintf("%q", name)
			}
		}
	}
}

// TestTexts holds every word to its String and the messages to what they should list.
func TestTexts(t *testing.T) {
	for _, r := range []Return{Release, Discard, CloseOnDrop, Detach, Leak} {
		var got Return
		if err := got.UnmarshalText([]byte(r.String())); err != nil || got != r {
			t.Errorf("%v reads as %v, %v", r, got, err)
		}
		if int(r) != int(pool.End(r)) || endNames[pool.End(r)] != r.String() {
			t.Errorf("%v is not the pool's %s", r, endNames[r])
		}
	}
	for text, want := range map[string]Jitter{"full": 1, "50%": 0.5, "0.25": 0.25, "0%": 0} {
		var got Jitter
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("jitter %s is %v, %v", text, got, err)
		}
	}
	for o := range record.NumOutcomes {
		var f Failure
		err := f.UnmarshalText([]byte(o.String()))
		switch o {
		case record.OK, record.Cancelled, record.RequestTimeout, record.ClosedGracefully, record.ClosedHard, record.Dropped,
			record.Killed, record.SessionStateLeaked, record.OverReleased, record.LeakAlarm, record.FalseLeakAlarm:
			if err == nil || !strings.HasPrefix(err.Error(), "want acquire_timeout, ") || strings.Contains(err.Error(), " "+o.String()+",") {
				t.Errorf("no attempt can follow %v: %v", o, err)
			}
		default:
			if err != nil || f != Failure(o) {
				t.Errorf("%v: %v, %v", o, f, err)
			}
		}
	}
}

// FuzzText feeds any text to whatever reads text: it is read or refused, and what is read is valid and reads again.
func FuzzText(f *testing.F) {
	for _, s := range []string{"poisson", "constant", "acquire", "try_acquire", "release", "discard", "close_on_drop", "detach",
		"leak", "50%", "full", "-1%", "acquire_timeout", "ok", "killed", "1.5s\n2.5", "offset\n1\n", "1e19", "", "%"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		again := func(err error, s fmt.Stringer, read func([]byte) error) {
			if err == nil && read([]byte(s.String())) != nil {
				t.Errorf("%q reads as %v, which does not read", text, s)
			}
		}
		var sp Spacing
		again(sp.UnmarshalText(text), sp, sp.UnmarshalText)
		var op ScriptOp
		again(op.UnmarshalText(text), op, op.UnmarshalText)
		var r Return
		again(r.UnmarshalText(text), r, r.UnmarshalText)
		var fl Failure
		err := fl.UnmarshalText(text)
		if err == nil {
			again(err, fl, fl.UnmarshalText)
		}
		var j Jitter
		if err := j.UnmarshalText(text); err == nil && !(j >= 0 && j <= 1) {
			t.Errorf("jitter %q is %v", text, j)
		}
		var s Step
		if err := s.UnmarshalText(text); (err == nil) != (s.Acquire != nil || s.Return != nil) {
			t.Errorf("step %q: %+v, %v", text, s, err)
		}
		if times, err := ParseTrace(text); err == nil {
			(&Trace{File: "x", Times: times}).validate(func(path, message string) { t.Errorf("%q: %s", text, message) })
		}
	})
}

// TestQueryAlone: without a server a query takes the sum of its phases, of which each takes place by its chance.
func TestQueryAlone(t *testing.T) {
	w := alone(&server.QuerySpec{Phases: []server.Phase{
		{IO: ptr(dist.Fixed(20 * time.Millisecond))},
		{CPU: ptr(dist.Fixed(time.Millisecond)), Chance: ptr(dist.Probability(0.25))},
	}})
	const n = 100_000
	long := 0
	for i := range int64(n) {
		r := sim.NewStream(1, "alone").At(i)
		switch d := w.sample(&r); d {
		case 21 * time.Millisecond:
			long++
		case 20 * time.Millisecond:
		default:
			t.Fatalf("took %v", d)
		}
	}
	near(t, "share of the long ones", float64(long)/n, 0.25, 5*math.Sqrt(0.25*0.75/n))
}

// TestRetryPauses: exponential up to the limit, shortened at random by up to the jitter.
func TestRetryPauses(t *testing.T) {
	r := newRetries(&Retry{Attempts: 6, Backoff: 100, Factor: ptr(3.0), MaxBackoff: ptr(time.Duration(1000)), Jitter: 0.5})
	if d := cmp.Diff([]time.Duration{100, 300, 900, 1000, 1000}, r.pauses); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	least, most := time.Duration(1000), time.Duration(0)
	for i := range int64(10_000) {
		draws := sim.NewStream(1, "retry").At(i)
		d := r.pause(3, &draws)
		least, most = min(least, d), max(most, d)
	}
	if least != 500 || most < 998 || most > 1000 {
		t.Errorf("pauses of 1000 with a jitter of a half are from %d to %d", least, most)
	}
}

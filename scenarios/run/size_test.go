package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/record"
)

// sizeUp looks for the size of a scenario's pool, among the sizes of over or else the default ones.
func sizeUp(t interface {
	Helper()
	Fatal(...any)
}, src, over string, set []string, opt SizeOptions) *record.Sizing {
	t.Helper()
	base, cells, key := sizesOf(t, src, over, set)
	opt.Key = key
	if opt.Indifference == 0 {
		opt.Indifference = DefaultIndifference
	}
	r, err := Size(context.Background(), base, cells, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sizesOf(t interface {
	Helper()
	Fatal(...any)
}, src, over string, set []string) (*scenarios.Scenario, []scenarios.Cell, string) {
	t.Helper()
	o := scenarios.Options{Set: set}
	if over == "" {
		base, _, err := scenarios.Load("test.yaml", []byte(src), o)
		if err != nil {
			t.Fatal(err)
		}
		if over, err = Sizes(base); err != nil {
			t.Fatal(err)
		}
	}
	o.Over = []string{over}
	base, cells, err := scenarios.Load("test.yaml", []byte(src), o)
	if err != nil {
		t.Fatal(err)
	}
	key, _, _ := strings.Cut(over, "=")
	return base, cells, key
}

func builtIn(t *testing.T, name string) string {
	t.Helper()
	src, err := scenarios.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// used returns the size to use, 0 for none.
func used(r *record.Sizing) int {
	if r.Use == nil {
		return 0
	}
	return *r.Use
}

func relations(r *record.Sizing) map[int]record.SizeRelation {
	all := map[int]record.SizeRelation{}
	for _, z := range r.Sizes {
		all[z.Size] = z.Relation
	}
	return all
}

// TestSizeOfTheLab: the knee is where every core has a connection, from there to the server's limit all pools are alike, and beyond
// it connections are refused. With another number of cores it is there.
func TestSizeOfTheLab(t *testing.T) {
	for _, cores := range []int{3, 4, 7, 8} {
		set := []string{fmt.Sprintf("server.cores=%d", cores)}
		r := sizeUp(t, builtIn(t, "lab-no-overhead"), "", set, SizeOptions{})
		if used(r) != cores || r.Knee.Size != cores || r.Verdict != record.Passed || r.Basis != record.ByKnee {
			t.Errorf("%d cores: use %d, knee %+v, %s by %s", cores, used(r), r.Knee, r.Verdict, r.Basis)
		}
		if r.RefusedFrom == nil || *r.RefusedFrom != 21 {
			t.Errorf("%d cores: refused from %v, want 21", cores, r.RefusedFrom)
		}
		for size, relation := range relations(r) {
			want := record.SizeAlike
			switch {
			case size < cores:
				want = record.SizeWorse
			case size == cores:
				want = record.SizeUsed
			case size > 20:
				want = record.SizeRefused
			}
			if relation != want {
				t.Errorf("%d cores: size %d is %s, want %s", cores, size, relation, want)
			}
		}
		if n := len(r.Sizes); r.Search.Method != record.SearchBisection || n > 12 || r.Search.Sizes != 22 || r.Search.Replications != n*DefaultMinReplications {
			t.Errorf("%d cores: %d sizes, %+v", cores, n, r.Search)
		}
		// 400 queries of 5 ms after a connect of 20 ms: so much less throughput has one connection fewer.
		took := func(n int) float64 { return 20 + math.Ceil(400/float64(n))*5 }
		if got, want := r.Knee.BelowShare.Value, took(cores)/took(cores-1); r.Knee.Below != cores-1 || math.Abs(got-want) > 0.01 {
			t.Errorf("%d cores: %d below the knee with %v of the throughput, want %v", cores, r.Knee.Below, got, want)
		}
	}
}

// mmc is a queue that Erlang's formula is about: Poisson arrivals, exponential holds, as many servers as connections.
const mmc = `
name: mmc
estimate: steady
until: 60s
warmup: 5s
pool: {model: semaphore, max: 4}
workload:
  arrivals: {poisson: 200/s}
  request: [acquire, query: {exponential: {mean: 20ms}}, release]
`

// erlangC is the probability of a wait among c servers that are offered a erlangs, by the sums of its definition.
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0 // a^k/k!
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	last := term * float64(c) / (float64(c) - a)
	return last / (sum + last)
}

// TestSizeOfAnErlangQueue: the smallest number of connections that meets a limit of the wait is the one that Erlang's formula
// gives, here for limits half-way (geometrically) between the waits of neighbours.
func TestSizeOfAnErlangQueue(t *testing.T) {
	const load, hold = 4.0, 20.0 // erlangs, ms
	mean := func(c int) float64 { return erlangC(c, load) * hold / (float64(c) - load) }
	p99 := func(c int) float64 { return math.Log(100*erlangC(c, load)) * hold / (float64(c) - load) } // P(wait > t) = C e^(-(c-load) t/hold)
	for _, c := range []struct {
		check string
		of    func(c int) float64
		want  int
	}{
		{"avg{wait}", mean, 6}, {"p(99){wait}", p99, 7},
	} {
		limit := math.Sqrt(c.of(c.want-1) * c.of(c.want))
		check := fmt.Sprintf("%s<%.3fms", c.check, limit)
		r := sizeUp(t, mmc, "pool.max=1..16", []string{fmt.Sprintf("checks=[%q]", check)}, SizeOptions{})
		if used(r) != c.want || r.Verdict != record.Passed || r.Basis != record.ByChecks {
			t.Errorf("%s: use %d (%s), want %d", check, used(r), r.Verdict, c.want)
			continue
		}
		if r.Below == nil || r.Below.Size != c.want-1 || r.Below.Check.Expr != check || r.Below.Check.Status != record.FailedCheck {
			t.Errorf("%s: below %+v, want %d to miss it", check, r.Below, c.want-1)
		}
		if e := r.ErlangC; e == nil || e.Servers != c.want || e.Wrong || math.Abs(e.Load.Value-load) > 0.1 || math.Abs(float64(e.Wait.Value)/1e6-mean(c.want)) > 0.1*mean(c.want) {
			t.Errorf("%s: Erlang C %+v, want right, load %v, wait %v ms", check, e, load, mean(c.want))
		}
		if k := len(r.Sizes); k > 10 {
			t.Errorf("%s: %d of 16 sizes were run", check, k)
		}
	}
}

// TestErlangWait: by the recursion as by the sums.
func TestErlangWait(t *testing.T) {
	for c := 1; c < 60; c++ {
		for _, load := range []float64{0.1, 0.5 * float64(c), 0.97 * float64(c)} {
			got, ok := erlangWait(c, load, 1000)
			if want := erlangC(c, load) * 1000 / (float64(c) - load); !ok || math.Abs(got-want) > 1e-9*want {
				t.Errorf("%d servers, %v erlangs: %v, want %v", c, load, got, want)
			}
		}
		if _, ok := erlangWait(c, float64(c), 1000); ok {
			t.Errorf("%d servers are enough for %d erlangs", c, c)
		}
	}
}

// TestErlangIsWrongForReasonsOfTheScenario: constant service times halve the wait, at the least; a pool larger than the cores moves
// the queue into the holds. Nothing is claimed that the scenario does not have.
func TestErlangIsWrongForReasonsOfTheScenario(t *testing.T) {
	for _, c := range []struct {
		set  []string
		size int
		want []string // beginnings
	}{
		{[]string{"workload.request[1].query=20ms"}, 5, []string{"query times are constant"}},
		{[]string{"workload.arrivals={modulated: {states: [{rate: 50/s, mean_stay: 1s}, {rate: 350/s, mean_stay: 1s}]}}"}, 7, []string{"arrivals are modulated"}},
		{[]string{"workload.arrivals={constant: 200/s}"}, 5, []string{"arrivals are regular"}},
		{[]string{"server.cores=5"}, 10, []string{"a hold includes the queue for the cores: up to 10 queries share 5"}},
	} {
		r := sizeUp(t, mmc, fmt.Sprintf("pool.max=%d", c.size), append(c.set, "checks=[avg<100s]"), SizeOptions{})
		e := r.ErlangC
		if e == nil || !e.Wrong || len(e.Reasons) != len(c.want) {
			t.Errorf("%v: %+v, want the reasons %q", c.set, e, c.want)
			continue
		}
		for i, reason := range e.Reasons {
			if !strings.HasPrefix(reason, c.want[i]) {
				t.Errorf("%v: reason %q, want %q", c.set, reason, c.want[i])
			}
		}
	}
	if r := sizeUp(t, builtIn(t, "lab-no-overhead"), "pool.max=4", nil, SizeOptions{}); r.ErlangC != nil {
		t.Errorf("a closed workload has no rate of arrivals: %+v", r.ErlangC)
	}
}

// crowd has exponential queries, so that replications differ.
const crowd = `
name: crowd
until: drained
server: {cores: 4, connection_limit: 40}
pool: {model: semaphore, max: 4}
workload: {clients: 100, repeat: 10, request: [acquire, query: {exponential: {mean: 5ms}}, release]}
`

// TestNoSizeMeetsTheChecks: 100 clients with 5 ms of work each on 4 cores take 125 ms. Past the limit of the server the few that are
// served are faster, and that is no reason to use such a size.
func TestNoSizeMeetsTheChecks(t *testing.T) {
	r := sizeUp(t, crowd, "", []string{`checks=["p(99)<80ms"]`}, SizeOptions{})
	if r.Use != nil || r.Verdict != record.FailedCheck || len(r.Undecided) > 0 {
		t.Errorf("use %v, %s, undecided %v", used(r), r.Verdict, r.Undecided)
	}
	if r.Closest == nil || r.Closest.Size < 4 || r.Closest.Size > 40 || r.Closest.Check.Expr != "p(99)<80ms" {
		t.Errorf("closest %+v", r.Closest)
	}
	if r.Guard != "failed_rate<=2%" || r.RefusedFrom == nil || *r.RefusedFrom != 41 {
		t.Errorf("guard %q, refused from %v", r.Guard, r.RefusedFrom)
	}
	if past := r.Of(41); past == nil || past.Checks[0].Value >= 80e6 || past.Verdict != record.FailedCheck {
		t.Errorf("past the limit: %+v", past)
	}
	// With a check about failures there is no guard.
	r = sizeUp(t, crowd, "", []string{`checks=["p(99)<80ms", "failed_rate<90%"]`}, SizeOptions{})
	if used(r) != 41 || r.Guard != "" {
		t.Errorf("use %d, guard %q: somebody who minds no failures gets them", used(r), r.Guard)
	}
}

// TestTooCloseToCall: with a limit at what size 4 has, and few replications, it cannot be told whether it will do.
func TestTooCloseToCall(t *testing.T) {
	at := sizeUp(t, crowd, "pool.max=4", []string{"checks=[avg<10s]"}, SizeOptions{}).Sizes[0].Cell.Latency.Mean.Value
	check := fmt.Sprintf(`checks=["avg<%v"]`, at+at/200)
	r := sizeUp(t, crowd, "pool.max=1,4", []string{check}, SizeOptions{Budget: 10})
	if r.Verdict != record.Inconclusive || r.Use != nil || !r.Search.Spent || r.Search.Replications != 10 {
		t.Errorf("%s: %s, use %d, %+v", check, r.Verdict, used(r), r.Search)
	}
	if d := cmp.Diff([]int{4}, r.Undecided); d != "" {
		t.Error(d)
	}
	// As few as there may be, and fewer.
	r = sizeUp(t, crowd, "pool.max=1,4", []string{check}, SizeOptions{Budget: 4})
	if r.Verdict != record.Inconclusive || r.Search.Replications != 4 {
		t.Errorf("%s, %+v", r.Verdict, r.Search)
	}
	base, cells, key := sizesOf(t, crowd, "pool.max=1,4", nil)
	if _, err := Size(context.Background(), base, cells, SizeOptions{Key: key, Budget: 3}); err == nil || !strings.Contains(err.Error(), "budget of 3") {
		t.Errorf("error %v", err)
	}
}

// TestUndecidedSizesAreNamed: size 3 misses the limit by far, size 4 is at it, and 8 meets it.
func TestUndecidedSizesAreNamed(t *testing.T) {
	src := strings.Replace(crowd, "cores: 4", "cores: 8", 1)
	at := sizeUp(t, src, "pool.max=4", []string{"checks=[avg<10s]"}, SizeOptions{MinReplications: 40}).Sizes[0].Cell.Latency.Mean.Value
	r := sizeUp(t, src, "pool.max=3,4,8", []string{fmt.Sprintf(`checks=["avg<%v"]`, at)}, SizeOptions{})
	if used(r) != 8 || r.Verdict != record.Passed || r.Below == nil || r.Below.Size != 3 || len(r.Undecided) != 1 || r.Undecided[0] != 4 {
		t.Errorf("use %d, %s, below %+v, undecided %v", used(r), r.Verdict, r.Below, r.Undecided)
	}
	if n := r.Of(4).Cell.Replications; n != DefaultSizeMaximum {
		t.Errorf("%d replications of the size that is in question, want as many as there may be", n)
	}
}

// TestHalvingFindsWhatRunningAllDoes: without luck, the smallest size that meets a check is found whatever cores and limits are.
func TestHalvingFindsWhatRunningAllDoes(t *testing.T) {
	for _, cores := range []int{1, 4, 17, 30} {
		src := fmt.Sprintf(`
name: exact
until: drained
server: {cores: %d, connection_limit: 25, connect: 7ms}
pool: {model: semaphore, max: 4}
workload: {clients: 40, repeat: 2, request: [acquire, query: 5ms, release]}
`, cores)
		all := mustRunAll(t, src, "pool.max=1..28")
		best := time.Duration(math.MaxInt64)
		for _, c := range all.Cells {
			if c.Requests.Failed == 0 {
				best = min(best, c.Latency.Max.Value)
			}
		}
		for _, percent := range []time.Duration{90, 100, 135, 300} {
			limit := best * percent / 100
			want := 0
			for _, c := range all.Cells {
				if c.Requests.Failed == 0 && c.Latency.Max.Value <= limit {
					want, _ = record.SizeOf(c.Settings, "pool.max")
					break
				}
			}
			r := sizeUp(t, src, "pool.max=1..28", []string{fmt.Sprintf(`checks=["max<=%v", "failed<=0"]`, limit)}, SizeOptions{MinReplications: 2})
			if used(r) != want {
				t.Errorf("%d cores, limit %v: use %d (%s), want %d", cores, limit, used(r), r.Search.Why, want)
			}
		}
	}
}

func mustRunAll(t interface{ Fatal(...any) }, src, over string) *record.Result {
	base, cells, err := scenarios.Load("test.yaml", []byte(src), scenarios.Options{Over: []string{over}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(context.Background(), base, cells, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestWhereTheCurveCannotBeHalved: a figure that gets worse on its way to the limit is noticed, unless that is luck or does not
// matter.
func TestWhereTheCurveCannotBeHalved(t *testing.T) {
	for _, c := range []struct {
		name string
		avg  []time.Duration // of each size, ms; 0 for one that was not run
		want string
		next []int // sizes to run next
	}{
		{"falls", []time.Duration{90, 70, 0, 0, 0, 0, 20}, "", []int{4}},
		{"rises on the way", []time.Duration{70, 90, 0, 0, 0, 0, 20}, "avg gets worse from 1 to 2", []int{3, 4, 5, 6}},
		{"rises above the limit only", []time.Duration{90, 20, 0, 0, 25, 0, 20}, "", nil},
		{"rises over the limit", []time.Duration{90, 0, 80, 0, 85, 0, 20}, "avg gets worse from 3 to 5", []int{2, 4, 6}},
		{"no more than luck", []time.Duration{70, 71, 0, 0, 0, 0, 20}, "", []int{4}},
	} {
		k := scenarios.Check{Expr: "avg<=50ms"}
		s := &search{base: &scenarios.Scenario{}, n: make([]int, len(c.avg)), checks: []sizeCheck{{mustParse(k.Expr), k}}, alphaChecks: 0.05}
		s.opt.MaxReplications = 3
		for i, avg := range c.avg {
			s.all = append(s.all, candidate{size: i + 1})
			if avg == 0 {
				continue
			}
			var runs []*record.Run
			for _, luck := range []time.Duration{-3, 0, 3} {
				if i%2 == 0 {
					luck = -luck
				}
				r := &record.Run{End: sim.Time(time.Second), Parts: make([]record.Part, 1)}
				r.Parts[0].Requests = record.Requests{Total: 1, OK: 1}
				r.Parts[0].Latency.Record((avg + luck) * time.Millisecond)
				runs = append(runs, r)
			}
			s.all[i].cell, s.n[i] = record.Merge(nil, []string{""}, runs), 3
			s.judge(i)
		}
		t1 := s.target()
		if got := s.turns(t1); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		var next []int
		for _, w := range s.gaps() {
			if size := s.all[w.candidate].size; size < s.all[t1].size {
				next = append(next, size)
			}
		}
		slices.Sort(next)
		if d := cmp.Diff(c.next, next); d != "" {
			t.Errorf("%s: to run next (-want +got):\n%s", c.name, d)
		}
	}
}

// TestZones: the interval decides, not the value.
func TestZones(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		more   bool
		want   record.Zone
	}{
		{-2, 2, true, record.ZoneWithin}, {0, 0, false, record.ZoneWithin}, {-1, 2.5, true, record.ZoneEdge}, {-9, 9, true, record.ZoneEdge},
		{2.1, 5, true, record.ZoneBetter}, {2.1, 5, false, record.ZoneWorse}, {-5, -2.1, true, record.ZoneWorse}, {-5, -2.1, false, record.ZoneBetter},
	} {
		if got := zone(record.Float{Lo: c.lo, Hi: c.hi, Known: true}, 2, c.more); got != c.want {
			t.Errorf("%v to %v, more is better %v: %s, want %s", c.lo, c.hi, c.more, got, c.want)
		}
	}
	of := func(zones ...record.Zone) (all []record.Versus) {
		for _, z := range zones {
			all = append(all, record.Versus{Verdict: z})
		}
		return all
	}
	for _, c := range []struct {
		versus []record.Versus
		want   record.SizeRelation
	}{
		{of(record.ZoneWithin, record.ZoneWithin), record.SizeAlike},
		{of(record.ZoneWithin, record.ZoneUnknown), record.SizeAlike},
		{of(record.ZoneUnknown), record.SizeUnsettled},
		{of(record.ZoneWithin, record.ZoneEdge), record.SizeUnsettled},
		{of(record.ZoneBetter, record.ZoneEdge), record.SizeBetter},
		{of(record.ZoneWorse, record.ZoneWithin), record.SizeWorse},
		{of(record.ZoneWorse, record.ZoneBetter), record.SizeDifferent},
	} {
		if got := relation(c.versus); got != c.want {
			t.Errorf("%v: %s, want %s", c.versus, got, c.want)
		}
	}
}

// TestUSLIsRecovered: of a saturated pool on a server with contention, the fit finds the sigma and the kappa that the scenario
// sets, and where the peak is.
func TestUSLIsRecovered(t *testing.T) {
	const src = `
name: usl
estimate: steady
until: 5s
warmup: 1s
server: {contention: {sigma: 0.05, kappa: 0.004}}
pool: {model: semaphore, max: 4}
workload: {clients: 40, request: [acquire, query: {exponential: {mean: 5ms}}, release]}
`
	r := sizeUp(t, src, "pool.max=1..30", nil, SizeOptions{})
	u := r.USL
	if u == nil || !u.Fitted || u.Off.Value > 0.02 || len(u.Sizes) < 6 {
		t.Fatalf("%+v", u)
	}
	peak := math.Sqrt((1 - 0.05) / 0.004) // 15.4
	for _, c := range []struct {
		name string
		got  record.Float
		want float64
		most float64 // half width
	}{
		{"lambda", u.Lambda, 200, 15}, {"sigma", u.Sigma, 0.05, 0.02}, {"kappa", u.Kappa, 0.004, 0.0004}, {"peak", u.Peak, peak, 1},
		{"at the peak", u.AtPeak, 200 * peak / (1 + 0.05*(peak-1) + 0.004*peak*(peak-1)), 40},
	} {
		if f := c.got; !f.Known || !f.Interval || f.Lo > c.want || f.Hi < c.want || f.Hi-f.Lo > 2*c.most || f.Value < f.Lo || f.Value > f.Hi {
			t.Errorf("%s: %v (%v to %v), want %v, and no more than ±%v", c.name, f.Value, f.Lo, f.Hi, c.want, c.most)
		}
	}
	if k := used(r); k < 10 || k > 15 {
		t.Errorf("use %d: want the knee somewhat below the peak", k)
	}
	if r := sizeUp(t, src, "pool.max=1,2", nil, SizeOptions{}); r.USL == nil || r.USL.Fitted || !strings.Contains(r.USL.Why, "2 were run") {
		t.Errorf("two sizes: %+v", r.USL)
	}
	if r := sizeUp(t, crowd, "pool.max=1,2", nil, SizeOptions{}); r.USL != nil {
		t.Errorf("without contention: %+v", r.USL)
	}
}

// TestFitIsExact: of points on a law the fit is that law; of points that would need a negative sigma or kappa it has 0, and is the
// best of those.
func TestFitIsExact(t *testing.T) {
	points := func(x func(n float64) float64) (all []loadPoint) {
		for _, n := range []float64{1, 2, 4, 7, 12, 20} {
			all = append(all, loadPoint{n, []float64{x(n)}})
		}
		return all
	}
	value := func(x []float64) float64 { return x[0] }
	for _, want := range []law{{200, 0.03, 0.001}, {1000, 0, 0.01}, {50, 0.2, 0}, {7, 0, 0}} {
		got := fit(points(want.at), value)
		if math.Abs(got.lambda/want.lambda-1) > 1e-9 || math.Abs(got.sigma-want.sigma) > 1e-9 || math.Abs(got.kappa-want.kappa) > 1e-9 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	got := fit(points(func(n float64) float64 { return 10 * n * (1 + 0.01*n) }), value) // faster than in proportion
	if got.sigma != 0 || got.kappa != 0 || got.lambda < 10.1 || got.lambda > 12 {
		t.Errorf("%+v, want neither sigma nor kappa", got)
	}
}

// TestInstancesShareTheLimit is the budget of a published runbook: max_connections 200, 3 for superusers, 10 for operators, 40 for
// other services, 6 instances and 2 more during a release leave 18 for each; without the release it would be 24, which need 192.
func TestInstancesShareTheLimit(t *testing.T) {
	const src = `
name: budget
until: drained
server: {connection_limit: 200, superuser_reserved: 3, reserved: 10, roles: [{name: boss, superuser: true}, {name: jobs, limit: 12}]}
services:
  - name: api
    instances: 6
    pool: {model: semaphore, max: 4}
    workload: {clients: 2, repeat: 2, request: [acquire, query: 5ms, release]}
  - name: other
    instances: 4
    pool: {model: sqlx, max_connections: 10}
    workload: {clients: 2, repeat: 2, request: [acquire, query: 5ms, release]}
`
	r := sizeUp(t, src, "services.api.pool.max=1,2", nil, SizeOptions{Surge: 2})
	want := &record.Instances{Limit: 200, Of: "server", Superuser: 3, Reserved: 10, Others: 40, Left: 147, Instances: 6, Surge: 2, Each: 18, Without: 24}
	if d := cmp.Diff(want, r.Instances); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, c := range []struct {
		set  []string
		want *record.Instances
	}{
		{nil, &record.Instances{Limit: 200, Of: "server", Superuser: 3, Reserved: 10, Others: 40, Left: 147, Instances: 6, Each: 24, Without: 24}},
		{[]string{"services.api.role=boss"}, &record.Instances{Limit: 200, Of: "server", Others: 40, Left: 160, Instances: 6, Each: 26, Without: 26}},
		{[]string{"services.api.role=jobs"}, &record.Instances{Limit: 12, Of: "role", Left: 12, Instances: 6, Each: 2, Without: 2}},
		{[]string{"services.api.instances=1"}, nil},
		{[]string{"pooler={max_client_connections: 90}", "services.other.direct=true"}, &record.Instances{Limit: 90, Of: "pooler", Left: 90, Instances: 6, Each: 15, Without: 15}},
	} {
		if d := cmp.Diff(c.want, sizeUp(t, src, "services.api.pool.max=1,2", c.set, SizeOptions{}).Instances); d != "" {
			t.Errorf("%v: (-want +got):\n%s", c.set, d)
		}
	}

	// Sizes that do not fit at the peak are no answer: 18 each for 8 instances, and not the 24 that 6 could have.
	r = sizeUp(t, src, "services.api.pool.max=1,2,19,24", nil, SizeOptions{Surge: 2})
	if len(r.Sizes) != 2 || r.Sizes[1].Size != 2 || !strings.Contains(strings.Join(r.Warnings, "\n"), "sizes above 18 were left out (2 of them): they do not fit with 8 instances at the peak") {
		t.Errorf("%d sizes were run; warnings %q", len(r.Sizes), r.Warnings)
	}
	base, cells, key := sizesOf(t, src, "services.api.pool.max=19,24", nil)
	if _, err := Size(context.Background(), base, cells, SizeOptions{Key: key, Surge: 2}); err == nil || !strings.Contains(err.Error(), "no size fits: at the peak there are 8 instances, which can have 18 connections each") {
		t.Errorf("sizes that do not fit: %v", err)
	}
}

// twoClasses has one pool and two services.
const twoClasses = `
until: drained
services:
  - {name: b, pool_of: a, workload: {clients: 2, repeat: 1, request: [acquire, acquire, release, release]}}
  - {name: a, pool: {model: semaphore}, workload: {clients: 3, repeat: 1, request: [acquire, release]}}
`

// TestSizesToTry: from 1 to two past what the limit allows, but no more than the clients can use.
func TestSizesToTry(t *testing.T) {
	numbers := func(key string, to int) string {
		var all []string
		for i := range to {
			all = append(all, fmt.Sprint(i+1))
		}
		return key + "=" + strings.Join(all, ",")
	}
	for _, c := range []struct {
		src  string
		set  []string
		want string
	}{
		{crowd, nil, numbers("pool.max", 42)},
		{crowd, []string{"server.superuser_reserved=3"}, numbers("pool.max", 39)},
		{crowd, []string{"server.connection_limit=4000", "workload.clients=1000"}, numbers("pool.max", 256)},
		{crowd, []string{"server.connection_limit=0"}, numbers("pool.max", 16)},
		{crowd, []string{"server.connection_limit=0", "server.cores=0", "workload.clients=9"}, numbers("pool.max", 10)},
		{crowd, []string{"pool={model: sqlx}", "server.connection_limit=5"}, numbers("pool.max_connections", 7)},
		{crowd, []string{"pool={model: handoff}", "server.connection_limit=5"}, numbers("pool.max_total", 7)},
		{crowd, []string{"pool={model: asyncio}", "server.connection_limit=5"}, numbers("pool.max_size", 7)},
		{crowd, []string{"sweep={pool.max: [3, 9]}"}, "pool.max=3,9"},
		{crowd, []string{"sweep={strategy: {a: {pool.max: 3}}}", "server.connection_limit=5"}, numbers("pool.max", 7)},
		{builtIn(t, "lab-fleet-of-12"), []string{"sweep={services.app.pool.acquire_timeout: [1s]}"}, numbers("services.app.pool.max", 10)},
		// Three clients, and two that want two connections each; and the one size there is to choose, with anything at all.
		{twoClasses, nil, numbers("services.a.pool.max", 3+2*2+1)},
		{twoClasses, []string{"services.b.workload={arrivals: {poisson: 1/s}, limit: 1, request: [acquire, release]}"}, numbers("services.a.pool.max", 64)},
	} {
		base, _ := mustLoad(t, c.src, scenarios.Options{Set: c.set})
		if got, err := Sizes(base); err != nil || got != c.want {
			t.Errorf("%v: %s, %v, want %s", c.set, got, err, c.want)
		}
	}
	const two = `
until: drained
services:
  - {name: a, pool: none, workload: {clients: 1, repeat: 1, request: [acquire, release]}}
  - {name: b, pool: none, workload: {clients: 1, repeat: 1, request: [acquire, release]}}
`
	for _, c := range []struct{ src, want string }{
		{strings.Replace(crowd, "{model: semaphore, max: 4}", "none", 1), "the model none has no size"},
		{two, "2 services, and none has a pool with a size"},
		{strings.ReplaceAll(two, "pool: none", "pool: {model: sqlx}"), "--over services.a.pool.max_connections=1..20 (there are services.a.pool.max_connections and services.b.pool.max_connections)"},
		{strings.ReplaceAll(strings.Replace(two, "pool: none", "pool: {model: semaphore}", 1), "name: a", "name: a b"), "--over services[0].pool.max=1..20 (there are services[0].pool.max)"},
	} {
		base, _ := mustLoad(t, c.src, scenarios.Options{})
		if got, err := Sizes(base); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %v, want an error about %s", got, err, c.want)
		}
	}
}

// TestSizeNeedsSizes: what is swept has to be a count.
func TestSizeNeedsSizes(t *testing.T) {
	for _, over := range []string{"pool.acquire_timeout=1s,2s", "pool=none,{model: semaphore}"} {
		base, cells, key := sizesOf(t, crowd, over, nil)
		if _, err := Size(context.Background(), base, cells, SizeOptions{Key: key}); err == nil || !strings.Contains(err.Error(), "whole numbers") {
			t.Errorf("%s: error %v", over, err)
		}
	}
}

// TestSizeIsTheSameOnAnyNumberOfProcessors: what is run next is decided by what all before have measured, and not by what was
// ready first.
func TestSizeIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	var want string
	for _, workers := range []int{1, 4, 7} {
		r := sizeUp(t, crowd, "", []string{`checks=["p(99)<170ms", {expr: "avg<1ms", level: warning}]`}, SizeOptions{Options: Options{Workers: workers}})
		b, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(b)
			if used(r) == 0 {
				t.Errorf("%s: a size must be found for this to show much", r.Verdict)
			}
		}
		if d := cmp.Diff(want, string(b)); d != "" {
			t.Errorf("%d workers (-first +this):\n%s", workers, d)
		}
	}
}

// TestBudgetIsKept: whatever the budget, no more is run, and no size more often than it may.
func TestBudgetIsKept(t *testing.T) {
	for _, budget := range []int{60, 75, 110} {
		r := sizeUp(t, crowd, "", []string{`checks=["p(99)<170ms"]`, "workload.clients=40", "workload.repeat=5"}, SizeOptions{Budget: budget, MaxReplications: 12})
		n := 0
		for _, z := range r.Sizes {
			n += z.Cell.Replications
			if z.Cell.Replications > 12 {
				t.Errorf("budget %d: %d replications of %d", budget, z.Cell.Replications, z.Size)
			}
		}
		if n != r.Search.Replications || n > budget {
			t.Errorf("budget %d: %d replications, %+v", budget, n, r.Search)
		}
	}
}

// TestTheKneeMayLieBeyond: where the largest size is still the best, that is said; but not where the server's limit is in the way.
func TestTheKneeMayLieBeyond(t *testing.T) {
	for _, c := range []struct {
		over string
		want bool
	}{{"pool.max=1,2,3", true}, {"pool.max=1,2,3,4,5", false}, {"pool.max=1,3,41", false}, {"pool.max=3", false}} {
		r := sizeUp(t, crowd, c.over, nil, SizeOptions{})
		if got := len(r.Warnings) > 0; got != c.want || got && !strings.Contains(r.Warnings[0], "at the largest size, 3:") {
			t.Errorf("%s: warnings %q", c.over, r.Warnings)
		}
	}
}

func TestInterruptedSearch(t *testing.T) {
	base, cells, key := sizesOf(t, crowd, "", nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := Size(ctx, base, cells, SizeOptions{Key: key, Options: Options{Workers: 1, Progress: func(done, total int) {
		if total != DefaultSizeBudget {
			t.Errorf("%d of %d", done, total)
		}
		if done == 7 {
			cancel()
		}
	}}})
	var stopped *Interrupted
	if !errors.As(err, &stopped) || stopped.Done < 7 || stopped.Done > 8 {
		t.Errorf("error %v", err)
	}
}

// TestSizesInAnyOrder: sizes that are given in any order are searched from small to large.
func TestSizesInAnyOrder(t *testing.T) {
	r := sizeUp(t, crowd, "pool.max=8,2,4,1", nil, SizeOptions{})
	var sizes []int
	for _, z := range r.Sizes {
		sizes = append(sizes, z.Size)
		if n, _ := record.SizeOf(z.Cell.Settings, "pool.max"); n != z.Size {
			t.Errorf("the cell of %d is of %d", z.Size, n)
		}
	}
	if !slices.Equal(sizes, []int{1, 2, 4, 8}) || used(r) != 4 {
		t.Errorf("sizes %v, use %d", sizes, used(r))
	}
}

// TestSizeWhereRequestsDeadlock: fifty requests at once that need two connections each can all hold one of fifty, and not all of 51.
// Without a check the search adds its own, and halves down to the boundary.
func TestSizeWhereRequestsDeadlock(t *testing.T) {
	const src = `
name: two-each
until: drained
server: {connect: 20ms}
pool: {model: handoff, max_total: 50, acquire_timeout: 30s}
workload:
  arrivals: {bursts: {size: 50, count: 1}}
  request: [acquire, query: 5ms, acquire, query: 5ms, release, release]
`
	r := sizeUp(t, src, "pool.max_total=10..60", nil, SizeOptions{})
	if used(r) != 51 || r.Below == nil || r.Below.Size != 50 || r.Guard != "deadlocks<=0" || r.Below.Check.Expr != r.Guard {
		t.Errorf("use %d, below %+v, guard %q; want 51, 50 and no deadlock", used(r), r.Below, r.Guard)
	}
	if c := r.Clean; c == nil || c.Size != 51 || c.Below != 50 || !c.Deadlock || c.FailedRate.Value != 0.5 || c.FailedRate.Lo != 0.5 {
		t.Errorf("where failures cease: %+v", c)
	}
}

// TestSizesOfThePooler: a sweep over the size of the pooler is what there is to choose from.
func TestSizesOfThePooler(t *testing.T) {
	const src = `
name: pooled
until: 1s
pooler: {mode: transaction}
services:
  - {name: a, pool: {model: handoff}, workload: {clients: 2, request: [acquire, query: 1ms, release]}}
  - {name: b, pool: {model: handoff}, workload: {clients: 2, request: [acquire, query: 1ms, release]}}
sweep: {AXIS: [1, 2, 3]}
`
	for axis, want := range map[string]string{
		"pooler.default_pool_size": "pooler.default_pool_size=1,2,3", "services.b.pool.max_total": "services.b.pool.max_total=1,2,3",
		`"services[0].pool.max_total"`: "services[0].pool.max_total=1,2,3", "pooler.max_client_connections": "",
	} {
		base, _, err := scenarios.Load("test.yaml", []byte(strings.ReplaceAll(src, "AXIS", axis)), scenarios.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Sizes(base); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v, want %q", axis, got, err, want)
		}
	}
}

package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"poolwise/sim"
)

// TestCourses: of three pools, the last two are one service. Each service has its own levels and ends, those of all are the sums, and
// the last bin, which is open when the run ends, counts.
func TestCourses(t *testing.T) {
	r := NewRecorder(3, sim.Time(2*ms))
	r.Group([]Group{{Name: "app", First: 1, N: 2}})
	for pool, slots := range []int{4, 8, 8} {
		r.Capacity(pool, slots)
	}
	at := func(n int) sim.Time { return sim.Time(n) * sim.Time(ms) }
	r.Note(Fact{At: at(0), Kind: ConnMoved, Pool: 0, Move: Between(None, InUse)})
	r.Note(Fact{At: at(1), Kind: ConnMoved, Pool: 1, Move: Between(None, InUse)})
	r.Note(Fact{At: at(1), Kind: WaitBegan, Pool: 2})
	r.Note(Fact{At: at(1), Kind: RequestEnded, Pool: 0, Outcome: OK})
	r.Note(Fact{At: at(2), Kind: RequestEnded, Pool: 2, Outcome: AcquireTimeout})
	r.Note(Fact{At: at(2), Kind: PoolerMoved, Pool: -1, Move: Between(None, Opening)})
	r.Note(Fact{At: at(4), Kind: RequestEnded, Pool: 1, Outcome: Cancelled}) // and nothing after it

	c := Merge(nil, []string{"jobs", "app-1", "app-2"}, []*Run{r.Finish(at(4), 0, 0)})
	s := c.Curves.Levels
	if s.Bin != ms || s.End != 4*ms || s.WarmUp != 2*ms || len(s.Services) != 2 || s.Slots != 20 {
		t.Fatalf("%+v", s)
	}
	const inUse, waiting, size = 2, 3, 0
	jobs, app := &s.Services[0], &s.Services[1]
	if c.Name(jobs) != "jobs" || c.Name(app) != "app" || jobs.Slots != 4 || app.Slots != 16 {
		t.Errorf("%s has %d slots, %s %d", c.Name(jobs), jobs.Slots, c.Name(app), app.Slots)
	}
	for _, x := range []struct {
		name string
		got  []float64
		want []float64
	}{
		{"in use at jobs", jobs.Mean[inUse], []float64{1, 1, 1, 1, 1}},
		{"in use at app", app.Mean[inUse], []float64{0, 1, 1, 1, 1}},
		{"in use", s.Mean[inUse], []float64{1, 2, 2, 2, 2}},
		{"waiting at jobs", jobs.Mean[waiting], []float64{0, 0, 0, 0, 0}},
		{"waiting at app", app.Mean[waiting], []float64{0, 1, 1, 1, 1}},
		{"size of the pooler", s.Pooler.Mean[size], []float64{0, 0, 1, 1, 1}},
	} {
		if diff := cmp.Diff(x.want, x.got); diff != "" {
			t.Errorf("%s:\n%s", x.name, diff)
		}
	}
	none := Ends{}
	for _, x := range []struct {
		name string
		got  []Ends
		want []Ends
	}{
		{"of jobs", jobs.Ended, []Ends{none, {OK: 1}, none, none, none}},
		{"of app", app.Ended, []Ends{none, none, {Failed: 1}, none, {Failed: 1}}},
		{"of all", s.Ended, []Ends{none, {OK: 1}, {Failed: 1}, none, {Failed: 1}}},
	} {
		if diff := cmp.Diff(x.want, x.got); diff != "" {
			t.Errorf("ends %s:\n%s", x.name, diff)
		}
	}
}

// TestTooManyServicesHaveNoCourses, nor has a single one, which would be that of all.
func TestTooManyServicesHaveNoCourses(t *testing.T) {
	for pools, want := range map[int]int{1: 0, 2: 2, MaxCourses: MaxCourses, MaxCourses + 1: 0} {
		r := NewRecorder(pools, 0)
		r.Group(nil)
		if got := len(r.Finish(sim.Time(ms), 0, 0).Series.Services); got != want {
			t.Errorf("%d pools: %d courses, want %d", pools, got, want)
		}
	}
	r := NewRecorder(3, 0)
	r.Group([]Group{{Name: "app", N: 3}})
	if got := len(r.Finish(sim.Time(ms), 0, 0).Series.Services); got != 0 {
		t.Errorf("one service: %d courses", got)
	}
}

// TestSeriesLoseNothing: however long the run, there are at most 512 bins, which cover it, and every end is in one of them, whatever
// service it is of.
func TestSeriesLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRecorder(2, 0)
		r.Group(nil)
		var now sim.Time
		var want [2]Ends
		for range rapid.IntRange(0, 30).Draw(t, "ends") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(200*ms)).Draw(t, "after")))
			pool := rapid.Int16Range(0, 1).Draw(t, "pool")
			outcome := rapid.SampledFrom([]Outcome{OK, AcquireTimeout, Failed}).Draw(t, "outcome")
			want[pool].add(outcome)
			r.Note(Fact{At: now, Kind: RequestEnded, Pool: pool, Outcome: outcome})
		}
		s := r.Finish(now, 0, 0).Series
		sum := func(c *Course) (sum Ends) {
			for _, e := range c.Ended {
				sum.OK, sum.Failed = sum.OK+e.OK, sum.Failed+e.Failed
			}
			return sum
		}
		all := Ends{want[0].OK + want[1].OK, want[0].Failed + want[1].Failed}
		if sum(&s.Course) != all || sum(&s.Services[0]) != want[0] || sum(&s.Services[1]) != want[1] {
			t.Fatalf("%+v and %+v are counted as %+v, %+v", want[0], want[1], sum(&s.Services[0]), sum(&s.Services[1]))
		}
		n := len(s.Ended)
		if n > maxBins || len(s.Mean[0]) != n || s.Bin*time.Duration(n) < s.End {
			t.Fatalf("%d bins of %v for %v", n, s.Bin, s.End)
		}
	})
}

package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/sim"
)

func instant(ms int) sim.Time { return sim.Time(time.Duration(ms) * time.Millisecond) }

// TestArrivals: 101 arrivals 10 ms apart are 100 a second, whether or not they end before the run does; a burst at the start of a
// long run is no rate, and closed workloads have none.
func TestArrivals(t *testing.T) {
	run := func(open bool, n, gap, end int) *Run {
		r := NewRecorder(1, 0)
		for i := range n {
			r.Note(Fact{At: instant(i * gap), Kind: RequestBegan, Request: int64(i)})
		}
		run := r.Finish(instant(end), 0, 0)
		run.Parts[0].Open = open
		return run
	}
	for name, c := range map[string]struct {
		run  *Run
		want Float
	}{
		"to the end":    {run(true, 101, 10, 1000), ExactFloat(100)},
		"then they end": {run(true, 101, 10, 1900), ExactFloat(100)},
		"long before":   {run(true, 101, 10, 2100), Float{}},
		"closed":        {run(false, 101, 10, 1000), Float{}},
		"too few":       {run(true, 20, 10, 200), Float{}},
	} {
		if got := Merge(nil, []string{""}, []*Run{c.run}).Arrivals; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	// Two instances of 50 a second each, half a gap apart, are one service of 100 a second, but for the half gap.
	r := NewRecorder(2, 0)
	for i := range 200 {
		r.Note(Fact{At: instant(i * 10), Kind: RequestBegan, Request: int64(i), Pool: int16(i % 2)})
	}
	both := r.Finish(instant(2000), 0, 0)
	both.Parts[0].Open, both.Parts[1].Open = true, true
	c := Merge(nil, []string{"a", "b"}, []*Run{both})
	if c.Arrivals != ExactFloat(100) || c.Pools[0].Arrivals != ExactFloat(50) {
		t.Errorf("%+v, of one %+v", c.Arrivals, c.Pools[0].Arrivals)
	}
}

// TestWhyAcquiresTimeOut: a pool of 2 connections at four moments.
func TestWhyAcquiresTimeOut(t *testing.T) {
	move := func(at int, from, to State) Fact {
		return Fact{At: instant(at), Kind: ConnMoved, Request: -1, Move: Between(from, to)}
	}
	timeout := func(at int) Fact {
		return Fact{At: instant(at), Kind: AcquireEnded, Outcome: AcquireTimeout, Took: ms}
	}
	for name, c := range map[string]struct {
		facts []Fact
		want  Timeouts
	}{
		"both are lent":           {[]Fact{move(1, None, InUse), move(1, None, InUse), timeout(2)}, Timeouts{Held: 1}},
		"one is being checked":    {[]Fact{move(1, None, InUse), move(1, None, Checking), timeout(2)}, Timeouts{Held: 1}},
		"another is being opened": {[]Fact{move(1, None, InUse), move(1, None, Opening), timeout(2)}, Timeouts{Opening: 1}},
		"its own is given up":     {[]Fact{move(1, None, Opening), move(2, Opening, None), timeout(2)}, Timeouts{Opening: 1}},
		"one was, long ago":       {[]Fact{move(1, None, Opening), move(2, Opening, None), timeout(3)}, Timeouts{Other: 1}},
		"one is idle":             {[]Fact{move(1, None, InUse), move(1, None, Idle), timeout(2)}, Timeouts{Other: 1}},
		"in the warm-up":          {[]Fact{timeout(0)}, Timeouts{}},
		"a slot is lost": {[]Fact{move(1, None, InUse), move(1, None, InUse), {At: instant(1), Kind: Leaked},
			timeout(2)}, Timeouts{Held: 1}},
		"all slots are lost": {[]Fact{move(1, None, InUse), move(1, None, InUse), {At: instant(1), Kind: Leaked}, {At: instant(1), Kind: Leaked},
			timeout(2)}, Timeouts{Leaked: 1}},
		"both are being checked":    {[]Fact{move(1, None, Checking), move(1, None, Checking), timeout(2)}, Timeouts{Checking: 1}},
		"both are being taken back": {[]Fact{move(1, None, Returning), move(1, None, Closing), timeout(2)}, Timeouts{Returning: 1}},
	} {
		r := NewRecorder(1, instant(1))
		r.Capacity(0, 2)
		for _, f := range c.facts {
			r.Note(f)
		}
		if got := Merge(nil, []string{""}, []*Run{r.Finish(instant(4), 0, 0)}).Timeouts; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestWhyAcquiresOfAnotherTimeOut: of a part that uses the pool of another, it is that pool that counts.
func TestWhyAcquiresOfAnotherTimeOut(t *testing.T) {
	r := NewRecorder(2, 0)
	r.PoolOf([]int16{0, 0})
	r.Capacity(0, 1)
	r.Note(Fact{At: instant(1), Kind: ConnMoved, Request: -1, Move: Between(None, InUse)})
	r.Note(Fact{At: instant(2), Kind: AcquireEnded, Outcome: AcquireTimeout, Pool: 1, Took: ms})
	if got := r.Finish(instant(3), 0, 0).Parts[1].Timeouts; got != (Timeouts{Held: 1}) {
		t.Errorf("%+v", got)
	}
}

// TestGrows: a queue that grows by a quarter of what arrives is one that grows; one that fills up and stays, one that comes and
// goes, and one that grows while the pool warms up are not.
func TestGrows(t *testing.T) {
	run := func(from int, waiting func(ms int) int) bool {
		r := NewRecorder(1, instant(from))
		now := 0
		for at := range 4000 {
			r.Note(Fact{At: instant(at), Kind: RequestBegan, Request: int64(at)})
			for ; now < waiting(at); now++ {
				r.Note(Fact{At: instant(at), Kind: WaitBegan})
			}
			for ; now > waiting(at); now-- {
				r.Note(Fact{At: instant(at), Kind: WaitEnded})
			}
		}
		return r.Finish(instant(4000), 0, 0).Grows()
	}
	for name, c := range map[string]struct {
		from    int
		waiting func(ms int) int
		want    bool
	}{
		"by a quarter of what arrives":        {0, func(ms int) int { return ms / 4 }, true},
		"after the warm-up":                   {2000, func(ms int) int { return ms / 4 }, true},
		"with ups and downs":                  {0, func(ms int) int { return ms/4 + ms%300/3 }, true},
		"by a hundredth":                      {0, func(ms int) int { return ms / 100 }, false},
		"until it is full":                    {0, func(ms int) int { return min(ms/4, 300) }, false},
		"in the warm-up":                      {2000, func(ms int) int { return min(ms/4, 500) }, false},
		"not at all":                          {0, func(int) int { return 50 }, false},
		"now and then, also at the end":       {0, func(ms int) int { return ms % 1000 / 4 }, false},
		"and shrinks":                         {0, func(ms int) int { return max(1000-ms/4, 0) }, false},
		"only in a run too short to have any": {3990, func(ms int) int { return ms / 4 }, false},
	} {
		if got := run(c.from, c.waiting); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTooMuch: only what is above what there is for sure, and kept all of it busy.
func TestTooMuch(t *testing.T) {
	load := func(lo, v, hi, busy float64) Offered {
		return Offered{Load: Float{Value: v, Lo: lo, Hi: hi, Known: true, Interval: true}, Have: 4, Busy: ExactFloat(busy)}
	}
	for _, c := range []struct {
		o    Offered
		want bool
	}{
		{load(4.1, 4.5, 4.9, 0.99), true},
		{load(3.9, 4.5, 5.1, 0.99), false},
		{load(4.1, 4.5, 4.9, 0.8), false},
		{load(3, 3.5, 3.9, 1), false},
		{load(4.01, 4.01, 4.01, 1), false}, // by next to nothing
		{Offered{Have: 4, Busy: ExactFloat(1)}, false},
	} {
		if got := c.o.TooMuch(); got != c.want {
			t.Errorf("%+v: %v", c.o, got)
		}
	}
}

// TestMostOfReplications: the mean of the maxima may be no number of things; the most of them is.
func TestMostOfReplications(t *testing.T) {
	run := func(waiting int) *Run {
		r := NewRecorder(1, 0)
		for range waiting {
			r.Note(Fact{At: instant(1), Kind: WaitBegan})
		}
		return r.Finish(instant(2), 0, 0)
	}
	l := Merge(nil, []string{""}, []*Run{run(3), run(6)}).Levels.Waiting
	if l.Max.Value != 4.5 || l.Most != ExactFloat(6) {
		t.Errorf("max %+v, most %+v", l.Max, l.Most)
	}
	if l := Merge(nil, []string{""}, []*Run{run(3)}).Levels.Waiting; l.Most.Known || l.Max.Value != 3 {
		t.Errorf("of one: %+v", l)
	}
}

// TestClean: a failure is chance if none in as many is as likely, not if it is one in ten.
func TestClean(t *testing.T) {
	replicated := func(lo float64) Float { return Float{Value: 1e-4, Lo: lo, Hi: 1e-3, Known: true, Interval: true} }
	for _, c := range []struct {
		ok, failed int64
		share      Float
		want       bool
	}{
		{0, 0, Float{}, false},
		{10, 0, Float{}, true},
		{9, 1, Float{}, false},
		{1000, 1, Float{}, false},
		{2000, 1, Float{}, true},
		{100_000, 5, Float{}, true},
		{100_000, 6, Float{}, false},
		{100_000, 10, replicated(0), true},
		{100_000, 10, replicated(1e-5), false},
		{1000, 10, replicated(0), false},
	} {
		cell := Cell{Requests: Requests{Total: c.ok + c.failed, OK: c.ok, Failed: c.failed}, FailedRate: c.share}
		if got := cell.Clean(); got != c.want {
			t.Errorf("%d of %d fail, %+v: %v", c.failed, c.ok+c.failed, c.share, got)
		}
	}
}

// TestGrowthInFewReplications is chance.
func TestGrowthInFewReplications(t *testing.T) {
	for _, c := range []struct {
		n, of int
		want  []string
	}{
		{0, 5, []string{}},
		{1, 1, []string{"it grows"}},
		{1, 10, []string{"it grows (in 1 of 10 replications)"}},
		{1, 11, []string{}},
		{3, 3, []string{"it grows"}},
	} {
		runs := make([]*Run, c.of)
		for i := range runs {
			runs[i] = NewRecorder(1, 0).Finish(1, 0, 0)
			if i < c.n {
				runs[i].Growth = "it grows"
			}
		}
		if d := cmp.Diff(c.want, Merge(nil, []string{""}, runs).Warnings); d != "" {
			t.Errorf("%d of %d (-want +got):\n%s", c.n, c.of, d)
		}
	}
}

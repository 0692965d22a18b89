package run

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"poolwise/sim/record"
	"poolwise/sim/simtest"
)

// Whose turn it is among those who wait.

// shares returns how many requests of each of n clients were served.
func (s story) shares(n int) []int {
	served := make([]int, n)
	for _, f := range s.ended(record.RequestEnded, record.OK) {
		served[int(f.Request)%n]++
	}
	slices.Sort(served)
	return served
}

// TestSameTenThreads: who asks again before the woken waiter looks has the connection for good: ten have it all, 100 times a second
// each, and ninety time out every 30 s. Otherwise each has its turn after the nine rounds of the others, and throughput is the same.
func TestSameTenThreads(t *testing.T) {
	c, s := tell(t, "same-ten-threads", "woken")
	served := s.shares(100)
	if served[89] != 0 || served[90] < 11990 {
		t.Errorf("woken: served %v, want ten with 100 a second", served)
	}
	if n := c.Requests.Outcomes[record.AcquireTimeout]; n != 90*3 { // at 30, 60 and 90 s, and a little later at 120 s
		t.Errorf("woken: %d time out, want 3 times 90", n)
	}
	for label, want := range map[string]struct {
		each int
		wait time.Duration
	}{"handed over": {1200, 90 * ms}, "woken, a pause of 1 ms": {120_000 / 101, 100 * ms}} {
		fair, s := tell(t, "same-ten-threads", label)
		served := s.shares(100)
		if served[0] < want.each*9/10 || served[99] > want.each*11/10 { // now and then somebody is faster even so
			t.Errorf("%s: served %d to %d, want about %d each", label, served[0], served[99], want.each)
		}
		if fair.Requests.Failed > 0 || fair.Wait.Max.Value > want.wait+ms {
			t.Errorf("%s: %d failed, longest wait %v, want at most %v", label, fair.Requests.Failed, fair.Wait.Max.Value, want.wait)
		}
		within(t, label+": throughput", fair.Throughput.Value, c.Throughput.Value, 0.02)
	}
}

// TestPlaceLost: 90 wait, and 10 are served every 200 ms, so a round takes 1.8 s. Whoever loses five races in a row, with the share p of
// those who ask again at once, has waited for more than 10 s. The races are Poisson, with four standard deviations.
func TestPlaceLost(t *testing.T) {
	c, _ := tell(t, "place-lost", "handed over")
	if w := c.Wait.Max.Value; w != 1800*ms {
		t.Errorf("handed over: longest wait %v, want 1.8 s", w)
	}
	for label, p := range map[string]float64{"10 %, place lost": 0.1, "30 %, place lost": 0.3} {
		c, s := tell(t, "place-lost", label)
		want := float64(len(s.of(record.WaitBegan))) * math.Pow(p, 5)
		got := float64(c.Requests.Outcomes[record.AcquireTimeout])
		if math.Abs(got-want) > 4*math.Sqrt(want)+1 {
			t.Errorf("%s: %v time out, want %.1f", label, got, want)
		}
		if w := c.Wait.Max.Value; w < 4*1800*ms {
			t.Errorf("%s: longest wait %v, want rounds of 1.8 s", label, w)
		}
	}
	// Who keeps its place waits for 1 / (1 - p) as long on the average, and never for rounds.
	c, _ = tell(t, "place-lost", "30 %, place kept")
	if c.Requests.Failed > 0 || c.Wait.Max.Value > 4*time.Second {
		t.Errorf("place kept: %d failed, longest wait %v", c.Requests.Failed, c.Wait.Max.Value)
	}
	within(t, "place kept: median wait", float64(c.Wait.P50.Value), 1.8e9/0.7, 0.03)
}

// TestOrderOfWaiters: in every order the mean wait is that of M/M/10. P(W > t) is C exp(-50 t/s) first come first served; last come
// first served, who waits does so until all who came later are gone: a busy period of one server as fast as all ten.
func TestOrderOfWaiters(t *testing.T) {
	const load, arrivals, service = 9.5, 950.0, 1000.0
	c := simtest.ErlangC(10, load)
	for order, p99 := range map[string]float64{"fifo": math.Log(c/0.01) / (service - arrivals), "lifo": busyPercentile(arrivals, service, 0.01/c), "random": 0} {
		cell := &runPlain(t, "order-of-waiters", "sweep={}", "until=12m", "pool.waiters={order: "+order+"}").Cells[0]
		within(t, order+": mean wait", float64(cell.Wait.Mean.Value), 1e9*c/(service-arrivals), 0.2)
		if p99 > 0 {
			within(t, order+": p99 of wait", float64(cell.Wait.P99.Value), 1e9*p99, 0.2)
		} else if w := float64(cell.Wait.P99.Value); w < 1.3*88e6 || w > 300e6 {
			t.Errorf("%s: p99 of wait %v, want one between those of the others", order, time.Duration(w))
		}
	}
	// One in eleven is too much. In the order of arrival the rest waits for nearly as long as those who give up.
	res := runPlain(t, "order-of-waiters")
	for i := range res.Cells {
		cell := &res.Cells[i]
		if cell.Settings[0].Value == "95 %" {
			continue
		}
		label := fmt.Sprint(cell.Settings)
		within(t, label+": share of timeouts", cell.FailedRate.Value, 1-1000.0/1100, 0.03)
		p50 := cell.Wait.P50.Value
		switch order := cell.Settings[1].Value; {
		case order == "fifo" && p50 < 950*ms, order == "lifo" && p50 > 5*ms, order == "random" && (p50 < 100*ms || p50 > 500*ms):
			t.Errorf("%s: median wait %v", label, p50)
		}
	}
}

// busyPercentile returns the time, in seconds, that a busy period of M/M/1 exceeds with probability p: its jumps are those of a walk,
// and come as a Poisson process.
func busyPercentile(arrivals, service, p float64) float64 {
	const most = 3000
	rate := arrivals + service
	lasts := make([]float64, most) // with which it is not over after so many jumps
	at := make([]float64, most+2)  // with which so many are there
	at[1] = 1
	for k := range lasts {
		lasts[k] = 0
		for n := 1; n <= most; n++ {
			lasts[k] += at[n]
		}
		next := make([]float64, most+2)
		for n := 1; n <= k+1 && n <= most; n++ {
			next[n+1] += at[n] * arrivals / rate
			next[n-1] += at[n] * service / rate
		}
		next[0] = 0
		at = next
	}
	exceeds := func(t float64) (sum float64) {
		for k := range lasts {
			jumps, _ := math.Lgamma(float64(k + 1))
			sum += lasts[k] * math.Exp(float64(k)*math.Log(rate*t)-rate*t-jumps)
		}
		return sum
	}
	lo, hi := 0.0, 1.5
	for range 40 {
		if mid := (lo + hi) / 2; exceeds(mid) > p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// TestJitterRedrawn: at birth, ages are uniform from 10 s to 20 s, and up to one query of 50 ms more. Drawn at each look, 20 times a second,
// what is left y seconds after the tenth is exp(-y^2), of which the mean is half the root of pi.
func TestJitterRedrawn(t *testing.T) {
	for label, want := range map[string]struct{ mean, least, most float64 }{
		"drawn at each look": {10 + math.Sqrt(math.Pi)/2, 10, 13.5}, // exp(-3.5^2) is one in 200,000
		"drawn at birth":     {15, 10, 20.1},
		"none":               {10, 10, 10.1},
	} {
		_, s := tell(t, "jitter-redrawn", label)
		var ages []float64
		sum := 0.0
		for _, f := range s.of(record.SessionEnded) {
			ages = append(ages, f.Took.Seconds())
			sum += f.Took.Seconds()
		}
		if slices.Min(ages) < want.least || slices.Max(ages) > want.most {
			t.Errorf("%s: connections die at %.1f to %.1f s, want %v to %v", label, slices.Min(ages), slices.Max(ages), want.least, want.most)
		}
		spread := math.Sqrt(100.0/12) / math.Sqrt(float64(len(ages)))
		if mean := sum / float64(len(ages)); math.Abs(mean-0.025-want.mean) > 4*spread { // a look is up to 50 ms late
			t.Errorf("%s: connections die at %.2f s on the average, want %.2f", label, mean, want.mean)
		}
	}
}

// TestCodelDrops: one request in eleven is too much for the pool, and fails after 15 s, or after twice the target. The queue grows by a
// tenth of a second each second, so it takes 150 s to be as long as the timeout. A burst is over before an interval is.
func TestCodelDrops(t *testing.T) {
	const slack = 150 * ms // after a lull nobody is dropped in an interval of 1 s, in which the wait grows by 0.1 s
	for label, want := range map[string]struct {
		outcome record.Outcome
		after   time.Duration
	}{"timeout of 15 s": {record.AcquireTimeout, 15 * time.Second}, "target of 50 ms": {record.QueueTimeout, 100 * ms}, "target of 5 s": {record.QueueTimeout, 10 * time.Second}} {
		var ended, failed int
		least := time.Duration(math.MaxInt64)
		c := follow(t, "codel-drops", label, func(f record.Fact) {
			if f.Kind != record.AcquireEnded || f.At < 200e9 {
				return
			}
			ended++
			switch f.Outcome {
			case record.OK:
				least = min(least, f.Took)
				if f.Took > want.after+slack {
					t.Fatalf("%s: served after %v", label, f.Took)
				}
			case want.outcome:
				failed++
				if f.Took < want.after || f.Took > want.after+slack {
					t.Fatalf("%s: fails after %v", label, f.Took)
				}
			default:
				t.Fatalf("%s: %v", label, f.Outcome)
			}
		})
		within(t, label+": share that fails", float64(failed)/float64(ended), 1-1000.0/1100, 0.05)
		if w := c.Wait.P99.Value; w > want.after+10*ms {
			t.Errorf("%s: p99 of wait %v", label, w)
		}
		if want.after > time.Second && least < want.after*9/10 {
			t.Errorf("%s: somebody is served after %v, want nearly %v", label, least, want.after)
		}
	}
	c, _ := tell(t, "codel-drops", "a burst of 200")
	if c.Requests.OK != 200 || c.Makespan.Value != 200*ms {
		t.Errorf("burst: %+v in %v, want all 200 in 200 ms", c.Requests, c.Makespan.Value)
	}
}

package workload

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/sim"
	"poolwise/sim/dist"
)

// parts returns the arrivals before end of each of n instances that share a.
func parts(a Arrivals, n int, end sim.Time) [][]sim.Time {
	o := Options{Shared: true, Arrivals: &a}
	var all [][]sim.Time
	for i := range n {
		all = append(all, take(sourceOf(*o.Part(i, n).Arrivals, 1), math.MaxInt, end))
	}
	return all
}

// TestRegularArrivalsAreDealtInTurn: arrival k of what is regular is that of instance k mod n, at the time that it has anyway.
func TestRegularArrivalsAreDealtInTurn(t *testing.T) {
	const end = 10 * second
	times := []sim.Time{1, 5, 5, 8, 13, 21, 34}
	for name, a := range map[string]Arrivals{
		"constant": {Constant: ptr(dist.Rate(30))},
		"phases": {Phases: []Phase{
			{For: ptr(4 * time.Second), Rate: 12, Spacing: ConstantSpacing},
			{For: ptr(6 * time.Second), Rate: 12, To: ptr(dist.Rate(48)), Spacing: ConstantSpacing},
		}},
		"bursts": {Bursts: &Bursts{Size: 5, Every: time.Second, Offset: 300 * time.Millisecond, Count: ptr(int64(7))}},
		"trace":  {Trace: &Trace{Times: times}},
	} {
		whole := take(sourceOf(a, 1), math.MaxInt, end)
		for _, n := range []int{2, 3, 7} {
			for i, got := range parts(a, n, end) {
				var want []sim.Time
				for k := i; k < len(whole); k += n {
					want = append(want, whole[k])
				}
				if !slices.EqualFunc(got, want, func(a, b sim.Time) bool { return max(a-b, b-a) <= 1 }) {
					t.Errorf("%s, instance %d of %d: %v, want %v", name, i+1, n, got, want)
				}
			}
		}
	}
}

// TestRandomArrivalsAreThinned: with k times the instances, each request of one of them comes k times as late; together they come
// as often as before.
func TestRandomArrivalsAreThinned(t *testing.T) {
	a := Arrivals{Poisson: ptr(dist.Rate(100))}
	two, six := parts(a, 2, 100*second), parts(a, 6, 300*second)
	for k, at := range two[1] {
		if later := six[1][k]; max(3*at-later, later-3*at) > 2 {
			t.Fatalf("request %d comes at %v with 2 instances and at %v with 6, want three times that", k, at, later)
		}
	}
	modulated := Arrivals{Modulated: &Modulated{States: []ModulatedState{{50, time.Second}, {150, time.Second}}}}
	for name, a := range map[string]Arrivals{"poisson": a, "modulated": modulated} {
		n := 0
		for _, times := range parts(a, 5, 2000*second) {
			n += len(times)
		}
		// A hundred a second. The count of the modulated ones has the variance of a Poisson count, and that of 100/s times the
		// time spent in the second of two states of mean 1 s: 100^2 * 2000/4.
		near(t, name+" arrivals of all", float64(n), 200_000, 5*math.Sqrt(200_000+10_000*500))
	}
}

func TestCountsAreDivided(t *testing.T) {
	o := Options{Shared: true, Clients: ptr(11), Limit: ptr(int64(2))}
	var clients []int
	var limits []int64
	for i := range 4 {
		p := o.Part(i, 4)
		clients, limits = append(clients, *p.Clients), append(limits, *p.Limit)
	}
	if diff := cmp.Diff([]int{3, 3, 3, 2}, clients); diff != "" {
		t.Errorf("clients (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{1, 1, 0, 0}, limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	o.Shared = false
	if p := o.Part(3, 4); *p.Clients != 11 {
		t.Errorf("not shared: %d clients, want 11", *p.Clients)
	}
}

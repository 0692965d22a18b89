package run

import (
	"fmt"
	"math"
	"testing"
)

// TestSharedLoad: what a service gets does not depend on the number of its instances, and each has its share; an instance that
// has exited leaves its share unserved.
func TestSharedLoad(t *testing.T) {
	const src = `
until: 9.999s
services:
  - {name: other, pool: none, workload: {script: [{at: 0ms}]}}
  - name: api
    pool: {model: semaphore, max: 10}
    workload: {shared: true, arrivals: {constant: 120/s}, request: [acquire, query: 1ms, release]}
`
	for _, n := range []int{1, 3, 5} {
		c := mustCheck(t, src, fmt.Sprintf("services.api.instances=%d", n))
		if got := c.Requests.Total; got != 1+1200 {
			t.Errorf("%d instances: %d requests, want 1 and 1200", n, got)
		}
		for _, p := range c.Pools[1:] {
			if want := int64(1200 / n); p.Requests.Total != want {
				t.Errorf("%d instances: %s has %d requests, want %d", n, p.Name, p.Requests.Total, want)
			}
		}
	}
	c := mustCheck(t, src, "services.api.instances=3", "actions=[{at: 5s, service: api, instance: 2, do: shut_down}]")
	if got := c.Requests.Total; got != 1+1000 {
		t.Errorf("one of 3 gone at half time: %d requests, want 1 and 1000", got)
	}
	c = mustCheck(t, src, "services.api.instances=3", "until=drained",
		"services.api.workload={shared: true, clients: 7, repeat: 10, request: [acquire, query: 1ms, release]}")
	for i, want := range []int64{30, 20, 20} {
		if p := c.Pools[1+i]; p.Requests.Total != want {
			t.Errorf("7 clients: %s has %d requests, want %d", p.Name, p.Requests.Total, want)
		}
	}
}

// TestSharedStates: a service has one state at a time, and all its instances are in it.
func TestSharedStates(t *testing.T) {
	const src = `
until: 100s
services:
  - name: api
    instances: 2
    pool: none
    workload:
      shared: true
      arrivals: {modulated: {states: [{rate: 200/s, mean_stay: 10s}, {rate: 0/s, mean_stay: 10s}]}}
      request: [acquire, release]
`
	c := mustCheck(t, src)
	a, b := c.Pools[0].Requests.Total, c.Pools[1].Requests.Total
	// Two Poisson counts of one mean, which hangs on the states: the difference has the variance of the sum.
	if diff := math.Abs(float64(a - b)); diff > 5*math.Sqrt(float64(a+b)) {
		t.Errorf("%d and %d requests, want about the same", a, b)
	}
	if a < 1000 {
		t.Errorf("%d requests, want about 100 a second half of the time", a)
	}
}

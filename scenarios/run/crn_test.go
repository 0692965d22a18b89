package run

import (
	"testing"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// TestCommonRandomNumbersReduceVariance: the difference between two pool sizes varies less from seed to seed when both meet the
// same arrivals and service times than when each has luck of its own: the variance of a difference of independent values is
// the sum of both variances, and what two sizes share of their luck is taken off twice.
func TestCommonRandomNumbersReduceVariance(t *testing.T) {
	const src = `
name: two sizes
until: drained
replications: 30
pool: {model: semaphore, max: 8}
workload: {arrivals: {poisson: 1280/s}, limit: 5000, request: [acquire, query: {exponential: {mean: 5ms}}, release]}
sweep: {pool.max: [8, 9]}
`
	common := mustRun(t, src, scenarios.Options{})
	apart := mustRun(t, src, scenarios.Options{Set: []string{"seed=1000"}})
	mean, err := record.ParseFigure("avg")
	if err != nil {
		t.Fatal(err)
	}
	sample := func(res *record.Result, cell int) []float64 { return mean.Sample(&res.Cells[cell]) }
	paired := spread(minus(sample(common, 0), sample(common, 1)))
	alone := spread(minus(sample(common, 0), sample(apart, 1)))
	// Two sizes that are both busy at the same times: experience with such pairs is a factor of about three.
	if ratio := alone / paired; ratio < 2 {
		t.Errorf("common random numbers reduce the variance by a factor of %.2f, want at least 2", ratio)
	} else {
		t.Logf("variance reduced by a factor of %.1f", ratio)
	}
}

func minus(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// spread is the variance of v.
func spread(v []float64) float64 {
	var sum, squares float64
	for _, x := range v {
		sum += x
	}
	mean := sum / float64(len(v))
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	return squares / float64(len(v)-1)
}

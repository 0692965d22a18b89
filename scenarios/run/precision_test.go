package run

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

const noisy = `
name: noisy
until: drained
server: {cores: 2}
pool: {model: semaphore, max: 2}
workload:
  clients: 10
  repeat: 20
  request: [acquire, query: {exponential: {mean: 5ms}}, release]
sweep: {pool.max: [1, 4]}
`

func precise(t *testing.T, src string, set []string, opt Options) *record.Result {
	t.Helper()
	base, cells := mustLoad(t, src, scenarios.Options{Set: set})
	res, err := Run(context.Background(), base, cells, opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestReplicationsUntilExactEnough: a cell runs until its figures are exact enough and no longer, which is to say that the batch
// before was not enough, and it is then what it is with so many replications.
func TestReplicationsUntilExactEnough(t *testing.T) {
	opt := Options{Precision: 0.04, MaxReplications: 200, Workers: 1}
	res := precise(t, noisy, nil, opt)
	opt.Workers = 5
	if d := cmp.Diff(asJSON(t, res), asJSON(t, precise(t, noisy, nil, opt))); d != "" {
		t.Errorf("on five processors (-one +five):\n%s", d)
	}
	for i, c := range res.Cells {
		s := c.Stopped
		if s == nil || s.By != record.ByPrecision || s.Wanted != 0.04 || !s.Precision.Known || s.Precision.Value > 0.04 {
			t.Fatalf("cell %d: stopped %+v", i, s)
		}
		if c.Replications <= batch || c.Replications%batch != 0 || c.Replications >= 200 {
			t.Errorf("cell %d: %d replications", i, c.Replications)
		}
		plain := mustRun(t, noisy, scenarios.Options{Set: []string{fmt.Sprintf("replications=%d", c.Replications)}}).Cells[i]
		c.Stopped = nil
		if d := cmp.Diff(asJSON(t, &record.Result{Cells: []record.Cell{plain}}), asJSON(t, &record.Result{Cells: []record.Cell{c}})); d != "" {
			t.Errorf("cell %d (-with so many replications +until exact):\n%s", i, d)
		}
		if w := widest(&c); w > 0.04 {
			t.Errorf("cell %d: it ended at %v", i, w)
		}
		before := mustRun(t, noisy, scenarios.Options{Set: []string{fmt.Sprintf("replications=%d", c.Replications-batch)}}).Cells[i]
		if w := widest(&before); w <= 0.04 {
			t.Errorf("cell %d: with a batch less it was at %v already", i, w)
		}
	}
	if res.Cells[0].Replications == res.Cells[1].Replications {
		t.Error("both cells have the same number of replications: the test shows little")
	}
}

// widest returns the greater of the relative half widths of throughput and p99, by way of the variance.
func widest(c *record.Cell) float64 {
	return max(
		width(c, func(one *record.Cell) float64 { return one.Throughput.Value }),
		width(c, func(one *record.Cell) float64 { return float64(one.Latency.P99.Value) }),
	)
}

func width(c *record.Cell, of func(*record.Cell) float64) float64 {
	var v []float64
	for i := range c.Each {
		v = append(v, of(&c.Each[i]))
	}
	mean, sd := stat.MeanStdDev(v, nil)
	n := float64(len(v))
	return distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * sd / math.Sqrt(n) / mean
}

func TestReplicationsEndAtTheMaximum(t *testing.T) {
	res := precise(t, noisy, []string{"checks=[avg<1s]"}, Options{Precision: 0.0001, MinReplications: 3, MaxReplications: 12})
	for i, c := range res.Cells {
		if s := c.Stopped; c.Replications != 12 || s == nil || s.By != record.ByMaximum || s.Figure != "avg" || s.Precision.Value <= 0.0001 {
			t.Errorf("cell %d: %d replications, stopped %+v", i, c.Replications, s)
		}
	}
	if s := asJSON(t, res); !strings.Contains(s, `"by": "maximum"`) {
		t.Error("the result does not say it in JSON")
	}
}

// TestWhatIsExactAtOnce: without luck the least number of replications is enough; where nothing succeeds no number would be; and with
// luck a share that is 0 goes on until its check is decided: 3/n is below 1 % from 300 requests on.
func TestWhatIsExactAtOnce(t *testing.T) {
	const src = `
name: exact
until: drained
server: {connection_limit: 2}
pool: {model: semaphore, max: 2}
workload: {clients: 4, repeat: 2, request: [acquire: {timeout: 1s}, query: 5ms, release]}
`
	for _, c := range []struct {
		set  []string
		want int
	}{
		{[]string{"checks=[avg<1s]"}, 5},
		{[]string{"server.faults=[{at: 0s, for: 100s, refuse: true}]", "checks=[avg<1s]"}, 5},
		{[]string{"checks=[failed_rate<1%]"}, 5},
		{[]string{"workload.request[1].query={exponential: {mean: 5ms}}", "checks=[failed_rate<1%]"}, 40}, // of 8 requests each: 38 are needed
	} {
		res := precise(t, src, c.set, Options{Precision: 0.05, MaxReplications: 50})
		if got := res.Cells[0]; got.Replications != c.want || got.Stopped.By != record.ByPrecision {
			t.Errorf("%v: %d replications, %+v, want %d", c.set, got.Replications, got.Stopped, c.want)
		}
	}
}

package run

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"poolwise/scenarios"
	"poolwise/sim/record"
	"poolwise/sim/simtest"
)

// The validation ladder: queues whose behaviour is known exactly, each harder than the one before, simulated and compared.
// make validate prints the table.

// rung is one comparison of a figure with its exact value.
type rung struct {
	what   string
	figure string // of the scenario, as in a check
	exact  float64
}

// ladder lists the scenarios and what is known of them. Rates are per second, times in seconds.
var ladder = []struct {
	name     string
	scenario string
	rungs    []rung
}{
	{
		name:     "M/M/1, utilisation 0.8",
		scenario: open(1, "poisson: 160/s", "{exponential: {mean: 5ms}}", 1),
		rungs: []rung{
			{"mean wait", "avg{wait}", 1e9 * 0.8 / (200 - 160)},                    // rho / (mu - lambda)
			{"p99 of wait", "p(99){wait}", 1e9 * math.Log(0.8/0.01) / (200 - 160)}, // P(W > t) = rho exp(-(mu-lambda) t)
			{"mean latency", "avg", 1e9 / (200 - 160)},
			{"utilisation", "core_utilisation", 0.8},
		},
	},
	{
		name:     "M/M/8, utilisation 0.8",
		scenario: open(8, "poisson: 1280/s", "{exponential: {mean: 5ms}}", 8),
		rungs: []rung{
			{"mean wait", "avg{wait}", 1e9 * simtest.ErlangC(8, 6.4) / (1600 - 1280)},
			{"p99 of wait", "p(99){wait}", 1e9 * math.Log(simtest.ErlangC(8, 6.4)/0.01) / (1600 - 1280)},
			{"throughput", "throughput", 1280},
		},
	},
	{
		name: "M/M/8/8, nobody waits",
		scenario: strings.Replace(open(8, "poisson: 1280/s", "{exponential: {mean: 5ms}}", 8),
			"acquire,", "acquire: {try: true},", 1),
		rungs: []rung{
			{"share lost", "failed_rate", simtest.ErlangB(8, 6.4)},
			{"throughput", "throughput", 1280 * (1 - simtest.ErlangB(8, 6.4))},
		},
	},
	{
		name: "M/M/8 with a patience of 5 ms",
		scenario: strings.Replace(open(8, "poisson: 1280/s", "{exponential: {mean: 5ms}}", 8),
			"acquire,", "acquire: {timeout: 5ms},", 1),
		rungs: []rung{
			{"share that leaves", "failed_rate", impatient(8, 1280, 200, 0.005).leave},
			{"mean wait of those served", "avg{wait}", 1e9 * impatient(8, 1280, 200, 0.005).wait},
		},
	},
	{
		name:     "M/D/1, utilisation 0.8",
		scenario: open(1, "poisson: 160/s", "5ms", 1),
		rungs:    []rung{{"mean wait", "avg{wait}", pollaczek(160, 0.005, 0.005*0.005)}},
	},
	{
		name:     "M/G/1, lognormal service, utilisation 0.7",
		scenario: open(1, "poisson: 140/s", "{lognormal: {mean: 5ms, cv: 1.5}}", 1),
		rungs:    []rung{{"mean wait", "avg{wait}", pollaczek(140, 0.005, 0.005*0.005*(1+1.5*1.5))}},
	},
	{
		name:     "M/G/1 sharing, exponential service",
		scenario: sharing("{exponential: {mean: 5ms}}"),
		rungs:    []rung{{"mean latency", "avg", 1e9 * 0.005 / (1 - 0.7)}},
	},
	{
		name:     "M/G/1 sharing, constant service",
		scenario: sharing("5ms"),
		rungs:    []rung{{"mean latency", "avg", 1e9 * 0.005 / (1 - 0.7)}}, // insensitive: the mean is all that counts
	},
	{
		name:     "M/G/1 sharing, lognormal service",
		scenario: sharing("{lognormal: {mean: 5ms, cv: 1.5}}"),
		rungs:    []rung{{"mean latency", "avg", 1e9 * 0.005 / (1 - 0.7)}},
	},
	{
		name: "machine repair, 20 clients, 2 servers",
		scenario: `
name: machine repair
estimate: steady
until: 400s
warmup: 10s
server: {cores: 2}
pool: {model: semaphore, max: 2}
workload: {clients: 20, think: {exponential: {mean: 100ms}}, request: [acquire, query: {exponential: {mean: 15ms}}, release]}`,
		rungs: []rung{
			{"throughput", "throughput", repair(20, 2, 0.1, 0.015)},
			{"mean latency", "avg", 1e9 * (20/repair(20, 2, 0.1, 0.015) - 0.1)}, // Little's law: N = X (R + Z)
			{"utilisation", "core_utilisation", repair(20, 2, 0.1, 0.015) * 0.015 / 2},
		},
	},
}

// open is a steady scenario of an open queue: so many cores, arrivals, service, and a pool of a size.
func open(cores int, arrivals, service string, size int) string {
	return fmt.Sprintf(`
name: open queue
estimate: steady
until: 200s
warmup: 10s
server: {cores: %d}
pool: {model: semaphore, max: %d}
workload: {arrivals: {%s}, request: [acquire, query: %s, release]}`, cores, size, arrivals, service)
}

// sharing is a queue in which all requests progress at once on one core.
func sharing(service string) string {
	return strings.Replace(open(1, "poisson: 140/s", service, 100000), "cores: 1", "cores: 1, discipline: sharing", 1)
}

// pollaczek is the mean wait, in nanoseconds, of the queue M/G/1 by Pollaczek and Khinchine; second is the second moment.
func pollaczek(lambda, mean, second float64) float64 {
	return 1e9 * lambda * second / (2 * (1 - lambda*mean))
}

type leaving struct{ leave, wait float64 }

// impatient is M/M/c whose customers leave after waiting for tau. The virtual wait has an atom, at which fewer than c servers
// are busy, and a density that falls as exp(-(c mu - lambda) x) up to tau and, as nobody joins any more, exp(-c mu x) beyond
// (Gnedenko and Kovalenko 1966).
func impatient(c int, lambda, mu, tau float64) leaving {
	p, sum := 1.0, 0.0 // p is the weight of j busy servers
	for j := range c {
		if j > 0 {
			p *= lambda / mu / float64(j)
		}
		sum += p
	}
	n := float64(c)
	d := n*mu - lambda
	start := lambda * p // the density at 0
	inside := start * (1 - math.Exp(-d*tau)) / d
	beyond := start * math.Exp(-d*tau) / (n * mu)
	total := sum + inside + beyond
	moment := start * (1 - math.Exp(-d*tau)*(1+d*tau)) / (d * d)
	return leaving{leave: beyond / total, wait: moment / (sum + inside)}
}

// repair is the throughput of n clients that think for z on average and are then served by one of c servers for s on average,
// both exponential: a birth and death process.
func repair(n, c int, z, s float64) float64 {
	p, sum, x := 1.0, 0.0, 0.0
	for k := 0; k <= n; k++ {
		if k > 0 {
			p *= float64(n-k+1) / z / (float64(min(k, c)) / s)
		}
		sum += p
		x += p * float64(min(k, c)) / s
	}
	return x / sum
}

// TestValidation climbs the ladder. A figure must be within twice the half width of its 95 % interval, about four standard
// errors; the table says which are inside the interval itself.
func TestValidation(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "%-42s %-26s %12s %25s %s\n", "queue", "figure", "exact", "simulated, 95 % interval", "inside")
	inside, all := 0, 0
	for _, l := range ladder {
		res := mustRun(t, l.scenario, scenarios.Options{Set: []string{"replications=10", "seed=100"}})
		c := &res.Cells[0]
		for _, r := range l.rungs {
			f, err := record.ParseFigure(r.figure)
			if err != nil {
				t.Fatal(err)
			}
			got := f.Measure(c)
			if !got.Interval {
				t.Fatalf("%s: %s has no interval", l.name, r.what)
			}
			in := "no"
			all++
			if got.Lo <= r.exact && r.exact <= got.Hi {
				in = "yes"
				inside++
			}
			unit := 1.0
			if f.Unit() == "ns" {
				unit = 1e6
			}
			fmt.Fprintf(&table, "%-42s %-26s %12.5g %9.5g (%.5g to %.5g) %s\n", l.name, r.what+map[bool]string{true: ", ms"}[unit > 1],
				r.exact/unit, got.Value/unit, got.Lo/unit, got.Hi/unit, in)
			if half := max(got.Hi-got.Value, got.Value-got.Lo); math.Abs(got.Value-r.exact) > 2*half {
				t.Errorf("%s: %s is %.5g (%.5g to %.5g), exact %.5g", l.name, r.what, got.Value, got.Lo, got.Hi, r.exact)
			}
		}
		laws(t, l.name, c)
	}
	t.Logf("\n%s%d of %d inside; one in twenty is expected outside", table.String(), inside, all)
	// Of n independent 95 % intervals fewer than n - 1 - 3 sqrt(n/20) hold the exact value in less than one ladder of a thousand.
	if float64(inside) < float64(all)-1-3*math.Sqrt(float64(all)/20) {
		t.Errorf("%d of %d inside", inside, all)
	}
}

// laws holds what is true of every run whatever its distributions: requests are conserved; the number that waits is the rate of
// acquires times the mean wait (Little's law), and the busy cores are the throughput times the mean service (utilisation law).
func laws(t *testing.T, name string, c *record.Cell) {
	t.Helper()
	r := c.Requests
	if r.Total != r.OK+r.Failed+r.Unfinished {
		t.Errorf("%s: %d requests, of them %d ok, %d failed, %d unfinished", name, r.Total, r.OK, r.Failed, r.Unfinished)
	}
	// Those who time out wait, too: the law is for those who get their connection only where nobody fails.
	if r.Failed > 0 {
		return
	}
	wait := time.Duration(c.Wait.Mean.Value).Seconds()
	within(t, name+": number waiting by Little's law", c.Levels.Waiting.Mean.Value+1e-6, c.Throughput.Value*wait+1e-6, 0.01)
	hold := time.Duration(c.Hold.Mean.Value).Seconds()
	within(t, name+": number in use by Little's law", c.Levels.InUse.Mean.Value, c.Throughput.Value*hold, 0.01)
}

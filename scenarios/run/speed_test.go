package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// speedModel is one of the models whose speed is promised, as a scenario and as a bare loop.
type speedModel struct {
	name     string
	scenario string // %d is the number of customers, or of queries of each of 100 clients
	clients  int64  // 0 for an open model
	bare     func(seed uint64, n int64) bareResult
	most     float64 // times the bare loop
}

var speedModels = []speedModel{
	{
		name: "M1", most: 3,
		scenario: `
name: M/M/8 at 80 %%
until: drained
server: {cores: 8}
pool: {model: semaphore, max: 8}
workload:
  arrivals: {poisson: 1280/s}
  limit: %d
  request: [acquire, query: {exponential: {mean: 5ms}}, release]`,
		bare: func(seed uint64, n int64) bareResult { return bareMMc(seed, n, 8, 781250, 5e6, 0) },
	},
	{
		name: "M2", most: 4, clients: 100,
		scenario: `
name: closed
until: drained
server: {cores: 4}
pool: {model: semaphore, max: 8}
workload:
  clients: 100
  repeat: %d
  request: [acquire, query: 5ms, release]`,
		bare: func(_ uint64, n int64) bareResult { return bareClosed(n, 100, 8, 4, 5*time.Millisecond) },
	},
	{
		name: "M3", most: 3,
		scenario: `
name: M/M/8 with a timeout
until: drained
server: {cores: 8}
pool: {model: semaphore, max: 8}
workload:
  arrivals: {poisson: 1280/s}
  limit: %d
  request: [acquire: {timeout: 1s}, query: {exponential: {mean: 5ms}}, release]`,
		bare: func(seed uint64, n int64) bareResult { return bareMMc(seed, n, 8, 781250, 5e6, time.Second) },
	},
}

// run runs n customers of the model through poolwise.
func (m *speedModel) run(t testing.TB, seed uint64, n int64) *record.Result {
	if m.clients > 0 {
		n /= m.clients
	}
	base, cells := mustLoad(t, fmt.Sprintf(m.scenario, n), scenarios.Options{Set: []string{fmt.Sprint("seed=", seed)}})
	res, err := Run(context.Background(), base, cells, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// cpu returns the processor time that f takes: unlike the time on the wall, it does not grow when others use the machine.
func cpu(f func()) time.Duration {
	runtime.GC()
	now := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err)
		}
		return time.Duration(u.Utime.Nano())
	}
	start := now()
	f()
	return now() - start
}

// BenchmarkSpeed runs the bare loops and poolwise in alternation and reports the ratios, the allocations of a query and the
// memory of short and long runs.
func BenchmarkSpeed(b *testing.B) {
	const rounds, customers = 9, 1_000_000
	took := map[string]time.Duration{}
	var lines []string
	for b.Loop() {
		for i := range speedModels {
			m := &speedModels[i]
			var ratios, bare, ours []float64
			for round := range rounds {
				seed := uint64(round + 1)
				t := cpu(func() { m.bare(seed, customers) })
				u := cpu(func() { m.run(b, seed, customers) })
				bare, ours = append(bare, float64(t)/customers), append(ours, float64(u)/customers)
				ratios = append(ratios, float64(u)/float64(t))
			}
			took[m.name] = time.Duration(median(ours) * customers)
			lines = append(lines, fmt.Sprintf("%s: bare loop %5.1f ns, poolwise %5.1f ns a query; ratio %.2f (%.2f to %.2f), at most %.0f; %.4f allocations a query",
				m.name, median(bare), median(ours), median(ratios), slices.Min(ratios), slices.Max(ratios), m.most, m.allocations(b)))
			b.ReportMetric(median(ratios), m.name+"-ratio")
		}
		lines = append(lines, fmt.Sprintf("M3/M1: %.2f, at most 1.3", float64(took["M3"])/float64(took["M1"])))
		b.ReportMetric(float64(took["M3"])/float64(took["M1"]), "M3/M1")
		for _, n := range []int64{100_000, 10_000_000} {
			lines = append(lines, fmt.Sprintf("M2, %8d queries: peak memory %.1f MiB", n, float64(peakMemory(b, n))/1024))
		}
	}
	b.Log("\n" + strings.Join(lines, "\n"))
}

// BenchmarkModels runs each model alone, a query an operation: for profiles, and to compare two versions of the code.
func BenchmarkModels(b *testing.B) {
	for i := range speedModels {
		m := &speedModels[i]
		b.Run(m.name, func(b *testing.B) { m.run(b, 1, max(int64(b.N), m.clients)) })
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// allocations returns how many allocations each further query takes.
func (m *speedModel) allocations(t testing.TB) float64 {
	count := func(n int64) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m.run(t, 1, n)
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs)
	}
	const few, many = 100_000, 600_000
	count(few)
	return max(count(many)-count(few), 0) / (many - few)
}

// longRun names the environment variable that makes this test binary run that many queries and no test.
const longRun = "POOLWISE_TEST_QUERIES"

func TestMain(m *testing.M) {
	if n, err := strconv.ParseInt(os.Getenv(longRun), 10, 64); err == nil {
		speedModels[1].run(new(testing.B), 1, n)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// peakMemory returns the most memory, in KiB, that a process needs for n queries of M2.
func peakMemory(t testing.TB, n int64) int64 {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprint(longRun, "=", n), "GOGC=50")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
}

// TestMemoryDoesNotGrowWithTheRun: twenty times the queries, the same memory, give or take what the garbage collector does.
func TestMemoryDoesNotGrowWithTheRun(t *testing.T) {
	short, long := peakMemory(t, 50_000), peakMemory(t, 1_000_000)
	if float64(long) > 1.1*float64(short)+4096 {
		t.Errorf("peak memory %d KiB for 50,000 queries, %d KiB for a million", short, long)
	}
}

func TestQueriesAllocateNothing(t *testing.T) {
	for i := range speedModels {
		m := &speedModels[i]
		// Queues double now and then when they reach a new longest: hence not exactly 0.
		if n := m.allocations(t); n > 0.0005 {
			t.Errorf("%s: %.4f allocations a query", m.name, n)
		}
	}
}

// TestSpeedModelsAreRight holds both sides of the comparison to the exact answers.
func TestSpeedModelsAreRight(t *testing.T) {
	const n = 1_000_000
	// M1: Erlang C gives a mean wait of 1.4301 ms. The waits of a run this long have a standard error of about 1.5 %.
	const wait = 1.4301e6
	r := speedModels[0].bare(3, n)
	within(t, "M1 bare: mean wait", float64(r.waited)/float64(r.served), wait, 0.05)
	within(t, "M1 bare: p99 wait", float64(r.waits.ValueAtQuantile(99)), 11.95e6, 0.05)
	res := speedModels[0].run(t, 3, n)
	within(t, "M1: mean wait", float64(res.Cells[0].Wait.Mean.Value), wait, 0.05)
	within(t, "M1: p99 wait", float64(res.Cells[0].Wait.P99.Value), 11.95e6, 0.05)

	// M2: 4 cores at 5 ms each make 800 queries a second.
	r = speedModels[1].bare(1, n)
	within(t, "M2 bare: rate", float64(r.served)/float64(r.end)*1e9, 800, 1e-6)
	res = speedModels[1].run(t, 1, n)
	within(t, "M2: rate", res.Cells[0].Throughput.Value, 800, 1e-6)

	// M3 with a patience of 5 ms: 1.995 % leave, and those served waited 0.7486 ms on average.
	r = bareMMc(5, n, 8, 781250, 5e6, 5*time.Millisecond)
	within(t, "M3 bare: share that leaves", float64(r.left)/n, 0.01995, 0.05)
	within(t, "M3 bare: mean wait of those served", float64(r.waited)/float64(r.served), 0.7486e6, 0.03)
	m := speedModels[2]
	m.scenario = strings.Replace(m.scenario, "timeout: 1s", "timeout: 5ms", 1)
	res = m.run(t, 5, n)
	within(t, "M3: share that leaves", res.Cells[0].FailedRate.Value, 0.01995, 0.05)
	within(t, "M3: mean wait of those served", float64(res.Cells[0].Wait.Mean.Value), 0.7486e6, 0.03)
}

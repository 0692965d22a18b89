package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"poolwise/sim/record"
)

// service makes a service of so many requests, of which some fail, with a p99.
func service(name string, total, failed int64, p99 time.Duration) record.PoolCell {
	return record.PoolCell{
		Name: name, Requests: record.Requests{Total: total, OK: total - failed, Failed: failed}, Arrivals: record.ExactFloat(float64(total)),
		FailedRate: record.ExactFloat(float64(failed) / float64(total)), Latency: record.Summary{P99: record.Exact(p99)},
	}
}

// layouts makes a result of cells with the services; the sums are those of the greatest service.
func layouts(checks []record.Check, cells ...[]record.PoolCell) *record.Result {
	r := &record.Result{Checks: checks}
	for i, pools := range cells {
		c := record.Cell{Settings: record.Settings{{Key: "layout", Value: string(rune('a' + i))}}, Pools: pools, Latency: record.Summary{P99: record.Exact(2 * time.Second)}}
		for _, p := range pools {
			c.Requests.Total, c.Requests.OK, c.Requests.Failed = c.Requests.Total+p.Requests.Total, c.Requests.OK+p.Requests.OK, c.Requests.Failed+p.Requests.Failed
		}
		c.FailedRate, c.Arrivals = record.ExactFloat(float64(c.Requests.Failed)/float64(c.Requests.Total)), record.ExactFloat(1)
		r.Cells = append(r.Cells, c)
	}
	return r
}

// What differs is looked for in each service: in the sum it may vanish.
func TestVariantsByService(t *testing.T) {
	const ms = time.Millisecond
	slow := []record.PoolCell{service("fast", 1000, 0, 199*ms), service("report", 50, 0, 2000*ms)}
	split := []record.PoolCell{service("fast", 1000, 0, 6*ms), service("report", 50, 0, 2100*ms)}
	failing := []record.PoolCell{service("fast", 1000, 0, 6*ms), service("report", 50, 10, 2100*ms)}
	named := record.Check{Expr: "p(99){service=report}<1s", Cell: 0, Status: record.FailedCheck, Value: 2e9, Unit: "ns"}
	for name, c := range map[string]struct {
		result *record.Result
		want   string
	}{
		"the latency of one":  {layouts(nil, slow, split), "p99 of fast differs most: 199 ms at a and 6.00 ms at b."},
		"failures come first": {layouts(nil, split, failing), "Failures of report differ most: 0 % at a and 20 % at b."},
		"those that checks name": {layouts([]record.Check{named}, slow, failing),
			"Failures of report differ most: 0 % at a and 20 % at b."},
		"a check on what is alike": {layouts([]record.Check{named}, slow, split), "p99 of fast differs most: 199 ms at a and 6.00 ms at b."},
		"nothing":                  {layouts(nil, slow, slow), "the settings differ by less than 5 % in failures and latency."},
	} {
		if got := strings.Join(variantHeadline(c.result, "layout"), " "); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The last request to arrive makes the makespan of an open load, whatever the setting.
func TestMakespanOfAnOpenLoadIsNoDifference(t *testing.T) {
	cells := []*record.Cell{{Requests: record.Requests{Total: 1, OK: 1}, Makespan: record.Exact(time.Second)}, {Requests: record.Requests{Total: 1, OK: 1}, Makespan: record.Exact(2 * time.Second)}}
	if d := mostDifferent(cells, nil); d == nil || d.what != "the makespan differs most" {
		t.Errorf("of a closed load: %+v", d)
	}
	for _, c := range cells {
		c.Arrivals = record.ExactFloat(1)
	}
	if d := mostDifferent(cells, nil); d != nil {
		t.Errorf("of an open load: %s", d.what)
	}
}

// Where the settings lack different things, each is said of its own.
func TestOverloadIsSaidPerSetting(t *testing.T) {
	lacks := func(service string, load float64, have int) *record.Cell {
		return &record.Cell{Offered: []record.Offered{{Of: record.OfConnections, Service: service, Load: record.ExactFloat(load), Have: have, Busy: record.ExactFloat(1)}}}
	}
	name := func(c *record.Cell) string { return "setting " + c.Offered[0].Service }
	got := overloadedAt([]*record.Cell{lacks("fast", 21, 20), lacks("report", 19.9, 16)}, name)
	if want := "More connections are asked for than pools may have: 21 of the 20 of the pool of fast at setting fast and 19.9 of the 16 of the pool of report at setting report."; len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
	got = overloadedAt([]*record.Cell{lacks("fast", 21, 20), lacks("fast", 21, 20)}, name)
	if want := "At every setting more connections are asked for than the pool of fast may have (21, of 20)."; len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
}

// Of what fails after as long as the slowest took is said where its time went, and not of those; a deadlock comes first.
func TestWhatFailedComesFirst(t *testing.T) {
	split := func(n int64, d time.Duration, at record.Stage) record.StageSplit {
		s := record.StageSplit{N: n, Latency: record.Exact(d)}
		s.Stages[at].Share = 1
		return s
	}
	failed := split(1, time.Minute, record.StageCheck)
	c := record.Cell{
		Requests:  record.Requests{Total: 9, OK: 8, Failed: 1},
		Stages:    &record.StageCell{All: split(8, 27*time.Millisecond, record.StageConnect), Slowest: split(1, 27*time.Millisecond, record.StageConnect), Failed: &failed},
		Timeouts:  record.Timeouts{Checking: 1},
		Diagnoses: []record.Diagnosis{{Kind: record.Deadlocked, Text: "10 requests hold all 10 connections"}},
	}
	says := headline(&record.Result{Cells: []record.Cell{c}})
	if says[0] != "Deadlock: 10 requests hold all 10 connections." {
		t.Errorf("%q", says)
	}
	for _, want := range []string{"When acquires timed out, connections were being checked before they were lent.",
		"100 % of the time of the request that fails is spent checking connections before they are lent (60.0 s)."} {
		if !slices.Contains(says, want) {
			t.Errorf("%q is not in %q", want, says)
		}
	}
	failed.Latency = record.Exact(time.Millisecond)
	if says := stageHeadline(&c); len(says) != 1 || !strings.Contains(says[0], "the slowest request is spent opening connections") {
		t.Errorf("what fails at once: %q", says)
	}
}

package record

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestMetricsAreDescribed: every metric and selector has a text, and an example that is a check of it.
func TestMetricsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics() {
		e, err := ParseCheck(m.Example)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if e.metric.name != m.Name || e.Unit() != m.Unit || m.Doc == "" || seen[m.Name] {
			t.Errorf("%+v is not what describes %s", m, e)
		}
		seen[m.Name] = true
		_, err = ParseFigure(m.Name + "{service=api}")
		if m.Services != (err == nil) {
			t.Errorf("%s of a service: %v, described as %v", m.Name, err, m.Services)
		}
		for _, s := range Selectors() {
			_, err := ParseFigure(m.Name + "{" + s.Name + "}")
			_, ofService := ParseFigure(m.Name + "{" + s.Name + ",service=api}")
			if m.Selects != (err == nil) || (m.Selects && s.Services) != (ofService == nil) || s.Doc == "" {
				t.Errorf("%s{%s}: %v, %v, described as %v and %v", m.Name, s.Name, err, ofService, m.Selects, s)
			}
		}
	}
}

// TestNamesOfReports: who writes what a report or another tool calls a figure is told what a check calls it.
func TestNamesOfReports(t *testing.T) {
	for name, want := range map[string]string{
		"p99": "p(99)", "p999": "p(99.9)", "P95": "p(95)", "median": "med", "mean": "avg", "latency p99": "p(99)", "latency max": "max",
		"wait p99": "p(99){wait}", "wait_p50": "p(50){wait}", "hold mean": "avg{hold}", "connect.max": "max{connect}",
		"failed after p90": "p(90){failed_after}", "pooler wait p99": "p(99){pooler.wait}", "in use": "in_use.max", "in use mean": "in_use.mean",
		"size": "size.max", "waiting": "waiting.max", "rate": "throughput", "opened": "server.opened", "refused": "server.refused",
		"peak": "server.peak_open", "error rate": "failed_rate", "cores": "core_utilisation", "wait": "p(99){wait}",
		"pooler clients max": "pooler.clients.max", "throughputs": "throughput", "max wait": "max{wait}", "p99 latency": "p(99)",
	} {
		var e *CheckError
		if _, err := ParseCheck(name + "<1"); !errors.As(err, &e) || !strings.HasSuffix(e.Msg, "did you mean "+want+"?") {
			t.Errorf("%q: %v, want the advice %s", name, err, want)
		}
		if _, err := ParseFigure(want); err != nil {
			t.Errorf("the advice %s: %v", want, err)
		}
	}
	if _, err := ParseCheck("failed<1%"); err == nil || !strings.Contains(err.Error(), "failed_rate is the share") {
		t.Errorf("failed<1%%: %v", err)
	}
}

// TestChecksOfAPooler: a cell with a pooler has its figures, and one without has none.
func TestChecksOfAPooler(t *testing.T) {
	ms := func(n int) Duration { return Exact(time.Duration(n) * time.Millisecond) }
	c := &Cell{Replications: 2, Pooler: &PoolerCell{
		Clients: Level3{Mean: ExactFloat(1), Max: ExactFloat(2), Final: ExactFloat(3)},
		Levels: Levels{
			Waiting: Level3{Mean: ExactFloat(4), Max: ExactFloat(5), Final: ExactFloat(6)},
			Size:    Level3{Mean: ExactFloat(7), Max: ExactFloat(8), Final: ExactFloat(9)},
			InUse:   Level3{Mean: ExactFloat(10), Max: ExactFloat(11), Final: ExactFloat(12)},
		},
		Refused: 26, Timeouts: 28,
		Wait: Summary{N: 1, P99: ms(15), Mean: ms(16)}, Connect: Summary{N: 1, Max: ms(17)},
	}}
	for _, expr := range []string{
		"pooler.clients.mean==1", "pooler.clients.max==2", "pooler.clients.final==3", "pooler.waiting.mean==4", "pooler.waiting.max==5",
		"pooler.waiting.final==6", "pooler.size.mean==7", "pooler.size.max==8", "pooler.size.final==9", "pooler.in_use.mean==10",
		"pooler.in_use.max==11", "pooler.in_use.final==12", "pooler.refused==13", "pooler.timeouts==14", "p(99){pooler.wait}==15ms",
		"avg{pooler.wait}==16ms", "max{pooler.connect}==17ms",
	} {
		e, err := ParseCheck(expr)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if !e.OfPooler() {
			t.Errorf("%s is not taken for a figure of the pooler", expr)
		}
		if got := e.Evaluate(c); got.Status != Passed {
			t.Errorf("%s: %v, %v", expr, got.Status, got.Value)
		}
		if got := e.Evaluate(&Cell{Replications: 1}); got.Status != NotEvaluated {
			t.Errorf("%s without a pooler: %v, want not evaluated", expr, got.Status)
		}
	}
}

package record

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseCheckWritesBack(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"p(99)<50ms", "p(99)<50ms"},
		{" p(99.9) { wait } >= 1.5s ", "p(99.9){wait}>=1.5s"},
		{"p(95){latency}<10ms", "p(95)<10ms"},
		{"med{service=api,hold}!=0s", "med{hold,service=api}!=0s"},
		{`avg{service="web, eu"}<1s`, `avg{service="web, eu"}<1s`},
		{`avg{service="api"}<1s`, `avg{service=api}<1s`},
		{"max{failed_after}<1m30s", "max{failed_after}<1m30s"},
		{"failed_rate < 0.1%", "failed_rate<0.1%"},
		{"failed_rate<=0.001", "failed_rate<=0.001"},
		{"throughput > 900/s", "throughput>900/s"},
		{"outcome(connect_refused)<=0", "outcome(connect_refused)<=0"},
		{"waiting.max{service=büro}<10", "waiting.max{service=büro}<10"},
		{"core_utilisation<80%", "core_utilisation<80%"},
		{"makespan==1s", "makespan==1s"},
	} {
		e, err := ParseCheck(c.in)
		if err != nil {
			t.Errorf("%v", err)
		} else if e.String() != c.out {
			t.Errorf("%q is written back as %q, want %q", c.in, e, c.out)
		}
	}
}

func TestParseCheckMistakes(t *testing.T) {
	for _, c := range []struct {
		in  string
		at  int
		msg string
	}{
		{"", 0, "want a metric such as p(99), failed_rate or throughput"},
		{"p99<50ms", 0, `unknown metric "p99", did you mean p(99)?`},
		{"p(75)<50ms", 0, "p(75) is not measured; p(50), p(90), p(95), p(99) and p(99.9) are"},
		{"  failrate<1%", 2, `unknown metric "failrate", did you mean failed_rate?`},
		{"outcome(refused)<1", 0, `unknown metric "outcome(refused)", did you mean outcome(rejected)?`},
		{"p(99){waiting}<50ms", 6, `unknown selector "waiting", did you mean {wait}?`},
		{"p(99){wait,hold}<50ms", 11, "want one of {wait} and {hold}, not both"},
		{"p(99){wait<50ms", 10, "want } or , after a selector"},
		{"total{wait}<50", 6, "total takes no {wait}; only p(N), avg, min, max and med do"},
		{"makespan{service=api}<1s", 8, "makespan is not measured of one service; leave service=api out"},
		{"p(99){connect,service=api}<1s", 5, "connect is not measured of one service; leave service=api out"},
		{"p(99){service=}<1s", 14, "want the name of a service, in double quotes if it is more than one word"},
		{"p(99){service=a,service=b}<1s", 16, "want one service, not two"},
		{"failed_rate{fast}<1%", 12, `unknown selector "fast", did you mean {service=fast}?`},
		{"p(99){servic=fast}<1s", 6, `unknown selector "servic", did you mean {service=NAME}?`},
		{"p(99)=50ms", 5, "want <, <=, >, >=, == or !="},
		{"p(99)<50", 6, `p(99) is a duration: want its unit, such as 50ms or 50s, have "50"`},
		{"p(99)<0", 6, `p(99) is a duration: want its unit, such as 0ms or 0s, have "0"`},
		{"p(99)<-5ms", 6, `p(99) is a duration: want a number and its unit, such as 50ms or 1.5s, have "-5ms"`},
		{"p(99)<", 6, `p(99) is a duration: want a number and its unit, such as 50ms or 1.5s, have ""`},
		{"failed_rate<5", 12, `failed_rate is a share: want 5%, or a number from 0 to 1, have "5"`},
		{"failed_rate<500%", 12, `failed_rate is a share: want at most 100%, have "500%"`},
		{"failed_rate<1ms", 12, `failed_rate is a share: want a percentage such as 0.1%, or a number from 0 to 1, have "1ms"`},
		{"throughput>900", 11, `throughput is a rate: want 900/s, have "900"`},
		{"throughput>fast/s", 11, `throughput is a rate: want a number per second, such as 900/s, have "fast/s"`},
		{"timeouts<=0s", 10, `timeouts is a count: want a number without a unit, such as 10, have "0s"`},
		{"timeouts<=0x1", 10, `timeouts is a count: want a number without a unit, such as 10, have "0x1"`},
	} {
		_, err := ParseCheck(c.in)
		want := &CheckError{c.in, c.at, c.msg}
		if e := (*CheckError)(nil); !errors.As(err, &e) {
			t.Errorf("%q: no error", c.in)
		} else if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("%q:\n%s", c.in, diff)
		}
	}
}

// checked is a cell in which every figure differs, so that a check that reads the wrong one is caught.
func checked() *Cell {
	ms := func(n int) Duration { return Exact(time.Duration(n) * time.Millisecond) }
	return &Cell{
		Settings:     Settings{{"pool.max", "8"}},
		Replications: 2,
		Requests: Requests{Total: 2000, OK: 1970, Failed: 20, Unfinished: 10, Retries: 4,
			Outcomes: Counts{AcquireTimeout: 5, RequestTimeout: 3, QueueTimeout: 2, ConnectionTimeout: 4, ConnectRefused: 6}},
		Latency:     Summary{N: 1970, Mean: ms(11), Min: ms(10), Max: ms(16), P50: ms(12), P90: ms(13), P95: ms(14), P99: ms(15)},
		Wait:        Summary{N: 1970, Mean: ms(21)},
		Hold:        Summary{N: 1970, Mean: ms(31)},
		Connect:     Summary{N: 1970, Mean: ms(41)},
		FailedAfter: Summary{N: 20, Mean: ms(51)},
		Throughput:  Float{Value: 900, Lo: 880, Hi: 920, Known: true, Interval: true},
		FailedRate:  ExactFloat(0.007),
		Makespan:    ms(61),
		Levels:      Levels{Waiting: Level3{Mean: ExactFloat(1), Max: ExactFloat(2), Final: ExactFloat(3)}, Opening: Level3{Mean: ExactFloat(4)}},
		Server:      ServerStats{Opened: 32, Closed: 34, Refused: 36, PeakOpen: 38},
		Leaked:      ExactFloat(0.5),
		Pools: []PoolCell{{Name: "api", Requests: Requests{Total: 10, OK: 4, Failed: 6}, Latency: Summary{N: 4, Mean: ms(71)},
			Throughput: ExactFloat(7), FailedRate: ExactFloat(0.6), Levels: Levels{Size: Level3{Max: ExactFloat(9)}}}},
	}
}

func TestEvaluate(t *testing.T) {
	const msec = 1e6
	for _, c := range []struct {
		expr   string
		status Status
		value  float64
	}{
		{"p(50)<=12ms", Passed, 12 * msec},
		{"med<12ms", FailedCheck, 12 * msec},
		{"p(90)==13ms", Passed, 13 * msec},
		{"p(95)==14ms", Passed, 14 * msec},
		{"p(99)!=15ms", FailedCheck, 15 * msec},
		{"p(99.9)<1s", NotEvaluated, 0},
		{"min>=10ms", Passed, 10 * msec},
		{"max>16ms", FailedCheck, 16 * msec},
		{"avg<11.5ms", Passed, 11 * msec},
		{"avg{wait}==21ms", Passed, 21 * msec},
		{"avg{hold}==31ms", Passed, 31 * msec},
		{"avg{connect}==41ms", Passed, 41 * msec},
		{"avg{failed_after}==51ms", Passed, 51 * msec},
		{"avg{service=api}==71ms", Passed, 71 * msec},
		{"avg{service=web}==71ms", NotEvaluated, 0},
		{"makespan==61ms", Passed, 61 * msec},
		{"failed_rate<=0.7%", Passed, 0.007},
		{"failed_rate<0.007", FailedCheck, 0.007},
		{"failed_rate{service=api}<=60%", Passed, 0.6},
		{"throughput>=880/s", Passed, 900},
		{"throughput>880/s", Inconclusive, 900},
		{"throughput>920/s", FailedCheck, 900},
		{"throughput<920/s", Inconclusive, 900},
		{"throughput<=920/s", Passed, 900},
		{"throughput==900/s", Inconclusive, 900},
		{"throughput!=900/s", Inconclusive, 900},
		{"throughput==921/s", FailedCheck, 900},
		{"throughput!=921/s", Passed, 900},
		{"throughput{service=api}>7/s", FailedCheck, 7},
		{"total==1000", Passed, 1000}, // of one replication
		{"ok==985", Passed, 985},
		{"failed==10", Passed, 10},
		{"failed{service=api}==3", Passed, 3},
		{"unfinished==5", Passed, 5},
		{"retries==2", Passed, 2},
		{"timeouts<=7", Passed, 7},
		{"outcome(connect_refused)<=2", FailedCheck, 3},
		{"leaked<=0", FailedCheck, 0.5},
		{"core_utilisation<80%", NotEvaluated, 0},
		{"waiting.mean==1", Passed, 1},
		{"waiting.max==2", Passed, 2},
		{"waiting.final==3", Passed, 3},
		{"connecting.mean==4", Passed, 4},
		{"size.max{service=api}==9", Passed, 9},
		{"server.opened==16", Passed, 16},
		{"server.closed==17", Passed, 17},
		{"server.refused==18", Passed, 18},
		{"server.peak_open==38", Passed, 38},
	} {
		e, err := ParseCheck(c.expr)
		if err != nil {
			t.Error(err)
			continue
		}
		got := e.Evaluate(checked())
		if got.Status != c.status || got.Value != c.value || got.Expr != c.expr {
			t.Errorf("%s: %s, value %v; want %s, %v", c.expr, got.Status, got.Value, c.status, c.value)
		}
		if diff := cmp.Diff(Settings{{"pool.max", "8"}}, got.Settings); diff != "" {
			t.Errorf("%s: settings: %s", c.expr, diff)
		}
	}
}

func TestEvaluateWithoutRequests(t *testing.T) {
	empty := Merge(nil, []string{"pool"}, []*Run{NewRecorder(1, 0).Finish(0, 0, 0)})
	for _, expr := range []string{"p(50)<1s", "failed_rate<=0", "failed<=0", "timeouts<=0", "outcome(failed)<=0", "throughput>=0/s"} {
		e, err := ParseCheck(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Evaluate(&empty); got.Status != NotEvaluated {
			t.Errorf("%s: %s without a request", expr, got.Status)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		checks []Status
		want   Status
	}{
		{nil, Passed},
		{[]Status{Passed, Passed}, Passed},
		{[]Status{Inconclusive, Passed}, Inconclusive},
		{[]Status{Inconclusive, FailedCheck}, FailedCheck},
		{[]Status{Inconclusive, NotEvaluated}, FailedCheck},
	} {
		var checks []Check
		for _, s := range c.checks {
			checks = append(checks, Check{Status: s})
		}
		if got := Verdict(checks); got != c.want {
			t.Errorf("%v: %s, want %s", c.checks, got, c.want)
		}
	}
}

// The verdict on an interval is the verdict on all of its values, or inconclusive if they disagree.
func TestJudgeIsAboutEveryValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Expr{
			op:    rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="}).Draw(t, "op"),
			limit: float64(rapid.IntRange(-1, 6).Draw(t, "limit")),
		}
		lo := rapid.IntRange(0, 5).Draw(t, "lo")
		hi := rapid.IntRange(lo, 5).Draw(t, "hi")
		met := map[bool]bool{}
		for v := float64(lo); v <= float64(hi); v += 0.5 {
			met[map[string]bool{
				"<": v < e.limit, "<=": v <= e.limit, ">": v > e.limit, ">=": v >= e.limit, "==": v == e.limit, "!=": v != e.limit,
			}[e.op]] = true
		}
		want := FailedCheck
		switch {
		case met[true] && met[false]:
			want = Inconclusive
		case met[true]:
			want = Passed
		}
		if got := e.judge(float64(lo), float64(hi), e.limit); got != want {
			t.Fatalf("%d..%d %s %v: %s, want %s", lo, hi, e.op, e.limit, got, want)
		}
	})
}

// Of each pool as of all of them, the failed share is failed over ended requests.
func TestFailedRateOfPool(t *testing.T) {
	run := &Run{Parts: []Part{
		{Requests: Requests{Total: 4, OK: 3, Failed: 1}},
		{Requests: Requests{Total: 6, OK: 1, Failed: 4, Unfinished: 1}},
	}}
	c := Merge(nil, []string{"a", "b"}, []*Run{run})
	if a, b := c.Pools[0].FailedRate.Value, c.Pools[1].FailedRate.Value; a != 0.25 || b != 0.8 {
		t.Errorf("failed rates %v and %v, want 0.25 and 0.8", a, b)
	}
}

func FuzzParseCheck(f *testing.F) {
	for _, s := range []string{
		"p(99)<50ms", "p(95){wait}<10ms", `avg{hold,service="a b"}>=1h`, "failed_rate<0.1%", "timeouts<=0", "throughput>900/s",
		"outcome(connect_refused)<=0", "waiting.max<10", "leaked==0", "p(99)<50", "p(99){", "\xff<1", `avg{service="\xff"}<1s`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseCheck(s)
		if err != nil {
			if c := (*CheckError)(nil); !errors.As(err, &c) || c.Offset < 0 || c.Offset > len(s) || c.Msg == "" {
				t.Fatalf("%q: error without a place: %v", s, err)
			}
			return
		}
		again, err := ParseCheck(e.String())
		if err != nil || again != e {
			t.Fatalf("%q is written back as %q, which reads as %+v (%v), want %+v", s, e, again, err, e)
		}
		e.Evaluate(checked())
	})
}

package record

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"poolwise/sim/wording"
)

// Expr is a check: one figure of a cell against a limit, written as in k6.
//
//	p(99)<50ms   p(95){wait}<10ms   avg{service=api}<=1s   failed_rate<0.1%   timeouts<=0   throughput>900/s   waiting.max<10
//
// Durations are described by p(50), p(90), p(95), p(99), p(99.9), avg, min, max and med: of the latency of successful requests
// or, with a selector, of {wait}, {hold}, {connect}, {failed_after}, {pooler.wait} or {pooler.connect}. Metrics lists the others. {service=NAME} selects one of several pools, or all those
// of a service with several instances. Counts are those of one replication, on the average if there are several. The unit of the
// limit is that of the figure: 50ms, 0.1% (or 0.001), 900/s, or a bare number for a count.
//
// The limit may be the figure of a baseline, or a multiple of it: p(99)<=baseline*1.05.
type Expr struct {
	Figure
	op      string
	limit   float64 // in the metric's unit; against a baseline, its multiple
	against bool    // the limit is a multiple of the baseline's figure
	written string  // the limit as it was written
}

// Figure is one figure of a cell, written as in a check: p(99), p(95){wait}, failed_rate.
type Figure struct {
	metric  *metric
	of      *durations // those described; nil for other figures
	service string     // empty for all
}

// CheckError is a mistake in a check.
type CheckError struct {
	Expr   string
	Offset int    // of the mistake in Expr, in bytes
	Msg    string // what is wrong and what would be right
}

// Error names the place and the mistake.
func (e *CheckError) Error() string {
	return fmt.Sprintf("check %q: at byte %d: %s", e.Expr, e.Offset, e.Msg)
}

// The units of figures.
const (
	unitDuration = "ns"
	unitRatio    = "ratio"
	unitCount    = "count"
	unitRate     = "per_second"
)

// metric is a figure that can be checked.
type metric struct {
	name  string
	unit  string
	doc   string
	total bool // known only of all pools together
	// One of the two is set: a figure of a cell, or one of durations.
	cell func(*Cell) Float
	dist func(*Summary) Duration
}

// durations are what a selector can choose.
type durations struct {
	name  string
	doc   string
	total bool // known only of all pools together
	of    func(*Cell) *Summary
}

// summaries are the durations there are, first those of a check without a selector.
var summaries = []*durations{
	{"latency", "from the intended arrival of a request to its end, of successful ones", false, func(c *Cell) *Summary { return &c.Latency }},
	{"wait", "from an acquire to its grant, where that succeeded", false, func(c *Cell) *Summary { return &c.Wait }},
	{"hold", "from a grant to the return", false, func(c *Cell) *Summary { return &c.Hold }},
	{"connect", "of the server's successful connects", true, func(c *Cell) *Summary { return &c.Connect }},
	{"failed_after", "from the intended arrival of a request to its end, of failed ones", true, func(c *Cell) *Summary { return &c.FailedAfter }},
	{poolerPrefix + "wait", "from when a client of the pooler wants a server connection until it has one", true,
		func(c *Cell) *Summary { return &c.pooler().Wait }},
	{poolerPrefix + "connect", "of successful connects of clients to the pooler", true, func(c *Cell) *Summary { return &c.pooler().Connect }},
}

// poolerPrefix begins the names of what is of the pooler.
const poolerPrefix = "pooler."

// pooler returns what is known of the pooler, which is nothing if there is none.
func (c *Cell) pooler() *PoolerCell {
	if c.Pooler == nil {
		return &PoolerCell{}
	}
	return c.Pooler
}

var metrics = allMetrics()

func allMetrics() []*metric {
	var all []*metric
	statistic := func(name, doc string, of func(*Summary) Duration) {
		all = append(all, &metric{name: name, unit: unitDuration, doc: doc, dist: of})
	}
	for i, q := range new(Summary).percentiles() {
		of := func(s *Summary) Duration { return *s.percentiles()[i].to }
		statistic(fmt.Sprintf("p(%v)", q.p), fmt.Sprintf("percentile %v", q.p), of)
	}
	statistic("avg", "mean", func(s *Summary) Duration { return s.Mean })
	statistic("min", "shortest", func(s *Summary) Duration { return s.Min })
	statistic("max", "longest", func(s *Summary) Duration { return s.Max })
	statistic("med", "median, as p(50)", func(s *Summary) Duration { return s.P50 })

	figure := func(name, unit string, total bool, doc string, of func(*Cell) Float) {
		all = append(all, &metric{name: name, unit: unit, doc: doc, total: total, cell: of})
	}
	figure("failed_rate", unitRatio, false, "failed requests, as a share of those that ended", func(c *Cell) Float { return c.FailedRate })
	figure("throughput", unitRate, false, "successful requests a second", func(c *Cell) Float { return c.Throughput })
	figure("makespan", unitDuration, true, "until the last request has ended", func(c *Cell) Float { return c.Makespan.float() })
	figure("stopped_after", unitDuration, true, "longest time that a stop has taken", func(c *Cell) Float { return c.longest("stop") })
	figure("closed_after", unitDuration, true, "longest time that a close or shut_down has taken", func(c *Cell) Float { return c.longest("close", "shut_down") })
	figure("moved_after", unitDuration, true, "longest time that a connect_to has taken, until all connections are where they should be",
		func(c *Cell) Float { return c.longest("connect_to") })
	figure("leaked", unitCount, true, "connections that were never returned", func(c *Cell) Float { return c.Leaked })
	figure("empty_after", unitDuration, true, "when so many have leaked that a pool has none left", (*Cell).emptyAfter)
	figure("leak_alarms", unitCount, true, "alarms of leak detectors", func(c *Cell) Float { return c.each(c.PoolNotes[LeakAlarm]) })
	figure("false_leak_alarms", unitCount, true, "alarms of leak detectors for connections that were returned after all",
		func(c *Cell) Float { return c.each(c.PoolNotes[FalseLeakAlarm]) })
	figure("deadlocks", unitCount, true, "deadlocks among requests that hold all connections", (*Cell).deadlocks)
	figure("core_utilisation", unitRatio, true, "share of the time of the server's cores that was used", func(c *Cell) Float { return c.Server.CoreUtilisation })

	figure("total", unitCount, false, "requests", func(c *Cell) Float { return c.each(c.Requests.Total) })
	requests := func(name, doc string, of func(*Requests) int64) {
		figure(name, unitCount, false, doc, func(c *Cell) Float {
			if c.Requests.Total == 0 {
				return Float{}
			}
			return c.each(of(&c.Requests))
		})
	}
	requests("ok", "successful requests", func(r *Requests) int64 { return r.OK })
	requests("failed", "failed requests", func(r *Requests) int64 { return r.Failed })
	requests("unfinished", "requests that still went on at the end", func(r *Requests) int64 { return r.Unfinished })
	requests("retries", "attempts after the first", func(r *Requests) int64 { return r.Retries })
	requests("timeouts", "requests that failed at a timeout: of an acquire, a connect, the request or a queue", func(r *Requests) int64 {
		return r.Outcomes[AcquireTimeout] + r.Outcomes[ConnectionTimeout] + r.Outcomes[RequestTimeout] + r.Outcomes[QueueTimeout]
	})
	for o := OK + 1; o < NumOutcomes; o++ {
		requests("outcome("+o.String()+")", "requests that failed so", func(r *Requests) int64 { return r.Outcomes[o] })
	}

	figure("server.opened", unitCount, true, "sessions opened", func(c *Cell) Float { return c.each(c.Server.Opened) })
	figure("server.closed", unitCount, true, "sessions closed", func(c *Cell) Float { return c.each(c.Server.Closed) })
	figure("server.refused", unitCount, true, "connects refused", func(c *Cell) Float { return c.each(c.Server.Refused) })
	figure("server.idle_in_transaction_ended", unitCount, true, "sessions ended for being idle in a transaction",
		func(c *Cell) Float { return c.each(c.Server.IdleEnded) })
	figure("server.peak_open", unitCount, true, "most sessions open at once", func(c *Cell) Float { return ExactFloat(float64(c.Server.PeakOpen)) })

	level := func(name, doc string, total bool, of func(*Cell) *Level3) {
		figure(name+".mean", unitCount, total, doc+", mean over time", func(c *Cell) Float { return of(c).Mean })
		figure(name+".max", unitCount, total, doc+", most", func(c *Cell) Float { return of(c).Max })
		figure(name+".final", unitCount, total, doc+", at the end", func(c *Cell) Float { return of(c).Final })
	}
	level("size", "connections of the pool", false, func(c *Cell) *Level3 { return &c.Levels.Size })
	level("idle", "idle connections", false, func(c *Cell) *Level3 { return &c.Levels.Idle })
	level("in_use", "connections lent out", false, func(c *Cell) *Level3 { return &c.Levels.InUse })
	level("waiting", "acquires that wait", false, func(c *Cell) *Level3 { return &c.Levels.Waiting })
	level("connecting", "connections being opened", false, func(c *Cell) *Level3 { return &c.Levels.Opening })

	pooler := func(name, doc string, of func(*PoolerCell) int64) {
		figure(poolerPrefix+name, unitCount, true, doc, func(c *Cell) Float {
			if c.Pooler == nil {
				return Float{}
			}
			return c.each(of(c.Pooler))
		})
	}
	level(poolerPrefix+"clients", "sessions of the pooler's clients", true, func(c *Cell) *Level3 { return &c.pooler().Clients })
	level(poolerPrefix+"waiting", "clients that wait for a server connection", true, func(c *Cell) *Level3 { return &c.pooler().Levels.Waiting })
	level(poolerPrefix+"size", "server connections of the pooler", true, func(c *Cell) *Level3 { return &c.pooler().Levels.Size })
	level(poolerPrefix+"in_use", "server connections of the pooler that are lent out", true, func(c *Cell) *Level3 { return &c.pooler().Levels.InUse })
	pooler("refused", "connects of clients that failed", func(p *PoolerCell) int64 { return p.Refused })
	pooler("timeouts", "waits that ended at query_wait_timeout", func(p *PoolerCell) int64 { return p.Timeouts })
	return all
}

// each returns a count summed over the replications as the count of one of them.
func (c *Cell) each(n int64) Float { return ExactFloat(float64(n) / float64(max(c.Replications, 1))) }

func (d Duration) float() Float {
	return Float{Value: float64(d.Value), Lo: float64(d.Lo), Hi: float64(d.Hi), Known: d.Known, Interval: d.Interval}
}

// ParseCheck reads a check. Its error is a *CheckError.
func ParseCheck(s string) (Expr, error) {
	p := checkParser{text: s}
	e, err := p.parse()
	if err != nil {
		return Expr{}, err
	}
	return e, nil
}

// ParseFigure reads a figure. Its error is a *CheckError.
func ParseFigure(s string) (Figure, error) {
	p := checkParser{text: s}
	f, err := p.figure()
	if err != nil {
		return Figure{}, err
	}
	if p.space(); p.rest() != "" {
		return Figure{}, p.fail(p.pos, "want nothing after the figure, have %q", p.rest())
	}
	return f, nil
}

// String returns the figure so that ParseFigure reads it back, without needless spaces and selectors.
func (f Figure) String() string {
	if f.metric == nil {
		return ""
	}
	var sel []string
	if f.of != nil && f.of != summaries[0] {
		sel = append(sel, f.of.name)
	}
	if f.service != "" {
		name := f.service
		if strings.ContainsFunc(name, notInName) {
			name = strconv.Quote(name)
		}
		sel = append(sel, "service="+name)
	}
	s := f.metric.name
	if sel != nil {
		s += "{" + strings.Join(sel, ",") + "}"
	}
	return s
}

// Service returns the pool or service that the figure selects, empty if it selects none.
func (f Figure) Service() string { return f.service }

// Of returns the same figure of a pool or service, of all together if the name is empty.
func (f Figure) Of(service string) Figure {
	f.service = service
	return f
}

// Unit returns the unit of the figure: ns, ratio, count or per_second.
func (f Figure) Unit() string { return f.metric.unit }

// MoreIsBetter reports whether a higher value of the figure is the better one, as it is of throughput and ok.
func (f Figure) MoreIsBetter() bool { return f.metric.name == "throughput" || f.metric.name == "ok" }

// String returns the check so that ParseCheck reads it back, without needless spaces and selectors.
func (e Expr) String() string { return e.Figure.String() + e.op + e.written }

// WantsMore reports whether the limit is one from below, so that who wrote it wants more of the figure.
func (e Expr) WantsMore() bool { return e.op == ">" || e.op == ">=" }

// Against reports whether the limit is that of a baseline.
func (e Expr) Against() bool { return e.against }

// Evaluate judges a cell. Without replications the point decides; with an interval, all of it must be on one side of the limit,
// or the check is inconclusive. A figure that was not measured, because there were no samples or too few for the percentile, is
// not evaluated.
// A check against a baseline is not evaluated here: see EvaluateAgainst.
func (e Expr) Evaluate(c *Cell) Check {
	k := Check{Expr: e.String(), Settings: c.Settings, Status: NotEvaluated, Unit: e.metric.unit}
	f := e.Measure(c)
	if e.against {
		k.Why = noBaseline
	}
	if !f.Known || e.against {
		return k
	}
	k.Value, k.Lo, k.Hi = exactly(f.Value), exactly(f.Lo), exactly(f.Hi)
	k.Status = e.judge(f.Lo, f.Hi, e.limit)
	return k
}

// Why a check against a baseline was not evaluated, or is off.
const (
	noBaseline  = "no baseline was given"
	noSuchCell  = "the baseline has no cell of these settings"
	notInBase   = "the baseline has not measured it"
	noneYet     = "there is no baseline yet"
	offByItself = "its level is off"
)

// SwitchedOff returns a check that is not to be evaluated, by its level.
func (k Check) SwitchedOff() Check {
	return Check{Expr: k.Expr, Settings: k.Settings, Status: Off, Unit: k.Unit, Why: offByItself}
}

// exactly returns whole numbers as they are and others to nine digits, as they are saved.
func exactly(f float64) float64 {
	if f == math.Trunc(f) {
		return f
	}
	return nineDigits(f)
}

// EvaluateAgainst judges a cell by a baseline if the check has one, and otherwise as Evaluate does. With samples of both, what
// is judged is the interval of the difference between the figure and its limit, pair by pair; if there are no pairs, what the
// intervals of the two figures allow. All is taken to the nine digits of a saved result, so that a run is never worse than
// itself, saved.
func (e Expr) EvaluateAgainst(c, baseline *Cell) Check {
	if !e.against {
		return e.Evaluate(c)
	}
	k := Check{Expr: e.String(), Settings: c.Settings, Status: NotEvaluated, Unit: e.metric.unit}
	f := e.Measure(c)
	if baseline == nil {
		k.Why = noSuchCell
		return k
	}
	if !f.Known {
		return k
	}
	b := e.Measure(baseline)
	if !b.Known {
		k.Why = notInBase
		return k
	}
	k.Value, k.Lo, k.Hi = exactly(f.Value), exactly(f.Lo), exactly(f.Hi)
	k.Baseline = b
	d := Difference(digits(e.Sample(c)), digits(e.Sample(baseline)), e.limit)
	if !d.Interval {
		// The worst that the two intervals allow, or the difference of the values if they have none.
		d.Lo = nineDigits(f.Lo) - float64(e.limit*nineDigits(b.Hi))
		d.Hi = nineDigits(f.Hi) - float64(e.limit*nineDigits(b.Lo))
	}
	k.Status = e.judge(d.Lo, d.Hi, 0)
	return k
}

// Measure returns the figure of a cell, with an interval if the cell has replications to take it from. Without one, Lo and Hi
// are the value.
func (f Figure) Measure(c *Cell) Float {
	v := f.measure(c)
	if !v.Interval {
		v.Lo, v.Hi = v.Value, v.Value
		if s := known(f.Sample(c)); v.Known && len(s) > 1 {
			mean, half, _ := studentT(s)
			v.Lo, v.Hi, v.Interval = min(v.Value, max(mean-half, 0)), max(v.Value, mean+half), true
		}
	}
	return v
}

func (f Figure) measure(c *Cell) Float {
	if f.service != "" {
		if c = c.service(f.service); c == nil {
			return Float{}
		}
	}
	if f.of != nil {
		return f.metric.dist(f.of.of(c)).float()
	}
	return f.metric.cell(c)
}

// service returns what is known of one pool, or of all those of a service, as a cell; nil if there is no such.
func (c *Cell) service(name string) *Cell {
	for _, all := range [][]PoolCell{c.Pools, c.Services} {
		for i := range all {
			if p := &all[i]; p.Name == name {
				return &Cell{
					Replications: c.Replications, Requests: p.Requests, Latency: p.Latency, Wait: p.Wait, Hold: p.Hold,
					Throughput: p.Throughput, FailedRate: p.FailedRate, Levels: p.Levels,
				}
			}
		}
	}
	return nil
}

// judge compares all values from lo to hi with the limit.
func (e Expr) judge(lo, hi, limit float64) Status {
	var all, any bool // of them meet it
	switch e.op {
	case "<":
		all, any = hi < limit, lo < limit
	case "<=":
		all, any = hi <= limit, lo <= limit
	case ">":
		all, any = lo > limit, hi > limit
	case ">=":
		all, any = lo >= limit, hi >= limit
	case "==":
		all, any = lo == limit && hi == limit, lo <= limit && limit <= hi
	case "!=":
		all, any = limit < lo || hi < limit, lo != limit || hi != limit
	}
	switch {
	case all:
		return Passed
	case any:
		return Inconclusive
	}
	return FailedCheck
}

// Verdict is what all checks of level error together say: failed if one failed or was not evaluated, else inconclusive if one is.
func Verdict(checks []Check) Status {
	v := Passed
	for _, c := range checks {
		if c.Level == LevelWarning || c.Level == LevelOff {
			continue
		}
		switch c.Status {
		case FailedCheck, NotEvaluated:
			return FailedCheck
		case Inconclusive:
			v = Inconclusive
		}
	}
	return v
}

// checkParser reads a check from left to right.
type checkParser struct {
	text string
	pos  int
}

func (p *checkParser) parse() (e Expr, err error) {
	if e.Figure, err = p.figure(); err != nil {
		return e, err
	}
	if e.op, err = p.operator(); err != nil {
		return e, err
	}
	if p.skip("baseline") {
		e.against = true
		e.limit, e.written, err = p.multiple()
		return e, err
	}
	e.limit, e.written, err = p.limit(e.metric)
	return e, err
}

// multiple reads what may follow the word baseline: *1.05.
func (p *checkParser) multiple() (float64, string, error) {
	if !p.skip("*") {
		if p.space(); p.rest() != "" {
			return 0, "", p.fail(p.pos, "want nothing or a multiple such as *1.05 after baseline, have %q", p.rest())
		}
		return 1, "baseline", nil
	}
	p.space()
	at, text := p.pos, strings.TrimRight(p.rest(), " \t")
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0) || f > 1e9 || !isPlain(text) {
		return 0, "", p.fail(at, "want a number such as 1.05, have %q", text)
	}
	p.pos = len(p.text)
	return f, "baseline*" + text, nil
}

func (p *checkParser) figure() (e Figure, err error) {
	if e.metric, err = p.metric(); err != nil {
		return e, err
	}
	p.space()
	at := p.pos
	if err = p.selectors(&e); err != nil {
		return e, err
	}
	what, total := e.metric.name, e.metric.total
	if e.metric.dist != nil {
		if e.of == nil {
			e.of = summaries[0]
		}
		what, total = e.of.name, e.of.total
	}
	if total && e.service != "" {
		return e, p.fail(at, "%s is not measured of one service; leave service=%s out", what, e.service)
	}
	return e, nil
}

// fail reports a mistake at byte at.
func (p *checkParser) fail(at int, format string, a ...any) error {
	return &CheckError{p.text, at, fmt.Sprintf(format, a...)}
}

func (p *checkParser) rest() string { return p.text[p.pos:] }

func (p *checkParser) space() {
	p.pos += len(p.rest()) - len(strings.TrimLeft(p.rest(), " \t"))
}

// skip steps over s, and the space before it, if it is next.
func (p *checkParser) skip(s string) bool {
	p.space()
	if !strings.HasPrefix(p.rest(), s) {
		return false
	}
	p.pos += len(s)
	return true
}

// until reads up to the first of the stops.
func (p *checkParser) until(stop func(rune) bool) string {
	s := p.rest()
	if i := strings.IndexFunc(s, stop); i >= 0 {
		s = s[:i]
	}
	p.pos += len(s)
	return s
}

// notInName reports whether r ends a bare word.
func notInName(r rune) bool {
	return strings.ContainsRune("{},=<>!\" \t", r) || r < ' ' || r == '\uFFFD'
}

func (p *checkParser) metric() (*metric, error) {
	p.space()
	at := p.pos
	name := p.until(notInName)
	words := p.text[at:] // what reports write in two words is two words here: in use, wait p99
	if i := strings.IndexAny(words, "{<>=!"); i >= 0 {
		words = strings.TrimSpace(words[:i])
	}
	if meant, ok := meantBy(words); ok && words != meant {
		return nil, p.fail(at, "unknown metric %q, did you mean %s?", words, meant)
	}
	names := make([]string, len(metrics))
	for i, m := range metrics {
		if m.name == name {
			return m, nil
		}
		names[i] = m.name
	}
	switch {
	case name == "":
		return nil, p.fail(at, "want a metric such as p(99), failed_rate or throughput")
	case strings.HasPrefix(name, "p("):
		return nil, p.fail(at, "%s is not measured; p(50), p(90), p(95), p(99) and p(99.9) are", name)
	}
	return nil, p.fail(at, "unknown metric %q, did you mean %s?", name, wording.Closest(name, names))
}

func (p *checkParser) selectors(e *Figure) error {
	if !p.skip("{") {
		return nil
	}
	for {
		if err := p.selector(e); err != nil {
			return err
		}
		if p.skip("}") {
			return nil
		}
		if !p.skip(",") {
			return p.fail(p.pos, "want } or , after a selector")
		}
	}
}

func (p *checkParser) selector(e *Figure) error {
	p.space()
	at := p.pos
	word := p.until(notInName)
	if word == "service" && p.skip("=") {
		return p.service(e, at)
	}
	names := []string{"service=NAME"}
	for _, s := range summaries {
		names = append(names, s.name)
		if s.name != word {
			continue
		}
		switch {
		case e.metric.dist == nil:
			return p.fail(at, "%s takes no {%s}; only p(N), avg, min, max and med do", e.metric.name, word)
		case e.of != nil:
			return p.fail(at, "want one of {%s} and {%s}, not both", e.of.name, word)
		}
		e.of = s
		return nil
	}
	return p.fail(at, "unknown selector %q, did you mean {%s}?", word, selectorMeant(word, names[1:]))
}

// selectorMeant returns the selector that a word is close to or begins with, or else that of a service of this name.
func selectorMeant(word string, names []string) string {
	meant, ok := wording.Nearest(word, append([]string{"service"}, names...))
	begun := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(word, name) })
	switch {
	case word == "":
		return names[0]
	case ok && meant == "service":
		return "service=NAME"
	case ok:
		return meant
	case begun >= 0:
		return names[begun]
	}
	return "service=" + word
}

func (p *checkParser) service(e *Figure, at int) error {
	if e.service != "" {
		return p.fail(at, "want one service, not two")
	}
	p.space()
	start := p.pos
	name := p.until(notInName)
	if name == "" {
		quoted, err := strconv.QuotedPrefix(p.rest())
		if err == nil {
			name, err = strconv.Unquote(quoted)
		}
		if err != nil || name == "" {
			return p.fail(start, `want the name of a service, in double quotes if it is more than one word`)
		}
		p.pos += len(quoted)
	}
	e.service = name
	return nil
}

func (p *checkParser) operator() (string, error) {
	for _, op := range []string{"<=", ">=", "==", "!=", "<", ">"} {
		if p.skip(op) {
			return op, nil
		}
	}
	return "", p.fail(p.pos, "want <, <=, >, >=, == or !=")
}

// limit reads the limit, which is the rest of the text.
func (p *checkParser) limit(m *metric) (float64, string, error) {
	p.space()
	s := strings.TrimRight(p.rest(), " \t")
	bad := func(format string, a ...any) (float64, string, error) {
		return 0, "", p.fail(p.pos, "%s is %s, have %q", m.name, fmt.Sprintf(format, a...), s)
	}
	switch m.unit {
	case unitDuration:
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || strings.HasSuffix(s, "0") || strings.HasPrefix(s, "-") { // it takes a bare 0
			if isPlain(s) {
				return bad("a duration: want its unit, such as %sms or %ss", s, s)
			}
			return bad("a duration: want a number and its unit, such as 50ms or 1.5s")
		}
		return float64(d), s, nil
	case unitRate:
		n, ok := strings.CutSuffix(s, "/s")
		if !ok && isPlain(s) {
			return bad("a rate: want %s/s", s)
		}
		if !isPlain(n) {
			return bad("a rate: want a number per second, such as 900/s")
		}
		v, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return bad("a rate: want a number per second, such as 900/s")
		}
		return v, s, nil
	case unitRatio:
		n, percent := strings.CutSuffix(s, "%")
		if !isPlain(n) {
			return bad("a share: want a percentage such as 0.1%%, or a number from 0 to 1")
		}
		if percent {
			n += "e-2"
		}
		v, err := strconv.ParseFloat(n, 64)
		switch {
		case err != nil || percent && v > 1:
			return bad("a share: want at most 100%%")
		case v > 1:
			return bad("a share: want %s%%, or a number from 0 to 1", s)
		}
		return v, s, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if m.name == "failed" && strings.HasSuffix(s, "%") {
		return bad("a count: failed_rate is the share")
	}
	if err != nil || !isPlain(s) {
		return bad("a count: want a number without a unit, such as 10")
	}
	return v, s, nil
}

// isPlain reports whether s is digits with at most one point among them.
func isPlain(s string) bool {
	digits := strings.Replace(s, ".", "", 1)
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

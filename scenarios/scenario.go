// Package scenarios has the scenario: what is simulated, as plain data. It reads scenario files (YAML), checks them, applies
// overrides, expands sweeps into cells, describes the format as JSON Schema, and holds the built-in scenarios.
//
// Every mistake is an *Error with its place, and all mistakes are reported at once (see Errors). Nothing is guessed: an unknown
// key, a wrong unit, a value out of range or a contradiction is a mistake. Durations have a unit (20ms, 1m30s), rates a time
// (200/s), probabilities may be percentages (10%); counts are bare numbers.
//
// # Sweeps
//
// A sweep runs a scenario at several settings. It is a mapping of axes; several make a grid, whose first axis varies slowest.
// An axis is the path of a value with a list of values, or a name with labelled points each of which sets several values:
//
//	sweep:
//	  server.cores: [2, 4]
//	  pool.max: 1..8                 # or with a step, 2..64:2; also within a list
//	  strategy:
//	    no pool:    {pool: none}
//	    small pool: {pool.max: 4, pool.acquire_timeout: 1s}
//
// Each point of the grid is a scenario of its own, checked before anything runs; and so is the file without its sweep.
//
// # Actions
//
// Faults happen to a server (server.faults); actions are what operators and programs do at given times. Each is about a service, all
// its instances or one, and does one thing:
//
//	servers: [{name: standby, connect: 30ms}]
//	actions:
//	  - {at: 60s, service: api, every: 10s, do: shut_down} # or stop, close, kill, restart; the next instance 10 s later
//	  - {at: 90s, connect_to: standby}                     # later connects; back with connect_to: server
//	  - {at: 95s, service: api, instance: 2, pause: 200ms} # it stands still, as in a pause of its garbage collector
//
// # Classes of requests
//
// Requests that differ in what they do, or in how their figures are to be read, are services of their own on one pool: the first has
// it, and the others name that one. They are one program: what is done to the first, but for a stop, is done to all of them.
//
//	services:
//	  - {name: api, pool: {model: sqlx, max_connections: 10}, workload: ...}
//	  - {name: reports, pool_of: api, workload: ...}
package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"poolwise/pool/models"
	"poolwise/sim/dist"
	"poolwise/sim/pooler"
	"poolwise/sim/record"
	"poolwise/sim/server"
	"poolwise/sim/wording"
	"poolwise/workload"
)

// Scenario is a scenario. It is read-only once decoded: the cells of a sweep may share parts.
type Scenario struct {
	Name         string            `yaml:"name" doc:"text; what the reports call the scenario"`
	About        string            `yaml:"about" doc:"text; what the scenario is about"`
	Source       string            `yaml:"source" doc:"text; where its numbers come from"`
	Estimate     Estimate          `yaml:"estimate" doc:"terminating or steady, default terminating; terminating measures all of a run with an end of its own, steady the long run, without the warm-up"`
	Seed         uint64            `yaml:"seed" doc:"number, default 1; of all randomness: the same seed gives the same result"`
	Until        Until             `yaml:"until" doc:"drained, or a duration; the run ends when the last request has ended and nothing is left to do, or at that time; needed"`
	Warmup       Warmup            `yaml:"warmup" doc:"auto, none or a duration, default auto if steady; what is left out at the beginning; auto finds out"`
	Server       server.Options    `yaml:"server" doc:"the database server; by default one without any limit that answers at once"`
	Pooler       *Pooler           `yaml:"pooler" doc:"a connection pooler such as PgBouncer, through which the pools connect to the server; none by default"`
	Pool         *Pool             `yaml:"pool" doc:"the connection pool: its model and the options of that model"`
	Workload     *workload.Options `yaml:"workload" doc:"who asks for connections, and what for"`
	Services     []Service         `yaml:"services" doc:"several services on one server, each with a workload and a pool of its own, or the pool of another; instead of pool and workload"`
	Servers      []Server          `yaml:"servers" doc:"further servers, each with a name, to which actions can move pools: a standby, a new primary"`
	Actions      []Action          `yaml:"actions" doc:"what is done to services at given times: stop, close, shut_down, kill, restart, connect_to another server, pause"`
	Sweep        Sweep             `yaml:"sweep" doc:"settings to run the scenario at: a mapping of paths to lists of values or ranges (1..8, 2..64:2), or of names to labelled settings of several values; several make a grid"`
	Replications int               `yaml:"replications" doc:"count, 1 to 100000, default 1; runs of each setting, with the seeds seed, seed+1, ..."`
	Checks       []Check           `yaml:"checks" doc:"what is expected of the result, such as p(99)<200ms or failed_rate<0.1%"`
}

func (s *Scenario) setDefaults() { s.Seed, s.Replications = 1, 1 }

// Service is one of several programs on the server, a number of equal instances, each with a pool of its own. Or it is one class of
// the requests of another service: then it has only a workload, and uses the pool of that one, instance by instance.
type Service struct {
	Name       string            `yaml:"name" doc:"text; needed, and unlike those of the other services"`
	Instances  int               `yaml:"instances" doc:"count, at least 1, default 1, or with pool_of as many as the service has whose pool it is; how many, each with a pool and a workload as given here"`
	StartAt    time.Duration     `yaml:"start_at" doc:"duration, default 0s; when the first instance starts; with pool_of: how long after the service whose pool it is, also when that is restarted"`
	StartEvery time.Duration     `yaml:"start_every" doc:"duration, default 0s; from the start of one instance to that of the next; with pool_of: on top of that of the service whose pool it is"`
	Role       string            `yaml:"role" doc:"text, by default the server's default role; name of one of the server's roles, whose limit counts"`
	Direct     bool              `yaml:"direct" doc:"true or false, default false; connect to the server itself, past the pooler"`
	Pool       *Pool             `yaml:"pool" doc:"the connection pool of each instance: its model and the options of that model"`
	PoolOf     string            `yaml:"pool_of" doc:"text; name of another service, instead of pool: each instance uses the pool of that one's instance of the same number, in the same program"`
	Workload   *workload.Options `yaml:"workload" doc:"who asks for connections, and what for; of each instance, unless it is shared"`
}

// WorkloadOf returns the workload of an instance, counted from 0.
func (v *Service) WorkloadOf(instance int) *workload.Options {
	return v.Workload.Part(instance, v.Instances)
}

func (s *Service) setDefaults() { s.Instances = 1 }

// All returns the services; pool and workload of the scenario itself are one without a name. A service that uses the pool of another
// has that pool, and what goes with it; its times of start are those of the run, as the others' are.
func (s *Scenario) All() []Service {
	switch {
	case s.Services == nil && (s.Pool != nil || s.Workload != nil):
		return []Service{{Instances: 1, Pool: s.Pool, Workload: s.Workload}}
	case !slices.ContainsFunc(s.Services, func(v Service) bool { return v.PoolOf != "" }):
		return s.Services
	}
	all := slices.Clone(s.Services)
	for i := range all {
		v := &all[i]
		if o := s.service(v.PoolOf); v.PoolOf != "" && o != nil {
			v.Pool, v.Role, v.Direct = o.Pool, o.Role, o.Direct
			v.StartAt, v.StartEvery = later(v.StartAt, o.StartAt, 1), later(v.StartEvery, o.StartEvery, 1)
		}
	}
	return all
}

// Owner returns the name of the service whose pool v uses: its own, unless it has none.
func (v *Service) Owner() string {
	if v.PoolOf != "" {
		return v.PoolOf
	}
	return v.Name
}

// PoolNames returns the names of the instances, which are those of their pools, by their index: that of the service, and the number of
// the instance if it has several: app-1, app-2. The one of a scenario without services has the name "".
func (s *Scenario) PoolNames() []string {
	names := []string{}
	for _, v := range s.All() {
		names = append(names, v.poolNames()...)
	}
	return names
}

func (v *Service) poolNames() []string {
	if v.Instances == 1 {
		return []string{v.Name}
	}
	var names []string
	for i := range min(v.Instances, maxInstances) {
		names = append(names, fmt.Sprintf("%s-%d", v.Name, i+1))
	}
	return names
}

// Pool is a pool model and its options.
type Pool struct {
	Model   string // a name in models.Table
	Options any    // as the model's Defaults returns them: a pointer to a struct
}

// Pooler is a pooler between the pools and the server, with the options of package pooler.
type Pooler struct {
	pooler.Options `yaml:",inline"`
}

func (p *Pooler) setDefaults() { p.Options = pooler.DefaultOptions() }

// Estimate says what a run estimates.
type Estimate uint8

// The estimates.
const (
	Terminating Estimate = iota // how a run with a beginning and an end goes
	Steady                      // what goes on in the long run
)

var estimates = []string{"terminating", "steady"}

// String returns the word for e.
func (e Estimate) String() string { return estimates[e] }

// UnmarshalText reads terminating or steady.
func (e *Estimate) UnmarshalText(text []byte) error { return wording.Number(e, estimates, text) }

// Until says when a run ends. The zero value is no answer.
type Until struct {
	Drained bool          // when nothing is left to do
	Time    time.Duration // or at this time
}

// String returns u as it is written.
func (u Until) String() string {
	if u.Drained {
		return "drained"
	}
	return u.Time.String()
}

// UnmarshalText reads drained or a duration.
func (u *Until) UnmarshalText(text []byte) error {
	*u = Until{Drained: string(text) == "drained"}
	if u.Drained {
		return nil
	}
	d, err := dist.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("want drained, or a duration with its unit, such as 30s, have %q", text)
	}
	if d == 0 {
		return fmt.Errorf("want drained, or a duration above 0s, have %q", text)
	}
	u.Time = d
	return nil
}

// Warmup says what is left out at the beginning of a run. The zero value is nothing.
type Warmup struct {
	Auto bool          // as long as the run itself shows is needed
	Time time.Duration // or this long
}

// String returns w as it is written.
func (w Warmup) String() string {
	switch {
	case w.Auto:
		return "auto"
	case w.Time == 0:
		return "none"
	}
	return w.Time.String()
}

// UnmarshalText reads auto, none or a duration.
func (w *Warmup) UnmarshalText(text []byte) error {
	switch string(text) {
	case "auto":
		*w = Warmup{Auto: true}
		return nil
	case "none":
		*w = Warmup{}
		return nil
	}
	d, err := dist.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("want auto, none, or a duration with its unit, such as 30s, have %q", text)
	}
	*w = Warmup{Time: d}
	return nil
}

// Check is one expectation. In a file it is the expression alone, or a mapping.
type Check struct {
	Expr  string `yaml:"expr" doc:"text, needed; a figure and its limit, such as p(99)<200ms"`
	Level Level  `yaml:"level" doc:"error, warning (or warn) or off, default error; what it means if the expectation is not met; off keeps the check, not evaluated"`
	Line  int    `yaml:"-"` // of the file, 0 if it is not in one
}

// Level says how bad a failed check is.
type Level uint8

// The levels.
const (
	ErrorLevel   Level = iota // the run has failed
	WarningLevel              // somebody should look at it
	OffLevel                  // the check is kept, and not evaluated
)

var levels = []string{record.LevelError, record.LevelWarning, record.LevelOff}

// String returns the word for l.
func (l Level) String() string { return levels[l] }

// UnmarshalText reads error, warning, warn for short, or off.
func (l *Level) UnmarshalText(text []byte) error {
	if string(text) == "warn" {
		*l = WarningLevel
		return nil
	}
	return wording.Number(l, levels, text)
}

// UnmarshalText reads a check that is only its expression.
func (c *Check) UnmarshalText(text []byte) error {
	*c = Check{Expr: string(text)}
	return nil
}

// decode implements selfDecoder: the place of a mistake is that in the expression.
func (c *Check) decode(d *decoder, n *node, path string) {
	expr := n
	switch n.kind {
	case scalar:
		c.Expr = n.text
	case mapping:
		d.fields(n, reflect.ValueOf(c).Elem(), path)
		if expr = n.get("expr"); expr == nil {
			return // Validate says so
		}
		path = join(path, "expr")
	default:
		d.bad(n.place, path, `want a check such as "p(99)<200ms", or a mapping with expr and level, have %s`, n.have())
		return
	}
	c.Line = expr.line
	_, err := record.ParseCheck(c.Expr)
	if err == nil || expr.kind != scalar {
		return
	}
	at, msg, offset := expr.place, err.Error(), 0
	if e, ok := err.(*record.CheckError); ok {
		msg, offset = e.Msg, e.Offset
	}
	if at.line > 0 {
		at.col += offset
		if expr.quoted {
			at.col++
		}
	}
	d.bad(at, path, "%s", clip(msg))
}

// decode implements selfDecoder: a model, and the options of that model.
func (p *Pool) decode(d *decoder, n *node, path string) {
	model := n
	if n.kind == mapping {
		if model = n.get("model"); model == nil {
			d.bad(n.place, path, "want a model: %s", wording.Or(modelNames()))
			return
		}
	}
	switch model.kind {
	case scalar:
	case broken:
		d.failed = append(d.failed, path)
		return
	default:
		d.bad(n.place, path, "want a mapping with a model and its options, have %s", n.have())
		return
	}
	m, ok := models.Named(model.text)
	if !ok {
		at := path
		if n.kind == mapping {
			at = join(path, "model")
		}
		msg := fmt.Sprintf("there is no model %q; there are %s", short(model.text), wording.And(modelNames()))
		if near := nearestModel(model.text); near != "" {
			msg = fmt.Sprintf("there is no model %q%s", short(model.text), near)
		} else if meant, ok := wording.Nearest(model.text, modelNames()); ok {
			msg = fmt.Sprintf("there is no model %q, did you mean %s?", short(model.text), meant)
		}
		d.bad(model.place, at, "%s", msg)
		return
	}
	p.Model, p.Options = m.Name, m.Defaults()
	if n.kind == mapping {
		d.fields(n, reflect.ValueOf(p.Options).Elem(), path, "model")
	}
}

func modelNames() []string {
	var all []string
	for _, m := range models.Table {
		all = append(all, m.Name)
	}
	return all
}

package sqlx

import (
	"fmt"
	"time"

	"poolwise/sim/dist"
	"poolwise/sim/wording"
)

// Options are those of sqlx::pool::PoolOptions, with its names and its defaults (see DefaultOptions), and a few that say what
// its callbacks do and how its timers run.
type Options struct {
	MaxConnections       int            `yaml:"max_connections" doc:"count, at least 1, default 10; connections open or being opened at once"`
	MinConnections       int            `yaml:"min_connections" doc:"count, default 0; refilled after a connection was closed, and by an eager start; what exceeds max_connections is never opened"`
	AcquireTimeout       time.Duration  `yaml:"acquire_timeout" doc:"duration, default 30s; longest time of an acquire: permit, ping, hooks, connect and backoff together; 0 for what needs no waiting"`
	AcquireSlowThreshold time.Duration  `yaml:"acquire_slow_threshold" doc:"duration, default 2s; a successful acquire that took longer is counted as slow"`
	IdleTimeout          *time.Duration `yaml:"idle_timeout" doc:"duration, above 0, default 10m, null for none; a scan closes what has been idle for longer"`
	MaxLifetime          *time.Duration `yaml:"max_lifetime" doc:"duration, above 0, default 30m, null for none; a scan or a return closes what is older"`
	TestBeforeAcquire    bool           `yaml:"test_before_acquire" doc:"true or false, default true; ping an idle connection before it is lent; the ping on return is always done"`
	Fair                 bool           `yaml:"fair" doc:"true or false, default true; waiters are served in order; on tokio there is nothing else: false is the semaphore of the async-std flavour, where whoever polls first takes a free permit"`
	Start                Start          `yaml:"start" doc:"lazy or eager, default lazy; lazy opens nothing, eager opens min_connections and at least one before the program goes on"`
	AfterConnect         *Hook          `yaml:"after_connect" doc:"callback on a new connection, none by default; an error closes it and the connect is tried again"`
	BeforeAcquire        *Hook          `yaml:"before_acquire" doc:"callback on an idle connection before it is lent, none by default; false closes it, an error closes it hard, and the acquire connects anew"`
	AfterRelease         *Hook          `yaml:"after_release" doc:"callback on a returned connection, none by default; false closes it, an error closes it hard"`
	Parent               string         `yaml:"parent" doc:"name of the service whose pool is the parent, none by default; this pool takes its permits from there"`
	TimerGranularity     time.Duration  `yaml:"timer_granularity" doc:"duration, default 1ms, 0 for exact; the pool's timers fire at the next multiple of it, as those of tokio do"`
	TimerLateness        time.Duration  `yaml:"timer_lateness" doc:"duration, default 100us; how much later than that the timer of the maintenance task fires; at 0 the clock is exact, and a connection that is looked at exactly at its idle_timeout is kept"`
}

// Start says how the pool is built.
type Start uint8

// The starts.
const (
	Lazy  Start = iota // connect_lazy: nothing is opened
	Eager              // connect: opens connections and surfaces errors
)

var starts = []string{"lazy", "eager"}

// String returns the name of s.
func (s Start) String() string { return starts[s] }

// UnmarshalText reads a name.
func (s *Start) UnmarshalText(text []byte) error { return wording.Number(s, starts, text) }

// Hook is what a callback of the user does. Its first calls end as Results says; the later ones end well, or by chance not.
type Hook struct {
	Takes            dist.Distribution `yaml:"takes" doc:"duration, default 0; how long a call takes"`
	Results          []HookResult      `yaml:"results" doc:"ok, false or error for the 1st, 2nd ... call over all connections; ok after the list"`
	FalseProbability dist.Probability  `yaml:"false_probability" doc:"probability, default 0; that a call after the list returns false"`
	ErrorProbability dist.Probability  `yaml:"error_probability" doc:"probability, default 0; that a call after the list fails"`
}

// HookResult is how a call of a Hook ends.
type HookResult uint8

// The results. A callback that returns nothing but an error (after_connect) cannot return false.
const (
	HookOK HookResult = iota
	HookFalse
	HookError
)

var hookResults = []string{"ok", "false", "error"}

// String returns the name of r.
func (r HookResult) String() string { return hookResults[r] }

// UnmarshalText reads a name.
func (r *HookResult) UnmarshalText(text []byte) error { return wording.Number(r, hookResults, text) }

// DefaultOptions returns the defaults of PoolOptions::new.
func DefaultOptions() Options {
	idle, lifetime := 10*time.Minute, 30*time.Minute
	return Options{
		MaxConnections:       10,
		AcquireTimeout:       30 * time.Second,
		AcquireSlowThreshold: 2 * time.Second,
		IdleTimeout:          &idle,
		MaxLifetime:          &lifetime,
		TestBeforeAcquire:    true,
		Fair:                 true,
		TimerGranularity:     time.Millisecond,
		TimerLateness:        100 * time.Microsecond,
	}
}

// maxConnections bounds max_connections, so that a slip does not ask for all the memory there is.
const maxConnections = 1 << 20

// Validate reports every mistake in o: the path of the field and what would be right.
func (o Options) Validate(bad func(path, message string)) {
	if o.MaxConnections < 1 || o.MaxConnections > maxConnections {
		bad("max_connections", fmt.Sprintf("want 1 to %d, have %d", maxConnections, o.MaxConnections))
	}
	if o.MinConnections < 0 {
		bad("min_connections", fmt.Sprintf("want 0 or more, have %d", o.MinConnections))
	}
	for _, d := range []struct {
		path  string
		value time.Duration
	}{
		{"acquire_timeout", o.AcquireTimeout},
		{"acquire_slow_threshold", o.AcquireSlowThreshold},
		{"timer_granularity", o.TimerGranularity},
		{"timer_lateness", o.TimerLateness},
	} {
		if d.value < 0 {
			bad(d.path, fmt.Sprintf("want a duration that is not negative, have %v", d.value))
		}
	}
	for _, d := range []struct {
		path  string
		value *time.Duration
	}{{"idle_timeout", o.IdleTimeout}, {"max_lifetime", o.MaxLifetime}} {
		if d.value != nil && *d.value <= 0 {
			bad(d.path, fmt.Sprintf("want a duration above 0, or null for none, have %v", *d.value))
		}
	}
	if o.Start > Eager {
		bad("start", fmt.Sprintf("want lazy or eager, have %d", o.Start))
	}
	for _, h := range []struct {
		path       string
		hook       *Hook
		mayBeFalse bool
	}{
		{"after_connect", o.AfterConnect, false},
		{"before_acquire", o.BeforeAcquire, true},
		{"after_release", o.AfterRelease, true},
	} {
		if h.hook != nil {
			h.hook.validate(h.mayBeFalse, func(path, message string) { bad(h.path+"."+path, message) })
		}
	}
}

func (h *Hook) validate(mayBeFalse bool, bad func(path, message string)) {
	h.Takes.Validate(func(path, message string) {
		if path != "" && path[0] != '[' {
			path = "." + path
		}
		bad("takes"+path, message)
	})
	for i, r := range h.Results {
		switch {
		case r > HookError:
			bad(fmt.Sprintf("results[%d]", i), fmt.Sprintf("want ok, false or error, have %d", r))
		case r == HookFalse && !mayBeFalse:
			bad(fmt.Sprintf("results[%d]", i), "want ok or error: this callback returns nothing else")
		}
	}
	h.FalseProbability.Validate(func(_, message string) { bad("false_probability", message) })
	h.ErrorProbability.Validate(func(_, message string) { bad("error_probability", message) })
	switch {
	case h.FalseProbability > 0 && !mayBeFalse:
		bad("false_probability", "want 0: this callback returns nothing but an error")
	case h.FalseProbability+h.ErrorProbability > 1:
		sum := float64(h.FalseProbability) + float64(h.ErrorProbability)
		bad("error_probability", fmt.Sprintf("want at most 1 together with false_probability, have %v", sum))
	}
}

// ParentName implements pool.ChildOptions.
func (o Options) ParentName() string { return o.Parent }

// ValidateChild implements pool.ChildOptions.
func (o Options) ValidateChild(parent any, bad func(path, message string)) {
	p, ok := parent.(Options)
	if q, also := parent.(*Options); also {
		p, ok = *q, true
	}
	switch {
	case !ok:
		bad("parent", "want a service whose pool is of this model")
		return
	case o.MaxConnections > p.MaxConnections:
		bad("max_connections", fmt.Sprintf("want at most %d, as the parent has, have %d", p.MaxConnections, o.MaxConnections))
	}
	if o.Fair != p.Fair {
		bad("fair", fmt.Sprintf("want %v, as the parent has it", p.Fair))
	}
}

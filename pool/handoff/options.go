package handoff

import (
	"fmt"
	"time"

	"poolwise/sim/wording"
)

// Options are those of the pool; DefaultOptions returns the defaults.
type Options struct {
	MaxTotal          int           `yaml:"max_total" doc:"connections at once, idle, lent and being opened together; at least 1; default 10"`
	AcquireTimeout    time.Duration `yaml:"acquire_timeout" doc:"longest time of an acquire where the request gives none: the wait, a validation and a connect together; above 0; default 30s"`
	Validation        Validation    `yaml:"validate" doc:"when a connection is tested: after_idle (default) or always, before an idle one is lent; background, all idle ones from time to time; never"`
	ValidateAfterIdle time.Duration `yaml:"validate_after_idle" doc:"with after_idle, a connection is tested if it was idle for longer than this; 0 tests all that were idle at all; default 500ms"`
	ValidationPeriod  time.Duration `yaml:"validation_period" doc:"with background, pause between the end of one round of tests and the next; above 0; default 30s"`
	MaxLifetime       time.Duration `yaml:"max_lifetime" doc:"an idle connection older than this is closed when its turn to be lent comes; 0 never; default 30m"`
	Reset             bool          `yaml:"reset" doc:"true: a return rolls back and resets the session, which takes a round trip; false leaves the next borrower what the last one did; default true"`
	Race              Race          `yaml:"race" doc:"what a woken waiter looks at first: grant_wins (default, correct) or deadline_first, the bug on purpose: a grant that comes too late is lost for ever; to see it without a wake_delay takes events at one instant"`
	WakeDelay         time.Duration `yaml:"wake_delay" doc:"time from the moment at which a waiter is woken until it has the lock again; 0 (default) is at once; threads take some 50us"`
	LeakDetection     time.Duration `yaml:"leak_detection_threshold" doc:"a loan that lasts longer raises an alarm, which is false if the connection is returned after all; 0 (default) raises none; HikariCP's leakDetectionThreshold, of 2s at least"`
	CloseGrace        time.Duration `yaml:"close_grace" doc:"longest time for which close waits for connections to come back; 0 does not wait; default 10s"`
}

// DefaultOptions returns the defaults.
func DefaultOptions() Options {
	return Options{
		MaxTotal:          10,
		AcquireTimeout:    30 * time.Second,
		Validation:        AfterIdle,
		ValidateAfterIdle: 500 * time.Millisecond,
		ValidationPeriod:  30 * time.Second,
		MaxLifetime:       30 * time.Minute,
		Reset:             true,
		CloseGrace:        10 * time.Second,
	}
}

// maxConns is the largest pool that names of loans are made for.
const maxConns = 1_000_000

// Validate reports the mistakes in o.
func (o Options) Validate(bad func(path, message string)) {
	if o.MaxTotal < 1 || o.MaxTotal > maxConns {
		bad("max_total", fmt.Sprintf("want 1 to %d connections, have %d", maxConns, o.MaxTotal))
	}
	if o.AcquireTimeout <= 0 {
		bad("acquire_timeout", fmt.Sprintf("want a duration above 0s, as no acquire could connect in no time, have %v", o.AcquireTimeout))
	}
	if o.ValidationPeriod <= 0 {
		bad("validation_period", fmt.Sprintf("want a duration above 0s, have %v", o.ValidationPeriod))
	}
	for _, d := range []struct {
		path  string
		value time.Duration
	}{
		{"validate_after_idle", o.ValidateAfterIdle},
		{"max_lifetime", o.MaxLifetime},
		{"wake_delay", o.WakeDelay},
		{"leak_detection_threshold", o.LeakDetection},
		{"close_grace", o.CloseGrace},
	} {
		if d.value < 0 {
			bad(d.path, fmt.Sprintf("want a duration of at least 0s, have %v", d.value))
		}
	}
}

// Validation says when connections are tested.
type Validation uint8

// The policies.
const (
	AfterIdle  Validation = iota // before an idle connection is lent, if it was idle for long
	Always                       // before every idle connection is lent
	Background                   // all idle connections, periodically
	Never                        // the first use finds out
)

var validations = []string{"after_idle", "always", "background", "never"}

// String returns the name of v.
func (v Validation) String() string { return validations[v] }

// UnmarshalText reads a name.
func (v *Validation) UnmarshalText(text []byte) error { return wording.Number(v, validations, text) }

// Race says what a waiter whose deadline has passed does with a grant.
type Race uint8

// The two ways.
const (
	GrantWins     Race = iota // it looks at the grant first, and takes it
	DeadlineFirst             // it looks at the deadline first, and leaves: nobody has what was granted
)

var races = []string{"grant_wins", "deadline_first"}

// String returns the name of r.
func (r Race) String() string { return races[r] }

// UnmarshalText reads a name.
func (r *Race) UnmarshalText(text []byte) error { return wording.Number(r, races, text) }

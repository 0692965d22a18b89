package handoff_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/pool"
	"poolwise/pool/handoff"
	"poolwise/pool/pooltest"
)

// The histories that all models go through, with every fault that a server has.
func TestCommonHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pooltest.History(t, pooltest.Subject{
			New: func(t *rapid.T, env pool.Env) ([]pool.Pool, int) {
				span := func(name string) time.Duration {
					return rapid.SampledFrom([]time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}).Draw(t, name)
				}
				o := handoff.Options{
					MaxTotal:          rapid.IntRange(1, 4).Draw(t, "max_total"),
					AcquireTimeout:    rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second}).Draw(t, "acquire_timeout"),
					Validation:        handoff.Validation(rapid.IntRange(0, 3).Draw(t, "validate")),
					ValidateAfterIdle: span("validate_after_idle"),
					ValidationPeriod:  time.Millisecond + span("validation_period"),
					MaxLifetime:       span("max_lifetime"),
					Reset:             rapid.Bool().Draw(t, "reset"),
					Race:              handoff.Race(rapid.IntRange(0, 1).Draw(t, "race")),
					WakeDelay:         span("wake_delay"),
					CloseGrace:        span("close_grace"),
				}
				lends := o.MaxTotal
				if o.Race == handoff.DeadlineFirst { // it may lose some
					lends = 0
				}
				return []pool.Pool{handoff.New(env, o)}, lends
			},
			Ends: []pool.End{pool.Release, pool.Discard, pool.CloseOnDrop, pool.Broken, pool.Detach, pool.Leak},
			Rest: 10 * time.Second,
		})
	})
}

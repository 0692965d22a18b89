package pooltest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/pool"
	"poolwise/pool/none"
	"poolwise/pool/semaphore"
)

// allEnds are the ways in which loans end, most of them well.
var allEnds = []pool.End{pool.Release, pool.Release, pool.Release, pool.Discard, pool.CloseOnDrop, pool.Detach, pool.Leak, pool.Broken}

func TestSemaphoreHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		History(t, Subject{
			New: func(t *rapid.T, env pool.Env) ([]pool.Pool, int) {
				o := semaphore.DefaultOptions()
				o.Max = rapid.IntRange(1, 4).Draw(t, "max")
				o.AcquireTimeout = rapid.SampledFrom([]time.Duration{patient, patient, 20 * time.Millisecond}).Draw(t, "acquire_timeout")
				o.MaxLifetime = rapid.SampledFrom([]time.Duration{0, 10 * time.Millisecond, time.Hour}).Draw(t, "max_lifetime")
				o.TestOnAcquire = rapid.Bool().Draw(t, "test_on_acquire")
				o.PermitFirst = rapid.Bool().Draw(t, "permit_first")
				if o.MaxLifetime > 0 {
					o.LifetimeJitter = rapid.SampledFrom([]time.Duration{0, 10 * time.Millisecond}).Draw(t, "lifetime_jitter")
					o.RedrawJitter = o.LifetimeJitter > 0 && rapid.Bool().Draw(t, "redraw_jitter")
				}
				if rapid.IntRange(0, 2).Draw(t, "codel") == 0 {
					o.QueueTarget, o.QueueInterval = time.Millisecond, 10*time.Millisecond
					return []pool.Pool{semaphore.New(env, o)}, 0
				}
				w := &o.Waiters
				w.Order = rapid.SampledFrom([]semaphore.Order{semaphore.FIFO, semaphore.LIFO, semaphore.Random}).Draw(t, "order")
				if w.Barging = rapid.Bool().Draw(t, "barging"); w.Barging {
					w.WakeDelay = rapid.SampledFrom([]time.Duration{0, time.Millisecond, 10 * time.Millisecond}).Draw(t, "wake_delay")
					w.LosePlace = rapid.Bool().Draw(t, "lose_place")
				}
				if o.AcquireTimeout < patient {
					return []pool.Pool{semaphore.New(env, o)}, 0
				}
				return []pool.Pool{semaphore.New(env, o)}, o.Max
			},
			Ends:    allEnds,
			Endless: true,
			Rest:    time.Minute,
		})
	})
}

func TestNoneHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		History(t, Subject{
			New: func(t *rapid.T, env pool.Env) ([]pool.Pool, int) {
				return []pool.Pool{none.New(env, none.DefaultOptions())}, 3
			},
			Ends:    allEnds,
			Endless: true,
			Rest:    time.Minute,
		})
	})
}

package semaphore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/pool/semaphore"
)

// Each option that means nothing without another is a mistake without it.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(o *semaphore.Options)
		paths  []string
	}{
		{func(o *semaphore.Options) {}, nil},
		{func(o *semaphore.Options) { o.Max, o.AcquireTimeout, o.MaxLifetime = 0, -1, -1 }, []string{"max", "acquire_timeout", "max_lifetime"}},
		{func(o *semaphore.Options) { o.LifetimeJitter, o.RedrawJitter = time.Second, true }, nil},
		{func(o *semaphore.Options) { o.MaxLifetime, o.LifetimeJitter = 0, time.Second }, []string{"lifetime_jitter"}},
		{func(o *semaphore.Options) { o.LifetimeJitter = -1 }, []string{"lifetime_jitter"}},
		{func(o *semaphore.Options) { o.RedrawJitter = true }, []string{"redraw_jitter"}},
		{func(o *semaphore.Options) {
			o.Waiters = semaphore.Waiters{Order: semaphore.Random, Barging: true, WakeDelay: time.Second, LosePlace: true}
		}, nil},
		{func(o *semaphore.Options) { o.Waiters = semaphore.Waiters{WakeDelay: time.Second, LosePlace: true} }, []string{"waiters.wake_delay", "waiters.lose_place"}},
		{func(o *semaphore.Options) { o.QueueTarget = time.Second }, nil},
		{func(o *semaphore.Options) { o.QueueTarget, o.QueueInterval = -1, -1 }, []string{"queue_target", "queue_interval"}},
		{func(o *semaphore.Options) { o.QueueInterval = 1 }, []string{"queue_interval"}},
		{func(o *semaphore.Options) { o.QueueTarget, o.Waiters.Order = time.Second, semaphore.LIFO }, []string{"queue_target"}},
		{func(o *semaphore.Options) { o.Waiters = semaphore.Waiters{Barging: true, WakeDelay: -1} }, []string{"waiters.wake_delay"}},
	} {
		o := semaphore.DefaultOptions()
		c.change(&o)
		var paths []string
		o.Validate(func(path, message string) { paths = append(paths, path) })
		if diff := cmp.Diff(c.paths, paths); diff != "" {
			t.Errorf("%+v: mistakes (-want +got):\n%s", o, diff)
		}
	}
}

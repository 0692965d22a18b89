package asyncio_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/pool"
	"poolwise/pool/asyncio"
	"poolwise/pool/pooltest"
)

// The histories that all models go through.
func TestCommonHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pooltest.History(t, pooltest.Subject{
			New: func(t *rapid.T, env pool.Env) ([]pool.Pool, int) {
				o := asyncio.Options{MaxSize: rapid.IntRange(1, 4).Draw(t, "max_size"), CheckoutTimeout: 500 * time.Millisecond}
				return []pool.Pool{asyncio.New(env, o)}, o.MaxSize
			},
			Ends: []pool.End{pool.Release, pool.Discard, pool.CloseOnDrop, pool.Broken, pool.Leak},
			Rest: time.Second,
		})
	})
}

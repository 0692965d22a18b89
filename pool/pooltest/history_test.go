package pooltest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/pool"
	"poolwise/pool/sqlx"
	"poolwise/sim/dist"
)

func TestSqlxHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { History(t, sqlxSubject(false)) })
}

func TestSqlxFamilyHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { History(t, sqlxSubject(true)) })
}

func sqlxSubject(family bool) Subject {
	return Subject{
		New: func(t *rapid.T, env pool.Env) ([]pool.Pool, int) {
			o := randomSqlxOptions(t)
			p := sqlx.New(env, o)
			switch {
			case family:
				env.Index = 1
				co := randomSqlxOptions(t)
				co.MaxConnections, co.Fair = min(co.MaxConnections, o.MaxConnections), o.Fair
				child := sqlx.New(env, co)
				child.SetParent(p)
				return []pool.Pool{p, child}, 0
			case o.AcquireTimeout < patient:
				return []pool.Pool{p}, 0
			}
			return []pool.Pool{p}, o.MaxConnections
		},
		Ends: []pool.End{pool.Release, pool.Release, pool.Release, pool.Discard, pool.CloseOnDrop, pool.Detach, pool.Leak, pool.Broken},
		Rest: 310 * time.Second, // a refill may try for 300s
	}
}

// patient is an acquire_timeout that no acquire exceeds if the server is well.
const patient = 5 * time.Second

func randomSqlxOptions(t *rapid.T) sqlx.Options {
	span := func(name string, of ...time.Duration) time.Duration {
		return rapid.SampledFrom(append(of, spans...)).Draw(t, name)
	}
	perhaps := func(name string) *time.Duration {
		d := rapid.SampledFrom([]time.Duration{0, 15500 * time.Microsecond, 20 * time.Millisecond, 50 * time.Millisecond, time.Hour}).Draw(t, name)
		if d == 0 {
			return nil
		}
		return &d
	}
	o := sqlx.DefaultOptions()
	o.MaxConnections = rapid.IntRange(1, 4).Draw(t, "max")
	o.MinConnections = rapid.IntRange(0, o.MaxConnections).Draw(t, "min")
	o.AcquireTimeout = span("acquire_timeout", patient, patient, patient, 33300*time.Microsecond)
	o.IdleTimeout, o.MaxLifetime = perhaps("idle_timeout"), perhaps("max_lifetime")
	o.TestBeforeAcquire = rapid.Bool().Draw(t, "test_before_acquire")
	o.Fair = rapid.Bool().Draw(t, "fair")
	o.TimerLateness = rapid.SampledFrom([]time.Duration{0, 100 * time.Microsecond}).Draw(t, "lateness")
	if rapid.Bool().Draw(t, "eager") {
		o.Start = sqlx.Eager
	}
	hook := func(name string) *sqlx.Hook {
		if !rapid.Bool().Draw(t, name) {
			return nil
		}
		h := &sqlx.Hook{Takes: dist.Fixed(span(name + " takes"))}
		for range rapid.IntRange(0, 5).Draw(t, name+" calls") {
			h.Results = append(h.Results, rapid.SampledFrom([]sqlx.HookResult{sqlx.HookOK, sqlx.HookFalse, sqlx.HookError}).Draw(t, name+" result"))
		}
		return h
	}
	o.AfterConnect, o.BeforeAcquire, o.AfterRelease = hook("after_connect"), hook("before_acquire"), hook("after_release")
	return o
}

package sqlx

import (
	"fmt"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
)

// hook is a callback of the user with its randomness.
type hook struct {
	*Hook
	takes  sim.Sampler
	stream sim.Stream
	calls  int // so far, over all connections
}

func newHook(o *Hook, env pool.Env, name string) *hook {
	if o == nil {
		return nil
	}
	purpose := fmt.Sprintf("sqlx %d %s", env.Index, name)
	return &hook{Hook: o, takes: o.Takes.Sampler(), stream: sim.NewStream(env.Seed, purpose)}
}

// call begins a call, and returns how long it takes and how it will end. The number keys its luck.
func (h *hook) call(number int64) (time.Duration, HookResult) {
	n := h.calls
	h.calls++
	luck := h.stream.At(number)
	takes, u := h.takes.Sample(&luck), luck.Unit()
	switch {
	case n < len(h.Results):
		return takes, h.Results[n]
	case u < float64(h.FalseProbability):
		return takes, HookFalse
	case u < float64(h.FalseProbability+h.ErrorProbability):
		return takes, HookError
	}
	return takes, HookOK
}

// luck is the number that keys the luck of a hook which runs for a request. Each part that uses the pool numbers its own.
func (p *Pool) luck(t *task) int64 { return t.request + int64(t.part-p.env.Index)<<40 }

// runHook runs a hook on the connection in hand. It reports whether the hook is over at once, and how it ended is in t.hook.
func (p *Pool) runHook(t *task, h *hook, number int64, s state) bool {
	e := p.table.Entry(t.conn)
	p.env.NoteFor(t.part, record.Fact{Kind: record.HookBegan, Conn: e.Number, Request: t.request, Move: record.Between(e.State(), record.None)})
	var takes time.Duration
	takes, t.hook = h.call(number)
	if takes <= 0 {
		return true
	}
	t.state = s
	p.arm(t, p.sim.Now().Add(takes))
	return false
}

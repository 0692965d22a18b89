package workload

import (
	"slices"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/server"
)

// opcode says what a compiled step does.
type opcode uint8

const (
	opAcquire opcode = iota
	opQuery
	opCall
	opReturn
	opNested  // an acquire by a request that holds a connection
	opBegin   // a query that begins a transaction
	opCommit  // one that ends it
	opHurried // a query that is cancelled if it goes on for too long
	opDirty   // something will be left in the session
	opAgain   // the connection that was returned last is returned once more
	opSwitch  // go on in another thread
	opLeak    // with probability chance: what is held will not be given back
	opFail    // with probability chance
	opTake    // with probability chance the next skip steps are taken; otherwise they are left out
	opCancel  // from now on the caller waits only so long
	opPatient // and from now on for ever
	opEnd     // the request is done
)

// step is a compiled step.
type step struct {
	op      opcode
	how     pool.End          // opReturn
	dirt    pool.SessionState // opDirty
	limit   *wait             // opHurried
	try     bool              // opAcquire
	ordinal int64             // opQuery: its number among the queries of the program
	skip    int32             // opTake
	chance  float64           // opLeak, opFail, opTake
	timeout time.Duration     // opAcquire
	wait    wait              // opCall, opCancel; opQuery where no server runs it
	query   *server.Query     // opQuery
}

// program is what a request does, or for a script, what each entry does, one after the other.
type program struct {
	steps   []step
	depth   int   // most connections held at once
	queries int64 // in one attempt
	random  bool  // it has steps that chance decides
	calls   bool  // it has calls of random length
	cancels bool  // it has steps that end the caller's patience
	nested  bool  // a request that holds a connection may wait for another
	locks   bool  // it has queries that lock rows
}

// maxDepth is the most connections that a request may hold at once, the number of bits of slot.leaks.
const maxDepth = 16

// maxAttempts is the most attempts of a request, so that each has random draws of its own.
const maxAttempts = 64

// maxQueries is how many queries a request may make, all attempts together, so that each has a number of its own.
const maxQueries = 64

// wait is a duration to be drawn.
type wait struct {
	draw  sim.Sampler // nil if there is only one value
	fixed time.Duration
	delay sim.Delay
}

func newWait(s *sim.Sim, of sim.Sampler) wait {
	c, ok := of.(dist.Constant)
	switch {
	case !ok:
		return wait{draw: of}
	case c == 0:
		return wait{}
	}
	return wait{fixed: time.Duration(c), delay: s.Delay(time.Duration(c))}
}

// sample draws with r.
func (w *wait) sample(r *sim.Rand) time.Duration {
	if w.draw == nil {
		return w.fixed
	}
	return w.draw.Sample(r)
}

// arm sends ev after a wait drawn with r, and returns its timer.
func (w *wait) arm(s *sim.Sim, r *sim.Rand, ev sim.Event) sim.Timer {
	if w.draw == nil {
		return s.Arm(w.delay, ev)
	}
	return s.ArmAt(s.Now().Add(w.draw.Sample(r)), ev)
}

// send is arm for what need not be taken back.
func (w *wait) send(s *sim.Sim, r *sim.Rand, ev sim.Event) {
	if w.draw == nil {
		s.Arm(w.delay, ev)
		return
	}
	s.After(w.draw.Sample(r), ev)
}

// never reports whether the wait is no wait at all.
func (w *wait) never() bool { return w.draw == nil && w.fixed == 0 }

// compiler turns steps into a program.
type compiler struct {
	program
	sim    *sim.Sim
	server *server.Options
	held   int // connections held after the steps so far
}

func (c *compiler) add(st step) { c.steps = append(c.steps, st) }

// request adds the steps of a request.
func (c *compiler) request(steps []Step) {
	for i := range steps {
		c.step(&steps[i])
	}
	c.add(step{op: opEnd})
}

func (c *compiler) step(s *Step) {
	if s.Chance != nil {
		take := len(c.steps)
		c.random = true
		c.add(step{op: opTake, chance: float64(*s.Chance)})
		defer func() { c.steps[take].skip = int32(len(c.steps) - take - 1) }()
	}
	switch {
	case s.Acquire != nil:
		op := opAcquire
		if c.held > 0 {
			op, c.nested = opNested, c.nested || !s.Acquire.Try
		}
		c.held++
		c.depth = max(c.depth, c.held)
		c.add(step{op: op, try: s.Acquire.Try, timeout: valueOr(s.Acquire.Timeout, 0)})
	case s.Query != nil:
		st := step{op: opQuery, query: s.Query.Compile(c.sim, c.server), wait: alone(s.Query)}
		if s.CancelAfter != nil {
			limit := newWait(c.sim, s.CancelAfter.Sampler())
			st.op, st.limit = opHurried, &limit
		}
		c.locks = c.locks || slices.ContainsFunc(s.Query.Phases, func(p server.Phase) bool { return p.Lock != "" })
		c.query(st)
	case s.Call != nil:
		w := newWait(c.sim, s.Call.Sampler())
		c.calls = c.calls || w.draw != nil
		c.add(step{op: opCall, wait: w})
	case s.Return != nil:
		c.held--
		c.add(step{op: opReturn, how: pool.End(*s.Return)})
	case s.Dirty != nil:
		c.add(step{op: opDirty, dirt: 1 << *s.Dirty})
	case s.Act != nil:
		c.act(*s.Act)
	case s.Leak != nil:
		c.random = true
		c.add(step{op: opLeak, chance: float64(*s.Leak)})
	case s.Fail != nil:
		c.random = true
		c.add(step{op: opFail, chance: float64(*s.Fail)})
	case s.Cancel != nil:
		c.cancels = true
		c.add(step{op: opCancel, wait: newWait(c.sim, s.Cancel.After.Sampler())})
	case s.Do != nil:
		for i := range s.Do {
			c.step(&s.Do[i])
		}
	}
}

func (c *compiler) act(a Act) {
	switch a {
	case BeginTx:
		c.query(step{op: opBegin, query: server.Begin})
	case CommitTx, RollbackTx:
		c.query(step{op: opCommit, query: server.Commit})
	case ReturnAgain:
		c.add(step{op: opAgain})
	case SwitchThread:
		c.add(step{op: opSwitch})
	}
}

// query adds a query, which gets a number.
func (c *compiler) query(st step) {
	st.ordinal = c.queries
	c.queries++
	c.add(st)
}

// alone returns the time of a query that no server runs: that of its phases, one after the other. It has no lane: most pools
// never need it.
func alone(q *server.QuerySpec) wait {
	if q.Phases == nil {
		return wait{draw: q.Service.Sampler()}
	}
	var s phases
	for _, p := range q.Phases {
		of := p.CPU
		if of == nil {
			of = p.IO
		}
		if of == nil {
			continue // a lock, of which there is none without a server
		}
		s = append(s, phase{of.Sampler(), float64(valueOr(p.Chance, 1))})
	}
	return wait{draw: s}
}

// phases samples the sum of several times.
type phases []phase

type phase struct {
	of     sim.Sampler
	chance float64
}

// Sample implements sim.Sampler.
func (s phases) Sample(r *sim.Rand) (sum time.Duration) {
	for _, p := range s {
		if p.chance < 1 && r.Unit() >= p.chance {
			continue
		}
		sum += min(p.of.Sample(r), dist.Max-sum)
	}
	return sum
}

// entry adds what an entry of a script does; it returns where that begins.
func (c *compiler) entry(s *Scripted) int32 {
	start := int32(len(c.steps))
	c.depth = 1
	if s.CancelAt != nil {
		c.cancels = true
		c.add(step{op: opCancel, wait: newWait(c.sim, dist.Constant(*s.CancelAt-s.At))})
	}
	c.add(step{op: opAcquire, try: s.Op == TryAcquireOp, timeout: valueOr(s.Timeout, 0)})
	if s.CancelAt != nil {
		c.add(step{op: opPatient})
	}
	if s.Hold > 0 {
		c.add(step{op: opCall, wait: newWait(c.sim, dist.Constant(s.Hold))})
	}
	c.add(step{op: opReturn, how: pool.End(s.Then)})
	c.add(step{op: opEnd})
	return start
}

// valueOr returns what p points to, or the default.
func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

package workload

import (
	"fmt"
	"hash/fnv"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Env is what a Driver is built from.
type Env struct {
	Sim     *sim.Sim
	Pool    pool.Pool
	Server  server.Backend  // runs the queries
	Options *server.Options // of that server: queries are compiled for it
	Sink    record.Sink
	Seed    uint64
	Index   int16     // of the workload among the parts of the run: the Pool of facts
	Name    string    // of the service and the instance; it keys the random draws
	Service string    // name of the service; it keys those that its instances have in common if they share a workload
	Done    sim.Reply // told when no request goes on and none will come
}

// Driver runs a workload against a pool. It is an actor: Start sets it going, the rest follows from events. Each request that
// goes on has a slot, which steps through the program (see request.go).
//
// Requests are numbered from 0: by arrival, by entry of the script, and those of client c of n clients c, c+n, c+2n, ... So
// a request's number, and with it all its random draws, does not depend on what the others do.
type Driver struct {
	env Env
	id  sim.ActorID
	program
	wordy      bool     // somebody wants to know what a request is at
	retries    *retries // nil for none
	streams    streams
	draws      sim.Rand // of what is being drawn; a local variable would go to the heap
	firstQuery int64    // number of the first query of request 0

	slots []slot
	free  []int32
	conns []pool.Conn // what the slots hold, program.depth places for each
	live  int         // requests that go on

	threads *threads // nil for any number
	watch   *watch   // nil if no deadlock is possible
	place   int32    // in it

	deadline *sim.Delay    // nil for none
	within   time.Duration // the deadline
	hasty    bool          // requests may give up: there is a deadline or a cancel step

	origin  sim.Time // when Start was called
	coming  int64    // where requests come from and has not run dry: the arrivals, clients, entries of the script
	stopped bool
	told    bool // Done was told

	source source   // open
	next   int64    // open: number of the next arrival
	at     sim.Time // open: when it comes
	limit  int64    // open: how many may come, -1 for any number

	clients int64 // closed
	end     int64 // closed: the numbers of requests are below it; -1 for no limit
	stagger wait  // closed
	think   wait  // closed
	turning int64 // closed: request that begins before the event in hand is done, -1 for none

	script []entry

	lastEnd sim.Time // when a request ended last
	ends    int      // how many did at that instant
	maxEnds int      // how many may, 0 for any number
	err     error
}

// streams are the random numbers by purpose.
type streams struct{ luck, call, query, patience, statement, stagger, think, retry sim.Stream }

// entry is a compiled entry of a script.
type entry struct {
	at    time.Duration
	start int32 // its first step
}

// The events of a Driver. A is a slot unless something else is said.
const (
	arrived   sim.Kind = iota // the next request of an open workload
	entered                   // A: entry of the script
	turned                    // A, B: upper and lower half of the number of a client's next request
	granted                   // the acquire is answered; B: connection or code
	queried                   // the query is; B: code
	called                    // the call is over
	returned                  // the return is answered; B: code
	paused                    // the pause before another attempt is over
	expired                   // the deadline of the request
	impatient                 // the caller's patience is at its end
	tooLong                   // the query is to be cancelled; B: the lower half of its number
	threaded                  // it has a thread; B: the lower half of the number of the request
)

// New returns the driver of a valid workload.
func New(env Env, o Options) *Driver {
	d := &Driver{env: env, limit: -1, end: -1, turning: -1, firstQuery: firstQuery(env.Name)}
	d.id = env.Sim.Add(d)
	d.wordy = record.Wants(env.Sink, record.QuerySent) || record.Wants(env.Sink, record.ThreadWanted) || record.Wants(env.Sink, record.CallBegan)
	stream := func(purpose string) sim.Stream { return sim.NewStream(env.Seed, env.Name+" "+purpose) }
	d.streams = streams{
		luck: stream("luck"), call: stream("call"), query: stream("query"), patience: stream("patience"),
		statement: stream("statement"), stagger: stream("stagger"), think: stream("think"), retry: stream("retry"),
	}
	c := compiler{sim: env.Sim, server: env.Options}
	switch {
	case o.Script != nil:
		for i := range o.Script {
			d.script = append(d.script, entry{o.Script[i].At, c.entry(&o.Script[i])})
		}
		d.coming = int64(len(d.script))
	case o.Arrivals != nil:
		c.request(o.Request)
		common := stream
		if o.Shared {
			common = func(purpose string) sim.Stream { return sim.NewStream(env.Seed, env.Service+" "+purpose) }
		}
		d.source = newSource(o.Arrivals, stream, common)
		d.limit = valueOr(o.Limit, -1)
		d.coming = 1
	default:
		c.request(o.Request)
		d.clients = int64(*o.Clients)
		d.stagger, d.think = newWait(env.Sim, o.Stagger.Sampler()), newWait(env.Sim, o.Think.Sampler())
		d.coming = d.clients
		if o.Repeat != nil {
			d.end = d.clients * *o.Repeat
		} else {
			d.maxEnds = 100_000 + 100**o.Clients
		}
	}
	d.program = c.program
	d.hasty = d.cancels
	if o.Deadline != nil {
		delay := env.Sim.Delay(*o.Deadline)
		d.deadline, d.within, d.hasty = &delay, *o.Deadline, true
	}
	if o.Threads != nil {
		d.threads = &threads{limit: *o.Threads}
	}
	if d.nested || d.locks || d.threads != nil {
		d.watch = &watch{drivers: []*Driver{d}}
	}
	if o.Retry != nil {
		d.retries = newRetries(o.Retry)
	}
	return d
}

// firstQuery returns the number of the first query of the services of a name: 0 without a name, and otherwise so that services
// and instances on one server have numbers, and thus draws, of their own.
func firstQuery(name string) int64 {
	if name == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return int64(h.Sum64()>>2) &^ (maxQueries - 1)
}

// Start lets the requests come; all their times are from now on.
func (d *Driver) Start() {
	d.origin = d.env.Sim.Now()
	switch {
	case d.source != nil:
		d.schedule()
	case d.clients > 0:
		for n := range d.clients {
			d.draws = d.streams.stagger.At(n)
			d.stagger.send(d.env.Sim, &d.draws, d.turn(n))
		}
	default:
		for i := range d.script {
			d.env.Sim.At(d.origin.Add(d.script[i].at), sim.Event{To: d.id, Kind: entered, A: int32(i)})
		}
	}
	d.checkDone()
}

// Stop lets no further request come; those that go on do so to their end.
func (d *Driver) Stop() {
	d.stopped = true
	d.checkDone()
}

// Err returns why the driver stopped the run: its clients made request after request and no time passed.
func (d *Driver) Err() error { return d.err }

// Handle implements sim.Actor.
func (d *Driver) Handle(ev sim.Event) {
	i := ev.A
	switch ev.Kind {
	case arrived:
		d.arrive()
	case entered:
		d.enter(i)
	case turned:
		d.turning = int64(ev.A)<<32 | int64(uint32(ev.B))
	case granted:
		d.granted(i, ev.B)
	case queried:
		d.queried(i, ev.B)
	case called:
		d.mustBe(i, calling)
		d.advance(i)
	case returned:
		d.returned(i, ev.B)
	case paused:
		d.mustBe(i, pausing)
		d.attempt(i)
	case expired:
		d.giveUp(i, record.RequestTimeout)
	case impatient:
		d.giveUp(i, record.Cancelled)
	case tooLong:
		d.cancelQuery(i, ev.B)
	case threaded:
		if s := &d.slots[i]; s.state == threading && int32(s.number) == ev.B {
			d.inThread(i)
		}
	}
	for d.turning >= 0 { // a loop, as such a request may end without waiting for anything
		n := d.turning
		d.turning = -1
		if !d.stopped {
			d.begin(n, d.env.Sim.Now(), 0)
		}
	}
}

// schedule asks for the next arrival.
func (d *Driver) schedule() {
	if d.next != d.limit {
		if at, ok := d.source.next(); ok {
			d.at = d.origin.Add(time.Duration(at))
			d.env.Sim.At(max(d.at, d.env.Sim.Now()), sim.Event{To: d.id, Kind: arrived}) // a Chooser may have made us late
			return
		}
	}
	d.coming--
}

func (d *Driver) arrive() {
	if d.stopped {
		return
	}
	n, at := d.next, d.at
	d.next++
	d.schedule()
	d.begin(n, at, 0)
}

func (d *Driver) enter(i int32) {
	if d.stopped {
		return
	}
	e := d.script[i]
	d.coming--
	d.begin(int64(i), d.origin.Add(e.at), e.start)
}

// turn is the event in which request n of a client begins.
func (d *Driver) turn(n int64) sim.Event {
	return sim.Event{To: d.id, Kind: turned, A: int32(n >> 32), B: int32(n)}
}

// turnAfter lets the client go on whose request n has ended.
func (d *Driver) turnAfter(n int64) {
	next := n + d.clients
	if d.end >= 0 && next >= d.end {
		d.coming--
		return
	}
	if d.think.never() {
		d.turning = next
		return
	}
	d.draws = d.streams.think.At(n)
	d.think.send(d.env.Sim, &d.draws, d.turn(next))
}

// checkDone tells when there is nothing left to do.
func (d *Driver) checkDone() {
	if d.live == 0 && (d.coming == 0 || d.stopped) && !d.told {
		d.told = true
		d.env.Sim.Wake(d.env.Done, 0)
	}
}

// checkProgress stops a run in which clients without a limit make requests that take no time.
func (d *Driver) checkProgress(now sim.Time) {
	if now != d.lastEnd {
		d.lastEnd, d.ends = now, 0
	}
	d.ends++
	if d.ends > d.maxEnds && d.err == nil {
		d.err = fmt.Errorf("at %v the clients have made %d requests and no time has passed: give them a think time or a repeat", now, d.ends)
		d.Stop()
		d.env.Sim.Stop()
	}
}

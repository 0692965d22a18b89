package run

import (
	"context"
	"errors"
	"fmt"

	"poolwise/pool"
	"poolwise/pool/models"
	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/pooler"
	"poolwise/sim/record"
	"poolwise/sim/server"
	"poolwise/workload"
)

// world is one replication of one cell: a clock, a server, perhaps a pooler before it, and for each instance of each service a pool and its workload.
type world struct {
	sim      sim.Sim
	id       sim.ActorID
	scenario *scenarios.Scenario
	horizon  sim.Time
	server   *server.Server
	pooler   *pooler.Pooler // nil for none
	recorder *record.Recorder
	members  []member
	busy     int // members whose workload goes on
}

// member is one instance of a service.
type member struct {
	name   string
	pool   pool.Pool
	driver *workload.Driver
}

// The events of the world. A is the member.
const (
	starting sim.Kind = iota // its time has come
	started                  // its pool is ready, B: 0 or the code of its failure
	drained                  // its workload is over
)

// newWorld builds the world of a scenario without a sweep. Requests that arrive before from are not measured. extra takes the
// facts, too.
func newWorld(sc *scenarios.Scenario, seed uint64, from sim.Time, extra ...record.Sink) *world {
	w := &world{scenario: sc, horizon: sim.Time(sc.Until.Time)}
	if sc.Until.Drained {
		w.horizon = sim.Forever
	}
	w.id = w.sim.Add(w)
	names := sc.PoolNames()
	w.recorder = record.NewRecorder(len(names), from)
	var sink record.Sink = w.recorder
	if len(extra) > 0 {
		sink = append(record.Sinks{w.recorder}, extra...)
	}
	w.server = server.New(&w.sim, sink, seed, sc.Server)
	if sc.Pooler != nil {
		w.pooler = pooler.New(&w.sim, sink, seed, w.server, sc.Pooler.Options)
	}
	for _, s := range sc.All() {
		for i := range s.Instances {
			w.add(&s, i, names[len(w.members)], seed, sink)
		}
	}
	w.adopt()
	w.busy = len(w.members)
	return w
}

// add makes instance i of a service.
func (w *world) add(s *scenarios.Service, i int, name string, seed uint64, sink record.Sink) {
	a := int32(len(w.members))
	model, ok := models.Named(s.Pool.Model)
	role, known := w.scenario.Server.Role(s.Role)
	if !ok || !known {
		panic(fmt.Sprintf("run: no model %q or no role %q in a valid scenario", s.Pool.Model, s.Role))
	}
	var backend server.Backend = w.server
	if w.pooler != nil && !s.Direct {
		backend = w.pooler
	}
	p := model.New(pool.Env{Sim: &w.sim, Server: backend, Sink: sink, Seed: seed, Index: int16(a), Role: role}, s.Pool.Options)
	d := workload.New(workload.Env{
		Sim: &w.sim, Pool: p, Server: backend, Options: &w.scenario.Server, Sink: sink, Seed: seed, Index: int16(a), Name: name,
		Done: sim.Reply{To: w.id, Kind: drained, A: a},
	}, *s.Workload)
	w.members = append(w.members, member{name: name, pool: p, driver: d})
	at := sim.Time(0).Add(s.StartAt)
	for range i {
		at = at.Add(s.StartEvery)
	}
	w.sim.At(at, sim.Event{To: w.id, Kind: starting, A: a})
}

// adopt gives the pools that name a parent the pool of that service: the instance of the same number.
func (w *world) adopt() {
	first := map[string]int{} // member of the first instance
	n := 0
	for _, s := range w.scenario.All() {
		first[s.Name] = n
		n += s.Instances
	}
	n = 0
	for _, s := range w.scenario.All() {
		for i := range s.Instances {
			if child, ok := w.members[n].pool.(pool.Child); ok && child.ParentName() != "" {
				child.SetParent(w.members[first[child.ParentName()]+i].pool)
			}
			n++
		}
	}
}

// Handle implements sim.Actor.
func (w *world) Handle(ev sim.Event) {
	m := &w.members[ev.A]
	switch ev.Kind {
	case starting:
		m.pool.Start(sim.Reply{To: w.id, Kind: started, A: ev.A})
	case started:
		if o := server.OutcomeOf(ev.B); o != record.OK {
			// A program whose pool cannot be built does not serve: its workload is over before it began.
			w.over()
			return
		}
		m.driver.Start()
	case drained:
		w.over()
	}
}

// over notes that the workload of a member is over.
func (w *world) over() {
	w.busy--
	if w.busy == 0 && w.scenario.Until.Drained {
		w.sim.Stop()
	}
}

// verify panics if an invariant of a pool, or of the pooler, does not hold.
func (w *world) verify() {
	for i := range w.members {
		w.members[i].pool.Verify()
	}
	if w.pooler != nil {
		w.pooler.Verify()
	}
}

const (
	// stride is how many events a run handles between two looks at whether it should go on: few enough to stop at once even
	// while every fact is traced.
	stride = 1 << 12
	// patience is how many events may pass without the clock moving before the run is given up as going in circles.
	patience = 50_000_000
)

// run runs the world to its end.
func (w *world) run(ctx context.Context) error {
	at, since := w.sim.Now(), w.sim.Fired()
	for !w.sim.RunSome(w.horizon, stride) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.sim.Now() > at {
			at, since = w.sim.Now(), w.sim.Fired()
		} else if n := w.sim.Fired() - since; n > patience {
			return fmt.Errorf("at %v, %d events have passed and the clock has not moved: something goes in circles without taking time", at, n)
		}
	}
	var errs []error
	for i := range w.members {
		if err := w.members[i].driver.Err(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// finish ends the recording.
func (w *world) finish() *record.Run {
	r := w.recorder.Finish(w.sim.Now(), w.server.Stats().Busy, w.server.Cores())
	w.warn(r)
	return r
}

// warn adds what a reader should know before trusting the figures.
func (w *world) warn(r *record.Run) {
	var unfinished int64
	for i := range r.Parts {
		unfinished += r.Parts[i].Requests.Unfinished
	}
	if unfinished > 0 && w.scenario.Until.Drained {
		r.Warnings = append(r.Warnings, "requests were left that nothing could end: they wait for what will never come")
	} else if unfinished > 0 && w.scenario.Estimate == scenarios.Terminating {
		r.Warnings = append(r.Warnings, "requests were still going on at the end; they are in no percentile")
	}
}

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"poolwise/pool"
	"poolwise/pool/models"
	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/pooler"
	"poolwise/sim/record"
	"poolwise/sim/server"
	"poolwise/workload"
)

// world is one replication of one cell: a clock, servers, perhaps a pooler before the first, and for each instance of each service
// a workload and its pool, or that of another.
type world struct {
	sim      sim.Sim
	id       sim.ActorID
	scenario *scenarios.Scenario
	seed     uint64
	horizon  sim.Time
	server   *server.Server
	pooler   *pooler.Pooler   // nil for none
	servers  []*server.Server // the first is server
	places   []server.Backend // what pools connect to, in the order of Scenario.Places
	recorder *record.Recorder
	sink     record.Sink
	members  []member
	busy     int // members whose workload goes on, or will, and closes that are waited for

	deeds    []deed
	moves    *moves // nil if no action moves a pool
	findings []record.Finding
}

// member is one instance of a service, in one of its lives.
type member struct {
	name     string
	service  *scenarios.Service
	instance int
	owner    int32   // member whose pool it uses: itself, unless it has none of its own
	users    []int32 // of an owner: the members that use its pool, itself the first
	parent   int32   // member whose pool is the parent of this one's; -1
	program  []int32 // members in one program, this one included
	life     int32   // how often it was restarted

	pool   pool.Pool // of its owner, as backend and route are
	driver *workload.Driver
	place  server.Backend // what the pool connects to
	route  *server.Route  // nil if no action moves it
	ready  bool           // of an owner: the pool; of another: its time has come
	actors [2]sim.ActorID // they are those from the first to before the second
	over   bool           // the workload
	exited bool           // the program
	frozen sim.Time       // until then it stands still
	ending []int32        // deeds that wait for the end of the workload
	closes int            // deeds that wait for the pool to close, and keep the run going

	failed   record.Outcome // of the start of its pool; OK if there was none
	failedAt sim.Time
}

// The events of the world. A is the member in its life (see name), or the deed.
const (
	starting sim.Kind = iota // its time has come
	started                  // an owner: its pool is ready, B: 0 or the code of its failure
	drained                  // its workload is over
	acting                   // A: a deed, whose time has come
	closed                   // A: a deed, the close of a pool, B: connections that were not returned
)

// newWorld builds the world of a scenario without a sweep. Requests that arrive before from are not measured. extra takes the
// facts, too.
func newWorld(sc *scenarios.Scenario, seed uint64, from sim.Time, extra ...record.Sink) *world {
	w := &world{scenario: sc, seed: seed, horizon: sim.Time(sc.Until.Time)}
	if sc.Until.Drained {
		w.horizon = sim.Forever
	}
	w.id = w.sim.Add(w)
	names := sc.PoolNames()
	w.recorder = record.NewRecorder(len(names), from)
	if pools := poolOf(sc); pools != nil {
		w.recorder.PoolOf(pools)
	}
	w.recorder.Group(groups(sc))
	w.sink = w.recorder
	if len(extra) > 0 {
		w.sink = record.NewFan(append([]record.Sink{w.recorder}, extra...)...)
	}
	w.prepare(len(names))
	w.addServers()
	services := sc.All()
	for i := range services {
		for j := range services[i].Instances {
			w.members = append(w.members, member{name: names[len(w.members)], service: &services[i], instance: j, parent: -1})
		}
	}
	w.relate()
	for a := range w.members {
		if m := &w.members[a]; m.owner == int32(a) {
			w.recorder.Capacity(a, m.service.Capacity())
			w.build(m)
			w.sim.At(m.begins(), sim.Event{To: w.id, Kind: starting, A: w.name(int32(a))})
		}
	}
	for a := range w.members {
		w.adopt(int32(a))
	}
	w.busy = len(w.members)
	w.plan()
	return w
}

// poolOf returns for each instance of each service the index of that whose pool it uses, nil if each has its own.
func poolOf(sc *scenarios.Scenario) []int16 {
	services := sc.All()
	if !slices.ContainsFunc(services, func(v scenarios.Service) bool { return v.PoolOf != "" }) {
		return nil
	}
	first, n := map[string]int{}, 0
	for _, v := range services {
		first[v.Name] = n
		n += v.Instances
	}
	var pools []int16
	for _, v := range services {
		for i := range v.Instances {
			pools = append(pools, int16(first[v.Owner()]+i))
		}
	}
	return pools
}

// groups returns the services with several instances.
func groups(sc *scenarios.Scenario) (all []record.Group) {
	first := 0
	for _, s := range sc.All() {
		if s.Instances > 1 {
			all = append(all, record.Group{Name: s.Name, First: first, N: s.Instances})
		}
		first += s.Instances
	}
	return all
}

// addServers makes the servers and the pooler.
func (w *world) addServers() {
	sc := w.scenario
	w.server = server.New(&w.sim, w.at(0), w.seed, sc.Server)
	w.servers, w.places = append(w.servers, w.server), append(w.places, w.server)
	for i := range sc.Servers {
		s := w.server.Beside(w.at(i+1), w.seed, sc.Servers[i].Name, sc.Servers[i].Options)
		w.servers, w.places = append(w.servers, s), append(w.places, s)
	}
	if sc.Pooler != nil {
		w.pooler = pooler.New(&w.sim, w.at(len(w.places)), w.seed, w.server, sc.Pooler.Options)
		w.places = append(w.places, w.pooler)
	}
}

// relate finds whose pool each member uses, and the parent of that: those of the instance of the same number of the service named,
// which is in the same program.
func (w *world) relate() {
	first := map[string]int32{} // member of the first instance
	for a := len(w.members) - 1; a >= 0; a-- {
		first[w.members[a].service.Name] = int32(a)
	}
	program := make([]int32, len(w.members)) // the first member of it
	for a := range w.members {
		m := &w.members[a]
		program[a] = int32(a)
		m.owner = first[m.service.Owner()] + int32(m.instance)
		if m.owner == int32(a) {
			m.users = append([]int32{m.owner}, m.users...)
		} else {
			o := &w.members[m.owner]
			o.users = append(o.users, int32(a))
			continue
		}
		if o, ok := m.service.Pool.Options.(pool.ChildOptions); ok && o.ParentName() != "" {
			m.parent = first[o.ParentName()] + int32(m.instance)
		}
	}
	for range w.members { // until nothing changes, which is soon: families are small
		changed := false
		for a := range w.members {
			for _, p := range []int32{w.members[a].parent, w.members[a].owner} {
				if p >= 0 && program[a] != program[p] {
					program[a] = min(program[a], program[p])
					program[p], changed = program[a], true
				}
			}
		}
		if !changed {
			break
		}
	}
	together := make([][]int32, len(w.members))
	for a := range w.members {
		together[program[a]] = append(together[program[a]], int32(a))
	}
	for a := range w.members {
		w.members[a].program = together[program[a]]
	}
}

// begins returns when a member starts.
func (m *member) begins() sim.Time {
	at := sim.Time(0).Add(m.service.StartAt)
	for range m.instance {
		at = at.Add(m.service.StartEvery)
	}
	return at
}

// build gives an owner its pool, and all who use that their workloads.
func (w *world) build(m *member) {
	a := m.owner
	model, ok := models.Named(m.service.Pool.Model)
	role, known := w.scenario.Server.Role(m.service.Role)
	if !ok || !known {
		panic(fmt.Sprintf("run: no model %q or no role %q in a valid scenario", m.service.Pool.Model, m.service.Role))
	}
	m.actors[0] = w.sim.Actors()
	place := 0
	if w.pooler != nil && !m.service.Direct {
		place = len(w.places) - 1
	}
	backend := w.places[place]
	if w.moves != nil {
		if m.life > 0 {
			place = w.moves.to[a] // it reads its settings anew
		}
		m.route = server.NewRoute(&w.sim, w.places...)
		m.route.Lead(place)
		w.moves.to[a] = place
		backend = m.route
	}
	m.place, m.ready = backend, false
	m.pool = model.New(pool.Env{Sim: &w.sim, Server: backend, Sink: w.sink, Seed: w.seed, Index: int16(a), Role: role}, m.service.Pool.Options)
	var drivers []*workload.Driver
	for i, u := range m.users {
		if i > 0 {
			w.members[u].share(&w.sim, m)
		}
		drivers = append(drivers, w.employ(u))
	}
	if len(drivers) > 1 {
		workload.OnePool(drivers...)
	}
}

// share gives a member the pool of another.
func (m *member) share(s *sim.Sim, owner *member) {
	m.pool, m.place, m.route, m.ready, m.actors[0] = owner.pool, owner.place, owner.route, false, s.Actors()
}

// employ gives a member that has its pool a workload.
func (w *world) employ(a int32) *workload.Driver {
	m := &w.members[a]
	name := m.name
	if m.life > 0 { // with luck of its own
		name = fmt.Sprintf("%s, life %d", name, m.life+1)
	}
	m.driver = workload.New(workload.Env{
		Sim: &w.sim, Pool: m.pool, Server: m.place, Options: &w.scenario.Server, Sink: w.sink, Seed: w.seed, Index: int16(a), Name: name, Service: m.service.Name,
		Done: sim.Reply{To: w.id, Kind: drained, A: w.name(a)},
	}, *m.service.WorkloadOf(m.instance))
	m.actors[1] = w.sim.Actors()
	return m.driver
}

// adopt gives a pool its parent.
func (w *world) adopt(a int32) {
	if m := &w.members[a]; m.parent >= 0 {
		m.pool.(pool.Child).SetParent(w.members[m.parent].pool)
	}
}

// name names a member in its present life: events of an earlier one that are still queued are not for it.
func (w *world) name(a int32) int32 { return a + w.members[a].life*int32(len(w.members)) }

// Handle implements sim.Actor.
func (w *world) Handle(ev sim.Event) {
	switch ev.Kind {
	case acting:
		w.act(ev.A)
		return
	case closed:
		w.closed(ev.A, ev.B)
		return
	}
	a := ev.A % int32(len(w.members))
	m := &w.members[a]
	if w.name(a) != ev.A || m.exited {
		return
	}
	switch ev.Kind {
	case starting:
		w.begin(a, m)
	case started:
		w.started(m, server.OutcomeOf(ev.B))
	case drained:
		w.over(m)
	}
}

// begin: the time of a member has come.
func (w *world) begin(a int32, m *member) {
	if m.owner != a {
		m.ready = true
		if w.members[m.owner].ready && !m.over {
			m.driver.Start()
		}
		return
	}
	for _, u := range m.users[1:] {
		w.sim.After(w.members[u].begins().Sub(m.begins()), sim.Event{To: w.id, Kind: starting, A: w.name(u)})
	}
	m.pool.Start(sim.Reply{To: w.id, Kind: started, A: w.name(a)})
}

// started: the pool of a member has been built or, with another outcome than OK, could not be.
func (w *world) started(m *member, o record.Outcome) {
	m.ready = o == record.OK
	if !m.ready {
		m.failed, m.failedAt = o, w.sim.Now()
	}
	for i, u := range m.users {
		switch u := &w.members[u]; {
		case !m.ready: // a program whose pool cannot be built does not serve: its workload is over before it began
			w.over(u)
		case (i == 0 || u.ready) && !u.over:
			u.driver.Start()
		}
	}
}

// over notes that the workload of a member is over.
func (w *world) over(m *member) {
	if m.over {
		return
	}
	m.over = true
	ending := m.ending
	m.ending = nil
	for _, i := range ending {
		w.stopped(i)
	}
	w.rest(1)
}

// rest notes that n things less keep the run going.
func (w *world) rest(n int) {
	w.busy -= n
	if n > 0 && w.busy == 0 && w.scenario.Until.Drained {
		w.sim.Stop()
	}
}

// verify panics if an invariant of a pool, or of the pooler, does not hold.
func (w *world) verify() {
	for i := range w.members {
		if !w.members[i].exited {
			w.members[i].pool.Verify()
		}
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
	// idle is how many events may pass without any request getting on before a run that ends when it is drained is ended:
	// maintenance goes on for ever, and would keep a run going whose last request waits for what will never come.
	idle = 5_000_000
)

// run runs the world to its end.
func (w *world) run(ctx context.Context) error {
	at, since := w.sim.Now(), w.sim.Fired()
	steps, sinceStep := w.recorder.Steps(), since
	for !w.sim.RunSome(w.horizon, stride) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n := w.recorder.Steps(); n != steps {
			steps, sinceStep = n, w.sim.Fired()
		} else if w.scenario.Until.Drained && w.sim.Fired()-sinceStep > idle {
			break // what is left waits for ever; only the pools' own timers go on
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
	for a := range w.members {
		if !w.members[a].exited {
			w.findDeadlock(int32(a))
		}
	}
	for a := range w.members {
		r.Parts[a].Open = w.members[a].service.Workload.Arrivals != nil
	}
	w.report(r)
	w.warn(r)
	r.Findings = append(r.Findings, w.findings...)
	return r
}

// warn adds what a reader should know before trusting the figures.
func (w *world) warn(r *record.Run) {
	var unfinished, total int64
	for i := range r.Parts {
		unfinished += r.Parts[i].Requests.Unfinished
		total += r.Parts[i].Requests.Total
	}
	add := func(text string) { r.Warnings = append(r.Warnings, text) }
	steady := w.scenario.Estimate == scenarios.Steady
	switch {
	case w.scenario.Until.Drained && unfinished > 0:
		add("requests were left that nothing could end: they wait for what will never come")
	case w.scenario.Until.Drained:
	case r.Grows() && steady:
		r.Growth = "there is no steady state: more and more requests wait, to the end of the run; the longer it is, the longer the latencies"
	case r.Grows():
		r.Growth = "more and more requests wait, to the end of the run: the longer it is, the longer the latencies"
	}
	if !w.scenario.Until.Drained && !steady && unfinished*100 > total {
		add("requests were still going on at the end; they are in no percentile")
	}
	for _, text := range w.notStarted() {
		add(text)
	}
	for _, text := range w.idleFaults(r.From) {
		add(text)
	}
}

// notStarted says of which services instances could not start, and notes it.
func (w *world) notStarted() (all []string) {
	for first := 0; first < len(w.members); {
		v := w.members[first].service
		failed, how := 0, record.OK
		for a := first; a < first+v.Instances; a++ {
			if m := &w.members[a]; m.failed != record.OK {
				failed, how = failed+1, m.failed
				w.findings = append(w.findings, record.Finding{
					Pool: int16(a), Kind: record.NotStarted, At: m.failedAt,
					Text: fmt.Sprintf("could not start: its pool could not be built (%v), and it made no request", m.failed),
				})
			}
		}
		who := v.Name
		switch {
		case v.Instances > 1:
			who = fmt.Sprintf("%d of %d instances of %s", failed, v.Instances, v.Name)
		case who == "":
			who = "the service"
		}
		if failed > 0 {
			all = append(all, fmt.Sprintf("%s could not start: the pool could not be built (%v), and no request was made", who, how))
		}
		first += v.Instances
	}
	return all
}

package pooler

import (
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// crowd is a number of clients of a pooler, connected, that have queries.
type crowd struct {
	sim      *sim.Sim
	id       sim.ActorID
	srv      *server.Server
	pooler   *Pooler
	sessions []server.Session
	queries  []*server.Query // by client: its next
	number   int64
	then     func(client int32) // a query has ended
	failed   []record.Outcome
}

const (
	crowdIn   sim.Kind = iota // A: client
	crowdAsks                 // A: client
	crowdDone                 // A: client
)

// nowhere wants no facts.
type nowhere struct{}

func (nowhere) Note(record.Fact)           {}
func (nowhere) Wants(record.FactKind) bool { return false }

// newCrowd connects n clients, if they are let in.
func newCrowd(so server.Options, o Options, n int, sink record.Sink) *crowd {
	if sink == nil {
		sink = nowhere{}
	}
	o.MaxClientConnections = max(o.MaxClientConnections, n)
	w := &crowd{sim: new(sim.Sim), sessions: make([]server.Session, n), queries: make([]*server.Query, n)}
	w.id = w.sim.Add(w)
	w.srv = server.New(w.sim, sink, 1, so)
	w.pooler = New(w.sim, sink, 1, w.srv, o)
	for i := range n {
		w.pooler.Connect(server.Caller{}, sim.Reply{To: w.id, Kind: crowdIn, A: int32(i)})
	}
	w.sim.Soon(sim.Event{To: w.id, Kind: crowdIn, A: -1}) // an event for the answers to continue
	w.sim.Run(0)
	return w
}

// query lets a client have a query at a time.
func (w *crowd) query(at sim.Time, client int32, service time.Duration) {
	w.queries[client] = w.srv.Compile(&server.QuerySpec{Service: dist.Fixed(service)})
	w.sim.At(at, sim.Event{To: w.id, Kind: crowdAsks, A: client})
}

func (w *crowd) Handle(ev sim.Event) {
	switch {
	case ev.Kind == crowdIn && ev.A >= 0:
		w.sessions[ev.A] = server.Session(ev.B)
	case ev.Kind == crowdAsks:
		w.number++
		w.pooler.Query(w.sessions[ev.A], w.queries[ev.A], w.number, sim.Reply{To: w.id, Kind: crowdDone, A: ev.A})
	case ev.Kind == crowdDone:
		if out := server.OutcomeOf(ev.B); out != record.OK {
			w.failed = append(w.failed, out)
		}
		w.then(ev.A)
	}
}

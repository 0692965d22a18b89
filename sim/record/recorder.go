package record

import (
	"time"

	"poolwise/sim"
)

// Recorder is the Sink that measures: it keeps histograms, counts and levels, never the facts. Its memory depends on the
// number of pools, not on the number of requests.
type Recorder struct {
	from   sim.Time // what began before it does not count
	parts  []part
	total  part // the levels of all pools together; with one pool, parts[0] has them
	shared bool // there is one pool
	series *series
	warm   bool     // the warm-up is over
	next   sim.Time // when the series, or the end of the warm-up, wants to be told

	connect  Histogram
	opened   int64
	closed   int64
	refused  int64
	open     int64
	peakOpen int64

	poolOf []int16     // by part: whose pool it uses; nil if each has its own
	pooler *poolerPart // nil until there is one
	groups *groups     // nil for none

	courses courses
}

// part is what is measured of one pool.
type part struct {
	latency, failed, wait, hold Histogram

	began, ended, ok, retries int64
	early                     int64
	outcomes, notes           Counts
	leaked, slow              int64
	lastEnd                   sim.Time

	level [numLevels]Level
	leak  leak
	demand
}

// The levels of a part: one for each State, and two more.
const (
	levelSize    = int(NumStates)
	levelWaiting = int(NumStates) + 1
	numLevels    = int(NumStates) + 2
)

// Places in the series.
const (
	seriesInUse   = 2
	seriesWaiting = 3
)

// NewRecorder returns a recorder for n pools that ignores requests that arrived before from (the warm-up).
func NewRecorder(n int, from sim.Time) *Recorder {
	r := &Recorder{from: from, parts: make([]part, max(n, 1)), shared: n <= 1}
	t := r.sum()
	r.series = newSeries([]string{"size", "idle", "in_use", "waiting", "connecting"}, levelsOf(t))
	r.warm = from == 0
	r.setNext()
	return r
}

// sum is the part that has the levels of all pools.
func (r *Recorder) sum() *part {
	if r.shared {
		return &r.parts[0]
	}
	return &r.total
}

// Wants reports whether facts of a kind change what is measured.
func (r *Recorder) Wants(k FactKind) bool {
	switch k {
	case QuerySent, ThreadWanted, CallBegan, AcquireBegan, AcquireTurned, HookBegan, Paused, Rerouted,
		ConnectBegan, ConnectGaveUp, PingBegan, PingEnded, QueryQueued, QueryBlocked, QueryBegan, QueryEnded, CloseBegan, PoolerServes:
		return false
	}
	return true
}

// Note implements Sink.
func (r *Recorder) Note(f Fact) {
	if f.At >= r.next {
		r.tick(f.At)
	}
	switch f.Kind {
	case RequestBegan:
		if f.At >= r.from {
			r.parts[f.Pool].arrived(f.At)
		}
	case RequestEnded:
		r.requestEnded(&f)
	case RequestRetry:
		r.parts[f.Pool].retries++
	case AcquireEnded:
		switch {
		case f.At < r.from:
		case f.Outcome == OK:
			r.parts[f.Pool].wait.Record(f.Took)
		case f.Outcome == AcquireTimeout:
			r.timedOut(&f)
		}
	case WaitBegan:
		r.add(f.Pool, levelWaiting, f.At, 1)
	case WaitEnded:
		r.add(f.Pool, levelWaiting, f.At, -1)
	case Returned:
		if f.At >= r.from {
			r.parts[f.Pool].hold.Record(f.Took)
		}
	case ConnMoved:
		r.moved(&r.parts[f.Pool], &f)
		if !r.shared {
			r.moved(&r.total, &f)
			if p := r.groups.part(f.Pool); p != nil {
				r.moved(p, &f)
			}
		}
	case Leaked:
		r.parts[f.Pool].leakedAt(f.At)
	case SlowAcquire:
		r.parts[f.Pool].slow++
	case Exited:
		for i := range numLevels {
			r.add(f.Pool, i, f.At, -r.parts[f.Pool].level[i].value)
		}
		r.parts[f.Pool].restarted(f.At)
	case PoolNote:
		r.parts[f.Pool].notes[f.Outcome]++
	case ConnectEnded:
		r.connectEnded(&f)
	case SessionEnded:
		r.closed++
		r.open--
	case PoolerConnected, PoolerLeft, PoolerWaitBegan, PoolerWaitEnded, PoolerMoved:
		r.notePooler(&f)
	}
}

func (r *Recorder) requestEnded(f *Fact) {
	r.end(f)
	p := &r.parts[f.Pool]
	p.lastEnd = f.At
	if f.At.Add(-f.Took) < r.from {
		if f.Outcome == OK && f.At >= r.from {
			p.early++
		}
		return
	}
	p.ended++
	if f.Outcome == OK {
		p.ok++
		p.latency.Record(f.Took)
		return
	}
	p.outcomes[f.Outcome]++
	p.failed.Record(f.Took)
}

func (r *Recorder) connectEnded(f *Fact) {
	if f.Outcome != OK {
		r.refused++
		return
	}
	r.opened++
	r.open++
	r.peakOpen = max(r.peakOpen, r.open)
	r.connect.Record(f.Took)
}

func (r *Recorder) add(pool int16, level int, at sim.Time, d int64) {
	r.parts[pool].level[level].Add(at, d)
	if !r.shared {
		r.total.level[level].Add(at, d)
		if p := r.groups.part(pool); p != nil {
			p.level[level].Add(at, d)
		}
	}
}

func (r *Recorder) moved(p *part, f *Fact) {
	if f.Move.From() == None {
		p.level[levelSize].Add(f.At, 1)
	} else {
		p.level[f.Move.From()].Add(f.At, -1)
	}
	if f.Move.To() == None {
		if f.Move.From() == Opening {
			p.leftOpening = f.At
		}
		p.level[levelSize].Add(f.At, -1)
	} else {
		p.level[f.Move.To()].Add(f.At, 1)
	}
}

// tick closes the bins of the series up to at, and ends the warm-up if it has passed.
func (r *Recorder) tick(at sim.Time) {
	if !r.warm && at >= r.from {
		r.series.upTo(r.from)
		for i := range r.parts {
			r.parts[i].restart(r.from)
		}
		r.total.restart(r.from)
		r.pooler.restart(r.from)
		r.groups.restart(r.from)
		r.warm = true
	}
	r.series.upTo(at)
	r.setNext()
}

func (r *Recorder) setNext() {
	r.next = r.series.next
	if !r.warm {
		r.next = min(r.next, r.from)
	}
}

func (p *part) restart(at sim.Time) {
	for i := range p.level {
		p.level[i].restart(at)
	}
}

// Finish ends the recording at time end and returns what was measured. busy is the core time used at the server and cores
// the number of its cores, 0 for no limit. The recorder takes no more facts.
func (r *Recorder) Finish(end sim.Time, busy time.Duration, cores int) *Run {
	r.tick(end)
	r.connect.Rest()
	run := &Run{
		From: r.from, End: end, Connect: r.connect, PoolOf: r.poolOf,
		Server: ServerStats{Opened: r.opened, Closed: r.closed, Refused: r.refused, PeakOpen: r.peakOpen},
	}
	run.Series = r.finishSeries(run)
	if span := float64(end) * float64(cores); span > 0 {
		run.Server.CoreUtilisation = ExactFloat(float64(busy) / span)
	}
	for i := range r.parts {
		run.Parts = append(run.Parts, r.parts[i].finish(r.from, end))
	}
	if r.shared {
		run.Levels = run.Parts[0].Levels
	} else {
		run.Levels = r.total.levels(r.from, end)
	}
	r.groups.finish(run)
	run.Pooler = r.pooler.finish(r.from, end)
	r.findKept(run)
	return run
}

func (p *part) finish(from, end sim.Time) Part {
	for _, h := range []*Histogram{&p.latency, &p.failed, &p.wait, &p.hold} {
		h.Rest()
	}
	q := Part{
		Latency: p.latency, Failed: p.failed, Wait: p.wait, Hold: p.hold,
		Capacity: int(p.leak.capacity), Emptied: p.leak.emptied, EmptyAfter: p.leak.empty,
		Leaked: p.leaked, Slow: p.slow, Notes: p.notes, LastEnd: p.lastEnd, Early: p.early,
		First: p.first, Last: p.last, Timeouts: p.timeouts,
		Levels: p.levels(from, end),
	}
	q.Requests = Requests{Total: p.began, OK: p.ok, Failed: p.ended - p.ok, Unfinished: p.began - p.ended, Retries: p.retries, Outcomes: p.outcomes}
	return q
}

func (p *part) levels(from, end sim.Time) Levels {
	of := func(i int) Level3 { return p.level[i].level3(from, end) }
	return Levels{Size: of(levelSize), Idle: of(int(Idle)), InUse: of(int(InUse)), Waiting: of(levelWaiting), Opening: of(int(Opening))}
}

// Run is what was measured in one replication.
type Run struct {
	From, End sim.Time
	Parts     []Part  // one for each pool, and for each that uses the pool of another
	PoolOf    []int16 // by part: whose pool it uses; nil if each has its own
	Groups    []GroupRun
	Levels    Levels // of all pools together
	Connect   Histogram
	Server    ServerStats
	Pooler    *PoolerRun  // nil without a pooler
	Stages    *StageRun   // nil if nobody asked where the time went
	Servers   []ServerRun // if there are several
	Actions   []ActionRun
	Findings  []Finding
	Series    Series
	Warnings  []string
	Growth    string // a warning that the load grows, which counts if not only a few replications give it
}

// Part is the part of a Run that belongs to one pool.
type Part struct {
	Requests                    Requests
	Latency, Failed, Wait, Hold Histogram
	Levels                      Levels
	Leaked, Slow                int64
	Capacity                    int           // slots, if known
	Emptied                     bool          // all were lost
	EmptyAfter                  time.Duration // its start
	Notes                       Counts
	LastEnd                     sim.Time
	Open                        bool     // requests arrive whether or not earlier ones have ended; who runs the workload says so
	First, Last                 sim.Time // arrivals
	Timeouts                    Timeouts
	Early                       int64 // requests that arrived in the warm-up and succeeded after it: of the throughput, and of nothing else
}

// Steps returns a number that grows with every step of a request that is measured: while it stands still, nobody gets anywhere.
func (r *Recorder) Steps() int64 {
	var n int64
	for i := range r.parts {
		p := &r.parts[i]
		n += p.began + p.ended + p.retries + p.wait.n + p.hold.n
	}
	return n
}

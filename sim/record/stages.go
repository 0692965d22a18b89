package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"poolwise/sim"
)

// Stage is what a request is at. At every instant of its latency it is at one of them, so their times add up to it exactly. Time
// in which a program stands still belongs to what it was at.
type Stage uint8

// The stages.
const (
	StageThread  Stage = iota // it waits for a thread to run on
	StageWait                 // for a connection: in the queue of the pool, or out of it and not yet awake
	StageConnect              // its acquire opens a connection: connects, the pauses between them, a hook after them
	StageCheck                // its acquire looks at a connection before it takes it: pings, hooks, the close of one that is of no use
	StagePooler               // its query waits for a server connection of a pooler
	StageQueue                // its query waits for a core of the server
	StageLock                 // its query waits for a lock
	StageRunning              // its query runs, on a core or not, or is on its way there and back
	StageKept                 // it works outside the database and keeps a connection meanwhile
	StageOutside              // it works outside the database and keeps none
	StageReturn               // the pool takes a connection back
	StagePause                // the pause before another attempt
	StageOther                // none of these: it begins later than it was meant to
	NumStages
)

var stageNames = [NumStages]string{"thread", "wait", "connect", "check", "pooler", "queue", "lock", "run", "kept_idle", "outside", "return", "pause", "other"}

// String returns the name of the stage in results.
func (s Stage) String() string {
	if s < NumStages {
		return stageNames[s]
	}
	return fmt.Sprintf("stage(%d)", uint8(s))
}

// Stages is the Sink that follows each request through its stages. It keeps a sum for each stage, of all served requests, of the
// slowest 1 % of them and of the failed ones, and what was recorded of a few requests as examples. Its memory depends on the
// number of requests that go on at the same time, and not on how many there are: of the slowest it keeps 10,000. So with more
// than a million requests they are fewer than 1 %.
type Stages struct {
	from  sim.Time // who arrived before it does not count
	lines bool     // examples are wanted

	slots    []underWay
	free     []int32
	requests index            // slots of the requests that go on, by number
	queries  index            // slots of those that wait for a query, by the connection that it runs on
	serving  map[int32]inPool // whom server connections of a pooler serve: connections of clients
	poolOf   []int16          // by part: the pool that it uses; nil if each uses its own
	moved    int32            // the server connection of the last PoolerMoved

	ended       int64
	all, failed StageSum
	slowest     keep // of the served requests
	splits      []split
	sample      keep // of them, at random; if examples are wanted
	courses     []courseRun
	worst       courseRun // the slowest of all
}

// split is the latency of a request.
type split struct {
	latency time.Duration
	spent   [NumStages]time.Duration
}

// courseRun is what a served request went through.
type courseRun struct {
	inPool
	began   sim.Time
	latency time.Duration
	line    []StageSpan
}

// underWay is a request that goes on.
type underWay struct {
	inPool // its number
	stage  Stage
	query  inPool   // connection of the query that it waits for; its number is 0 if there is none
	began  sim.Time // its intended arrival
	since  sim.Time // it has been at its stage
	spent  [NumStages]time.Duration
	line   []StageSpan
}

// StageSpan is a stretch of the course of a request.
type StageSpan struct {
	Stage Stage         `json:"stage"`
	For   time.Duration `json:"for"`
}

const (
	maxSlowest = 10_000
	maxSample  = 1001 // courses that are kept to choose examples from
	maxSpans   = 256  // of one request that are kept
)

// NewStages returns a sink that ignores requests that arrived before from. It keeps the course of some requests if asked for examples.
func NewStages(from sim.Time, examples bool) *Stages {
	return &Stages{
		from: from, lines: examples, requests: newIndex(), queries: newIndex(), serving: map[int32]inPool{},
		slowest: keep{limit: maxSlowest}, sample: keep{limit: maxSample},
	}
}

// PoolOf says for each part whose pool it uses, where some use that of another.
func (s *Stages) PoolOf(pools []int16) { s.poolOf = pools }

func (s *Stages) pool(part int16) int16 {
	if s.poolOf == nil {
		return part
	}
	return s.poolOf[part]
}

// Wants reports whether facts of a kind tell what a request is at.
func (s *Stages) Wants(k FactKind) bool {
	switch k {
	case RequestBegan, RequestEnded, RequestRetry, QuerySent, ThreadWanted, CallBegan, AcquireBegan, AcquireTurned, WaitBegan, Returned,
		QueryQueued, QueryBlocked, QueryBegan, PoolerWaitBegan, PoolerWaitEnded, PoolerMoved, PoolerServes:
		return true
	}
	return false
}

// Note implements Sink.
func (s *Stages) Note(f Fact) {
	switch f.Kind {
	case RequestBegan:
		s.begin(&f)
	case RequestEnded:
		s.end(&f)
	case RequestRetry:
		s.turn(&f, StagePause)
	case QuerySent:
		if i := s.turn(&f, StageRunning); i >= 0 && f.Conn != 0 {
			u := &s.slots[i]
			u.query = inPool{int64(f.Conn), s.pool(f.Pool)}
			s.queries.put(u.query, i)
		}
	case CallBegan:
		to := StageOutside
		if f.Move.From() == InUse {
			to = StageKept
		}
		s.turn(&f, to)
	case ThreadWanted:
		s.turn(&f, StageThread)
	case AcquireBegan, WaitBegan:
		s.turn(&f, StageWait)
	case AcquireTurned:
		to := StageConnect
		if f.Move.From() == Checking {
			to = StageCheck
		}
		s.turn(&f, to)
	case Returned:
		s.turn(&f, StageReturn)
	case QueryQueued:
		s.turnQuery(&f, StageQueue)
	case QueryBlocked:
		s.turnQuery(&f, StageLock)
	case QueryBegan, PoolerWaitEnded:
		s.turnQuery(&f, StageRunning)
	case PoolerWaitBegan:
		s.turnQuery(&f, StagePooler)
	case PoolerMoved:
		s.moved = f.Conn
		if f.Move.From() == InUse {
			delete(s.serving, f.Conn)
		}
	case PoolerServes:
		s.serving[s.moved] = inPool{int64(f.Conn), f.Pool}
	}
}

func (s *Stages) begin(f *Fact) {
	var i int32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		i = int32(len(s.slots))
		s.slots = append(s.slots, underWay{})
	}
	u := &s.slots[i]
	*u = underWay{inPool: inPool{f.Request, f.Pool}, stage: StageOther, began: f.At, since: f.At, line: u.line[:0]}
	s.requests.put(u.inPool, i)
}

// turn takes a request that goes on to another stage, and returns its slot; -1 if there is none.
func (s *Stages) turn(f *Fact, to Stage) int32 {
	i := s.requests.get(inPool{f.Request, f.Pool})
	if i < 0 {
		return i
	}
	u := &s.slots[i]
	if u.query.number != 0 {
		s.queries.remove(u.query)
		u.query.number = 0
	}
	s.pass(u, f.At, to)
	return i
}

// turnQuery takes the request that waits for a query to another stage, if one does.
func (s *Stages) turnQuery(f *Fact, to Stage) {
	key := inPool{int64(f.Conn), f.Pool}
	if f.Pool < 0 {
		key = s.serving[f.Conn]
	}
	if i := s.queries.get(key); i >= 0 {
		s.pass(&s.slots[i], f.At, to)
	}
}

// pass adds the time that has passed to the present stage.
func (s *Stages) pass(u *underWay, at sim.Time, to Stage) {
	if d := at.Sub(u.since); d > 0 {
		u.spent[u.stage] += d
		u.since = at
		if s.lines {
			u.extend(d)
		}
	}
	u.stage = to
}

// extend adds to the course of a request.
func (u *underWay) extend(d time.Duration) {
	switch n := len(u.line); {
	case n == maxSpans:
	case n > 0 && u.line[n-1].Stage == u.stage:
		u.line[n-1].For += d
	default:
		u.line = append(u.line, StageSpan{u.stage, d})
	}
}

func (s *Stages) end(f *Fact) {
	i := s.turn(f, StageOther)
	if i < 0 {
		panic(fmt.Sprintf("record: request %d of pool %d ends and has not begun", f.Request, f.Pool))
	}
	u := &s.slots[i]
	var sum time.Duration
	for _, d := range u.spent {
		sum += d
	}
	if sum != f.Took {
		panic(fmt.Sprintf("record: the stages of request %d of pool %d take %v, it took %v", f.Request, f.Pool, sum, f.Took))
	}
	if u.began >= s.from {
		if f.Outcome == OK {
			s.served(u, f.Took)
		} else {
			s.failed.add(f.Took, &u.spent)
		}
	}
	s.requests.remove(u.inPool)
	s.free = append(s.free, i)
}

// served counts a request that succeeded.
func (s *Stages) served(u *underWay, latency time.Duration) {
	s.all.add(latency, &u.spent)
	s.ended++
	if at, ok := s.slowest.offer(uint64(latency), s.ended); ok {
		if int(at) == len(s.splits) {
			s.splits = append(s.splits, split{})
		}
		s.splits[at] = split{latency, u.spent}
	}
	if !s.lines {
		return
	}
	if at, ok := s.sample.offer(scatter(u.inPool), s.ended); ok {
		if int(at) == len(s.courses) {
			s.courses = append(s.courses, courseRun{})
		}
		s.courses[at].set(u, latency)
	}
	if s.ended == 1 || latency > s.worst.latency {
		s.worst.set(u, latency)
	}
}

func (c *courseRun) set(u *underWay, latency time.Duration) {
	c.inPool, c.began, c.latency = u.inPool, u.began, latency
	c.line = append(c.line[:0], u.line...)
}

// scatter returns a number that says nothing about the request, for a random sample that is always the same.
func scatter(k inPool) uint64 {
	x := uint64(k.number) ^ uint64(uint16(k.pool))<<48
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// keep chooses of what is offered that with the highest keys, and of equal ones the first. Each that it keeps has a place below limit.
type keep struct {
	limit int
	heap  []rank // the lowest first
}

type rank struct {
	key uint64
	seq int64 // the order of offers
	at  int32 // its place
}

func (r *rank) below(o *rank) bool { return r.key < o.key || r.key == o.key && r.seq > o.seq }

// offer returns the place of what is offered, which may be that of another that is not kept any more; false if it is not kept.
func (k *keep) offer(key uint64, seq int64) (at int32, ok bool) {
	switch {
	case len(k.heap) < k.limit:
		at = int32(len(k.heap))
		k.heap = append(k.heap, rank{})
		k.up(rank{key, seq, at})
	case key > k.heap[0].key:
		at = k.heap[0].at
		k.down(rank{key, seq, at})
	default:
		return 0, false
	}
	return at, true
}

// up puts r into the heap, whose last place is free.
func (k *keep) up(r rank) {
	i := len(k.heap) - 1
	for i > 0 && r.below(&k.heap[(i-1)/2]) {
		k.heap[i] = k.heap[(i-1)/2]
		i = (i - 1) / 2
	}
	k.heap[i] = r
}

// down puts r into the heap, whose first place is free.
func (k *keep) down(r rank) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(k.heap) {
			break
		}
		if child+1 < len(k.heap) && k.heap[child+1].below(&k.heap[child]) {
			child++
		}
		if !k.heap[child].below(&r) {
			break
		}
		k.heap[i] = k.heap[child]
		i = child
	}
	k.heap[i] = r
}

// highestFirst returns what is kept, in order.
func (k *keep) highestFirst() []rank {
	return slices.SortedFunc(slices.Values(k.heap), func(a, b rank) int {
		return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.seq, b.seq))
	})
}

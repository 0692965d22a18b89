package workload

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// TestConversations runs the workloads of testdata/conversations. A block is
//
//	run [until=duration] [pool settings]
//	key value            one of clients, repeat, think, stagger, poisson, constant, limit, deadline, retry, script ...
//	- step               acquire [timeout=d] [try], query d [cancel_after=d], call d, release ..., dirty what, leak p, fail p, cancel d; p% before: chance
//
// and its answer is all that happened: the facts of the requests, and, indented, the calls of the pool and the server.
func TestConversations(t *testing.T) {
	datadriven.Walk(t, "testdata/conversations", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			o, err := parseOptions(d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			var mistakes strings.Builder
			o.Validate(func(path, message string) { fmt.Fprintf(&mistakes, "%s: %s\n", path, message) })
			if mistakes.Len() > 0 {
				return mistakes.String()
			}
			w := newWorld(o, 1)
			until := sim.Forever
			for _, a := range d.CmdArgs {
				v := ""
				if len(a.Vals) > 0 {
					v = a.Vals[0]
				}
				switch a.Key {
				case "until":
					until = sim.Time(mustDuration(v))
				case "size":
					w.pool.size, _ = strconv.Atoi(v)
				case "bare":
					w.pool.bare = true
				case "asleep":
					w.pool.asleep = true
				case "slow":
					w.pool.slow = mustDuration(v)
				case "grant":
					w.pool.grant = mustDuration(v)
				case "refuse": // refuse=(outcome,outcome,...): of the first acquires
					w.pool.refuse = func(n int, _ pool.Request) record.Outcome {
						if n > len(a.Vals) {
							return record.OK
						}
						return mustOutcome(a.Vals[n-1])
					}
				case "queries": // queries=(outcome,...): of the first queries
					n := 0
					w.server.takes = func(int64) (time.Duration, record.Outcome) {
						n++
						if n > len(a.Vals) {
							return 5 * time.Millisecond, record.OK
						}
						return 5 * time.Millisecond, mustOutcome(a.Vals[n-1])
					}
				case "stateful":
					w.driver.env.Pool = statefulPool{w.pool}
				case "locked": // every query waits for a lock until then
					w.server.blocked = true
					w.server.takes = func(int64) (time.Duration, record.Outcome) { return mustDuration(v), record.OK }
				case "reject":
					w.pool.reject = func(pool.Conn) bool { return true }
				case "stop": // at that time
					w.sim.At(sim.Time(mustDuration(v)), sim.Event{To: w.sim.Add(stopper{w})})
				default:
					d.Fatalf(t, "unknown argument %s", a.Key)
				}
			}
			w.driver.Start()
			w.sim.Run(until)
			if err := w.driver.Err(); err != nil {
				return "error: " + err.Error() + "\n"
			}
			if until == sim.Forever && !w.vacant() {
				w.sayf("slots are lost")
			}
			if f := w.driver.Deadlock(); f != nil {
				w.sayf("deadlock at %v: %d requests hold %d connections; %d wait for a connection, %d for a thread, %d for a lock", f.At,
					f.Holders, f.Conns, f.ForConnection, f.ForThread, f.ForLock)
			}
			return w.text()
		})
	})
}

// stopper stops a driver.
type stopper struct{ w *world }

func (s stopper) Handle(sim.Event) { s.w.driver.Stop() }

func mustDuration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}

func mustOutcome(s string) record.Outcome {
	o, ok := record.OutcomeNamed(s)
	if !ok {
		panic("no outcome " + s)
	}
	return o
}

// parseOptions reads the language of the conversations.
func parseOptions(text string) (o Options, err error) {
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		if len(f) < 2 {
			return o, fmt.Errorf("cannot read %q", line)
		}
		if f[0] == "-" {
			s, err := parseStep(f[1:])
			if err != nil {
				return o, err
			}
			o.Request = append(o.Request, s)
			continue
		}
		if err := parseKey(&o, f[0], f[1:]); err != nil {
			return o, fmt.Errorf("%q: %w", line, err)
		}
	}
	return o, nil
}

func parseKey(o *Options, key string, f []string) (err error) {
	number := func(s string) *int64 {
		var n int64
		if n, err = strconv.ParseInt(s, 10, 64); err != nil {
			return nil
		}
		return &n
	}
	arrivals := func() *Arrivals {
		if o.Arrivals == nil {
			o.Arrivals = &Arrivals{}
		}
		return o.Arrivals
	}
	switch key {
	case "clients":
		n := int(*number(f[0]))
		o.Clients = &n
	case "repeat":
		o.Repeat = number(f[0])
	case "limit":
		o.Limit = number(f[0])
	case "threads":
		n := int(*number(f[0]))
		o.Threads = &n
	case "think":
		err = o.Think.UnmarshalText([]byte(f[0]))
	case "stagger":
		err = o.Stagger.UnmarshalText([]byte(f[0]))
	case "poisson", "constant":
		var r dist.Rate
		err = r.UnmarshalText([]byte(f[0]))
		if key == "constant" {
			arrivals().Constant = &r
		} else {
			arrivals().Poisson = &r
		}
	case "bursts": // size every [count]
		b := &Bursts{Size: int(*number(f[0])), Every: mustDuration(f[1])}
		if len(f) > 2 {
			b.Count = number(f[2])
		}
		arrivals().Bursts = b
	case "deadline":
		d := mustDuration(f[0])
		o.Deadline = &d
	case "retry": // attempts backoff [outcome ...]
		o.Retry = &Retry{Attempts: int(*number(f[0])), Backoff: mustDuration(f[1])}
		for _, name := range f[2:] {
			var on Failure
			if err = on.UnmarshalText([]byte(name)); err != nil {
				return err
			}
			o.Retry.On = append(o.Retry.On, on)
		}
	case "script": // key=value ...
		var s Scripted
		for _, a := range f {
			k, v, _ := strings.Cut(a, "=")
			switch k {
			case "id":
				s.ID = v
			case "at":
				s.At = mustDuration(v)
			case "op":
				err = s.Op.UnmarshalText([]byte(v))
			case "hold":
				s.Hold = mustDuration(v)
			case "then":
				err = s.Then.UnmarshalText([]byte(v))
			case "timeout":
				d := mustDuration(v)
				s.Timeout = &d
			case "cancel_at":
				d := mustDuration(v)
				s.CancelAt = &d
			default:
				err = fmt.Errorf("unknown key %s", k)
			}
		}
		o.Script = append(o.Script, s)
	default:
		err = fmt.Errorf("unknown key %s", key)
	}
	return err
}

func parseStep(f []string) (s Step, err error) {
	if strings.HasSuffix(f[0], "%") {
		var p dist.Probability
		if err := p.UnmarshalText([]byte(f[0])); err != nil {
			return s, err
		}
		if s, err = parseStep(f[1:]); err != nil {
			return s, err
		}
		s.Chance = &p
		return s, nil
	}
	arg := []byte(strings.Join(f[1:], " "))
	switch {
	case f[0] == "do": // steps with / between them
		for _, text := range strings.Split(string(arg), " / ") {
			inner, err := parseStep(strings.Fields(text))
			if err != nil {
				return s, err
			}
			s.Do = append(s.Do, inner)
		}
	case f[0] == "acquire":
		s.Acquire = &Acquire{}
		for _, a := range f[1:] {
			if a == "try" {
				s.Acquire.Try = true
			} else {
				d := mustDuration(strings.TrimPrefix(a, "timeout="))
				s.Acquire.Timeout = &d
			}
		}
	case f[0] == "query":
		s.Query = &server.QuerySpec{}
		d, after, limited := strings.Cut(string(arg), " cancel_after=")
		err = s.Query.UnmarshalText([]byte(d))
		if limited {
			s.CancelAfter = ptr(dist.Fixed(mustDuration(after)))
		}
	case f[0] == "lock":
		s.Query = &server.QuerySpec{Phases: []server.Phase{{Lock: string(arg)}}}
	case f[0] == "dirty":
		s.Dirty = new(Dirt)
		err = s.Dirty.UnmarshalText(arg)
	case f[0] == "call":
		s.Call = &dist.Distribution{}
		err = s.Call.UnmarshalText(arg)
	case f[0] == "cancel":
		s.Cancel = &Cancel{}
		err = s.Cancel.After.UnmarshalText(arg)
	case f[0] == "fail":
		s.Fail = new(dist.Probability)
		err = s.Fail.UnmarshalText(arg)
	case f[0] == "leak" && len(f) > 1:
		s.Leak = new(dist.Probability)
		err = s.Leak.UnmarshalText(arg)
	default:
		err = s.UnmarshalText([]byte(f[0]))
	}
	return s, err
}

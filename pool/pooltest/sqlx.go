package pooltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"poolwise/pool"
	"poolwise/pool/sqlx"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// sqlxModel is the adapter of sqlx.
var sqlxModel = Model{
	Build: buildSqlx,
	Waits: func(p pool.Pool) bool { return p.(*sqlx.Pool).Options().Start == sqlx.Eager },
	Outcomes: map[record.Outcome]string{
		record.OK: "ok", record.AcquireTimeout: "timeout", record.PoolIsClosed: "closed", record.Cancelled: "cancelled",
		record.NoneAvailable: "none",
	},
	Ends: map[string]pool.End{
		"release": pool.Release, "close": pool.Discard, "close_on_drop": pool.CloseOnDrop, "detach": pool.Detach, "leak": pool.Leak,
	},
	Returned: func(o *Outcome, then string, at Ms) {
		if then == "close" {
			o.ClosedAt = &at
		}
	},
	Actions: map[string]Act{
		"drop": {Do: func(_ *World, p pool.Pool, _ Action, _ sim.Reply) { p.(*sqlx.Pool).Drop() }},
	},
	Sample: sampleSqlx,
	Counts: []string{"refused", "rejected", "errors", "aborted", "pings"},
}

// sqlxPool is the pool of a case. What is absent has the pool's default.
type sqlxPool struct {
	Model                string    `json:"model"`
	MaxConnections       int       `json:"max_connections"`
	MinConnections       int       `json:"min_connections"`
	AcquireTimeout       Ms        `json:"acquire_timeout"`
	AcquireSlowThreshold Ms        `json:"acquire_slow_threshold"`
	IdleTimeout          *Ms       `json:"idle_timeout"`
	MaxLifetime          *Ms       `json:"max_lifetime"`
	TestBeforeAcquire    bool      `json:"test_before_acquire"`
	Fair                 bool      `json:"fair"`
	Start                string    `json:"start"`
	AfterConnect         *sqlxHook `json:"after_connect"`
	BeforeAcquire        *sqlxHook `json:"before_acquire"`
	AfterRelease         *sqlxHook `json:"after_release"`
}

type sqlxHook struct {
	Takes   Ms       `json:"takes"`
	Results []string `json:"results"`
}

// sqlxServer is the server of a case.
type sqlxServer struct {
	Server
	CloseHard      Ms      `json:"close_hard"`
	ConnectError   []Range `json:"connect_error"`
	TransientError []Range `json:"transient_error"`
	Stall          []Range `json:"stall"`
}

func buildSqlx(w *World, c *Case) error {
	var s sqlxServer
	if err := Strict(c.Server, &s); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	so := s.options()
	so.CloseHard = dist.Fixed(time.Duration(s.CloseHard))
	addFaults(&so, s.ConnectError, server.Fault{Error: true})
	addFaults(&so, s.TransientError, server.Fault{TransientError: true})
	addFaults(&so, s.Stall, server.Fault{ConnectHang: true})
	if err := valid("server", so.Validate); err != nil {
		return err
	}
	w.Server = server.New(w.Sim, w, 0, so)

	parent, err := newSqlx(w, "pool", c.Pool, 0)
	if err != nil {
		return err
	}
	w.Add("", parent)
	if len(c.Child) > 0 {
		child, err := newSqlx(w, "child", c.Child, 1)
		if err != nil {
			return err
		}
		o, po := child.Options(), parent.Options()
		if err := valid("child", func(bad func(path, message string)) { o.ValidateChild(po, bad) }); err != nil {
			return err
		}
		w.WhenReady(func() { child.SetParent(parent) })
		w.Add("child", child)
	}
	return nil
}

func newSqlx(w *World, what string, text json.RawMessage, index int16) (*sqlx.Pool, error) {
	o := sqlx.DefaultOptions()
	o.TimerLateness = 0 // the recordings have an exact clock
	idle, lifetime := Ms(*o.IdleTimeout), Ms(*o.MaxLifetime)
	in := sqlxPool{
		MaxConnections: o.MaxConnections, AcquireTimeout: Ms(o.AcquireTimeout), AcquireSlowThreshold: Ms(o.AcquireSlowThreshold),
		IdleTimeout: &idle, MaxLifetime: &lifetime, TestBeforeAcquire: o.TestBeforeAcquire, Fair: o.Fair, Start: o.Start.String(),
	}
	if err := Strict(text, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	o.MaxConnections, o.MinConnections = in.MaxConnections, in.MinConnections
	o.AcquireTimeout, o.AcquireSlowThreshold = time.Duration(in.AcquireTimeout), time.Duration(in.AcquireSlowThreshold)
	o.IdleTimeout, o.MaxLifetime = (*time.Duration)(in.IdleTimeout), (*time.Duration)(in.MaxLifetime)
	o.TestBeforeAcquire, o.Fair = in.TestBeforeAcquire, in.Fair
	if err := o.Start.UnmarshalText([]byte(in.Start)); err != nil {
		return nil, fmt.Errorf("%s: start: %w", what, err)
	}
	for _, h := range []struct {
		in *sqlxHook
		to **sqlx.Hook
	}{{in.AfterConnect, &o.AfterConnect}, {in.BeforeAcquire, &o.BeforeAcquire}, {in.AfterRelease, &o.AfterRelease}} {
		if h.in == nil {
			continue
		}
		hook := &sqlx.Hook{Takes: dist.Fixed(time.Duration(h.in.Takes)), Results: make([]sqlx.HookResult, len(h.in.Results))}
		for i, name := range h.in.Results {
			if err := hook.Results[i].UnmarshalText([]byte(name)); err != nil {
				return nil, fmt.Errorf("%s: hook: %w", what, err)
			}
		}
		*h.to = hook
	}
	if err := valid(what, o.Validate); err != nil {
		return nil, err
	}
	return sqlx.New(pool.Env{Sim: w.Sim, Server: w.Server, Sink: w, Index: index}, o), nil
}

// sampleSqlx reads size() and num_idle(): the real pool reports nothing else.
func sampleSqlx(w *World) Sample {
	s := Sample{Figures: map[string]Ms{"open": Count(w.Server.Stats().Open)}, Child: reportsSqlx(w.pools["child"])}
	maps.Copy(s.Figures, reportsSqlx(w.pools[""]))
	return s
}

// reportsSqlx returns what a pool reports, nothing if there is none or nobody has a handle any more to ask.
func reportsSqlx(p pool.Pool) map[string]Ms {
	if q, ok := p.(*sqlx.Pool); !ok || !q.Owned() {
		return nil
	}
	st := p.Stats()
	return map[string]Ms{"size": Count(st.Size), "idle": Count(st.Idle)}
}

// options returns the options that every model's server has.
func (s *Server) options() server.Options {
	o := server.Options{
		Connect: dist.Fixed(time.Duration(s.Connect)), Ping: dist.Fixed(time.Duration(s.Ping)), Close: dist.Fixed(time.Duration(s.Close)),
		ConnectionLimit: s.ConnectionLimit, RefuseAfter: time.Duration(s.RefuseAfter),
	}
	for _, d := range s.ConnectPlan {
		o.ConnectPlan = append(o.ConnectPlan, time.Duration(d))
	}
	addFaults(&o, s.Refuse, server.Fault{Refuse: true})
	return o
}

// addFaults adds a fault for each interval that is not empty.
func addFaults(o *server.Options, during []Range, f server.Fault) {
	for _, r := range during {
		if r[0] < r[1] {
			f.At, f.For = time.Duration(r[0]), time.Duration(r[1]-r[0])
			o.Faults = append(o.Faults, f)
		}
	}
}

// valid returns the mistakes that validate finds as one error.
func valid(what string, validate func(bad func(path, message string))) error {
	var all []string
	validate(func(path, message string) { all = append(all, what+": "+path+": "+message) })
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(all, "\n"))
}

package server

import (
	"fmt"
	"time"

	"poolwise/sim/dist"
	"poolwise/sim/wording"
)

// Options describe a server. The zero value is one without any limit that answers at once.
type Options struct {
	Cores                    int               `yaml:"cores" doc:"cores: at most that many queries make progress at once; 0 (default) for no limit"`
	Discipline               Discipline        `yaml:"discipline" doc:"how queries share the cores: fifo (default), a query holds its core to the end of its cpu phase; or sharing, all progress at the same rate"`
	ConnectionLimit          int               `yaml:"connection_limit" doc:"sessions open at once (max_connections); 0 (default) for no limit"`
	SuperuserReserved        int               `yaml:"superuser_reserved" doc:"sessions of connection_limit kept for superusers; default 0"`
	Reserved                 int               `yaml:"reserved" doc:"further sessions kept for superusers and for roles that may use them; default 0"`
	LimitError               LimitError        `yaml:"limit_error" doc:"what a connect past a limit is told: 53300 (default, PostgreSQL) or 1040 (MySQL)"`
	Roles                    []Role            `yaml:"roles" doc:"database roles; a pool that names none has the default role, an ordinary one without a limit of its own"`
	Connect                  dist.Distribution `yaml:"connect" doc:"time of a connect, handshake included; default 0"`
	ConnectPlan              []time.Duration   `yaml:"connect_plan" doc:"times of the 1st, 2nd ... connect in the order in which they start; connect counts after them"`
	LoginCPU                 dist.Distribution `yaml:"login_cpu" doc:"core time of a login, after connect; it queues with the queries; default 0"`
	Close                    dist.Distribution `yaml:"close" doc:"time of a graceful close; default 0"`
	CloseHard                dist.Distribution `yaml:"close_hard" doc:"time of a close without the protocol's goodbye; default 0"`
	Ping                     dist.Distribution `yaml:"ping" doc:"time of a ping beside round_trip; default 0"`
	RoundTrip                dist.Distribution `yaml:"round_trip" doc:"network time added to each query and ping; default 0"`
	RefuseAfter              time.Duration     `yaml:"refuse_after" doc:"time after which a refused connect is told; default 0"`
	TimerOverhead            time.Duration     `yaml:"timer_overhead" doc:"added to each wait of a connect, a ping, a round trip and a query's phase that is not 0, to compare with measurements on a coarse timer; default 0"`
	StatementTimeout         time.Duration     `yaml:"statement_timeout" doc:"a query is cancelled (57014) when it has been at the server for so long; 0 (default) never"`
	DeadlockTimeout          *time.Duration    `yaml:"deadlock_timeout" doc:"a query that has waited for a lock for so long looks whether it does so in a circle, and then fails (40P01); default 1s; 0 never looks"`
	IdleInTransactionTimeout time.Duration     `yaml:"idle_in_transaction_timeout" doc:"a session whose transaction has had no query for so long is ended (57P01); 0 (default) never"`
	CancelRequest            dist.Distribution `yaml:"cancel_request" doc:"time from a cancel request, which takes a connection of its own, until it acts; default 0"`
	Contention               Contention        `yaml:"contention" doc:"slow-down by other active queries (universal scalability law); default none"`
	Faults                   []Fault           `yaml:"faults" doc:"what goes wrong, and when"`
}

// Role is a database role.
type Role struct {
	Name        string `yaml:"name" doc:"name, for the pools to refer to"`
	Limit       int    `yaml:"limit" doc:"sessions of this role open at once, over all pools; 0 (default) for no limit of its own"`
	Superuser   bool   `yaml:"superuser" doc:"may use all of connection_limit; default false"`
	UseReserved bool   `yaml:"use_reserved" doc:"may use the reserved sessions; default false"`
}

// Contention is the slow-down of the universal scalability law (Gunther, 1993): while n queries are at the server, those that
// wait for a core and those in an io phase included, a cpu phase takes 1 + Sigma*(n-1) + Kappa*n*(n-1) times as long. Without
// a limit of cores, n clients then reach n/(1 + Sigma*(n-1) + Kappa*n*(n-1)) times the throughput of one. Under the
// discipline fifo the n that counts is that at the start of the phase; under sharing the rate follows n.
type Contention struct {
	Sigma float64 `yaml:"sigma" doc:"serial share of the work, 0 to 1"`
	Kappa float64 `yaml:"kappa" doc:"cost of coherence for each pair, 0 to 1; 0.001 is much"`
}

// Discipline says how queries share the cores.
type Discipline uint8

// The disciplines.
const (
	FIFO    Discipline = iota // one query a core to the end of its cpu phase, the others queue
	Sharing                   // n queries on c cores each progress at the rate min(1, c/n)
)

var disciplines = []string{"fifo", "sharing"}

// String returns the name of d.
func (d Discipline) String() string { return disciplines[d] }

// UnmarshalText reads a name.
func (d *Discipline) UnmarshalText(text []byte) error { return wording.Number(d, disciplines, text) }

// LimitError says what a connect past a limit is told.
type LimitError uint8

// The errors.
const (
	Error53300 LimitError = iota // too_many_connections of PostgreSQL
	Error1040                    // ER_CON_COUNT_ERROR of MySQL
)

var limitErrors = []string{"53300", "1040"}

// String returns the code.
func (e LimitError) String() string { return limitErrors[e] }

// UnmarshalText reads a code.
func (e *LimitError) UnmarshalText(text []byte) error { return wording.Number(e, limitErrors, text) }

// Role returns the Caller.Role of a role's name; that of the empty name is 0.
func (o *Options) Role(name string) (int16, bool) {
	if name == "" {
		return 0, true
	}
	for i := range o.Roles {
		if o.Roles[i].Name == name {
			return int16(i + 1), true
		}
	}
	return 0, false
}

func (o *Options) deadlockTimeout() time.Duration {
	if o.DeadlockTimeout == nil {
		return time.Second
	}
	return *o.DeadlockTimeout
}

// Validate reports every mistake in o: the path of the field and what would be right.
func (o *Options) Validate(bad func(path, message string)) {
	notNegative := func(path string, n int) {
		if n < 0 {
			bad(path, fmt.Sprintf("want 0 or more, have %d", n))
		}
	}
	notNegativeTime := func(path string, d time.Duration) {
		if d < 0 {
			bad(path, fmt.Sprintf("want a duration that is not negative, have %v", d))
		}
	}
	notNegative("cores", o.Cores)
	if o.Cores > maxCores {
		bad("cores", fmt.Sprintf("want at most %d, have %d", maxCores, o.Cores))
	}
	notNegative("connection_limit", o.ConnectionLimit)
	notNegative("superuser_reserved", o.SuperuserReserved)
	notNegative("reserved", o.Reserved)
	if kept := o.SuperuserReserved + o.Reserved; kept > 0 && kept >= o.ConnectionLimit {
		bad("connection_limit", fmt.Sprintf("want more than superuser_reserved + reserved (%d), have %d", kept, o.ConnectionLimit))
	}
	names := map[string]bool{}
	for i, r := range o.Roles {
		at := fmt.Sprintf("roles[%d]", i)
		switch {
		case r.Name == "":
			bad(at+".name", "want a name")
		case names[r.Name]:
			bad(at+".name", fmt.Sprintf("%q is there twice", r.Name))
		}
		names[r.Name] = true
		notNegative(at+".limit", r.Limit)
	}
	for _, d := range []struct {
		path string
		dist dist.Distribution
	}{
		{"connect", o.Connect}, {"login_cpu", o.LoginCPU}, {"close", o.Close}, {"close_hard", o.CloseHard},
		{"ping", o.Ping}, {"round_trip", o.RoundTrip}, {"cancel_request", o.CancelRequest},
	} {
		d.dist.Validate(under(bad, d.path))
	}
	for i, d := range o.ConnectPlan {
		notNegativeTime(fmt.Sprintf("connect_plan[%d]", i), d)
	}
	notNegativeTime("refuse_after", o.RefuseAfter)
	notNegativeTime("timer_overhead", o.TimerOverhead)
	notNegativeTime("statement_timeout", o.StatementTimeout)
	notNegativeTime("deadlock_timeout", o.deadlockTimeout())
	notNegativeTime("idle_in_transaction_timeout", o.IdleInTransactionTimeout)
	for _, c := range []struct {
		path  string
		value float64
	}{{"sigma", o.Contention.Sigma}, {"kappa", o.Contention.Kappa}} {
		if !(c.value >= 0 && c.value <= 1) {
			bad("contention."+c.path, fmt.Sprintf("want a number from 0 to 1, have %v", c.value))
		}
	}
	for i := range o.Faults {
		o.Faults[i].validate(under(bad, fmt.Sprintf("faults[%d]", i)))
	}
}

const maxCores = 1 << 20

// under returns a bad for what lies below path.
func under(bad func(path, message string), path string) func(string, string) {
	return func(p, message string) {
		if p != "" && p[0] != '[' {
			p = "." + p
		}
		bad(path+p, message)
	}
}

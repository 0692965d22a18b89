package pooler

import (
	"fmt"
	"strings"
	"time"

	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

// Options are those of PgBouncer, with its defaults (see DefaultOptions), and a few for what it cannot choose.
type Options struct {
	Mode                 Mode           `yaml:"mode" doc:"session, transaction or statement, default session; how long a client keeps a server connection: to its end, or to the end of a query (pool_mode)"`
	MaxClientConnections int            `yaml:"max_client_connections" doc:"count, at least 1, default 100; client connections open or being made at once (max_client_conn)"`
	LimitError           LimitError     `yaml:"limit_error" doc:"53300 or 08P01, default 53300; what a client past max_client_connections is told; the real one says 08P01, which pools take for an error that is not worth a retry"`
	DefaultPoolSize      int            `yaml:"default_pool_size" doc:"count, at least 1, default 20; server connections of each role, open or being opened at once"`
	MinPoolSize          int            `yaml:"min_pool_size" doc:"count, at most default_pool_size, default 0; server connections opened while a client is connected, used or not, and kept however long they are idle"`
	ReservePoolSize      int            `yaml:"reserve_pool_size" doc:"count, default 0; server connections beyond default_pool_size when a client has waited for reserve_pool_timeout"`
	ReservePoolTimeout   time.Duration  `yaml:"reserve_pool_timeout" doc:"duration, above 0, default 5s; see reserve_pool_size"`
	QueryWaitTimeout     *time.Duration `yaml:"query_wait_timeout" doc:"duration, above 0, default 2m, null for none; a client that waits for a server connection for so long is cut off"`
	ServerIdleTimeout    *time.Duration `yaml:"server_idle_timeout" doc:"duration, above 0, default 10m, null for none; a server connection that was idle for so long is closed"`
	ServerLifetime       *time.Duration `yaml:"server_lifetime" doc:"duration, default 1h, null for none; an unused server connection that is older is closed, but one every server_lifetime/default_pool_size; 0 to use each only once"`
	ServerCheckDelay     *time.Duration `yaml:"server_check_delay" doc:"duration, above 0, default 30s, null for none; a server connection that was idle for longer is pinged before it is lent"`
	ServerResetQuery     bool           `yaml:"server_reset_query" doc:"true or false, default true; in mode session, a ping of the server (the time of DISCARD ALL) before a server connection is lent to the next client"`
	ServerConnectTimeout *time.Duration `yaml:"server_connect_timeout" doc:"duration, above 0, default 15s, null for none; longest connect of the pooler to the server"`
	ServerLoginRetry     time.Duration  `yaml:"server_login_retry" doc:"duration, default 15s; from the start of a connect to the server that failed to that of the next"`
	ConnectsAtOnce       int            `yaml:"connects_at_once" doc:"count, at least 1, default 1; server connections of a role being opened at once; the real one opens one at a time"`
	ConnectEvery         time.Duration  `yaml:"connect_every" doc:"duration, default 0s; if above, at most one connect to the server begins at each multiple of it, as in poolers that open them during maintenance; 0s to begin when a client waits"`

	ClientConnect dist.Distribution `yaml:"client_connect" doc:"time of a client's connect to the pooler; default 0"`
	ClientLogin   dist.Distribution `yaml:"client_login" doc:"time that the pooler itself needs for a client's login, one login after the other, whether or not the client still waits; default 0"`
	ClientClose   dist.Distribution `yaml:"client_close" doc:"time of a client's graceful close; default 0"`
	RoundTrip     dist.Distribution `yaml:"round_trip" doc:"network time between client and pooler, added to each query and ping; default 0"`
}

// DefaultOptions returns the defaults.
func DefaultOptions() Options {
	some := func(d time.Duration) *time.Duration { return &d }
	return Options{
		MaxClientConnections: 100,
		DefaultPoolSize:      20,
		ReservePoolTimeout:   5 * time.Second,
		QueryWaitTimeout:     some(120 * time.Second),
		ServerIdleTimeout:    some(600 * time.Second),
		ServerLifetime:       some(time.Hour),
		ServerCheckDelay:     some(30 * time.Second),
		ServerResetQuery:     true,
		ServerConnectTimeout: some(15 * time.Second),
		ServerLoginRetry:     15 * time.Second,
		ConnectsAtOnce:       1,
	}
}

// Mode says how long a client keeps a server connection.
type Mode uint8

// The modes.
const (
	SessionMode     Mode = iota // from its first query to its end
	TransactionMode             // for the time of a transaction; without a begin each query is one
	StatementMode               // for the time of a query
)

var modes = []string{"session", "transaction", "statement"}

// String returns the name of m.
func (m Mode) String() string { return modes[m] }

// UnmarshalText reads a name.
func (m *Mode) UnmarshalText(text []byte) error { return wording.Number(m, modes, text) }

// LimitError says what a client past the limit of clients is told.
type LimitError uint8

// The errors.
const (
	Error53300 LimitError = iota // too_many_connections
	Error08P01                   // protocol_violation
)

var limitErrors = []string{"53300", "08P01"}

// String returns the code.
func (e LimitError) String() string { return limitErrors[e] }

// UnmarshalText reads a code.
func (e *LimitError) UnmarshalText(text []byte) error { return wording.Number(e, limitErrors, text) }

// outcome returns how such a connect ends.
func (e LimitError) outcome() record.Outcome {
	if e == Error08P01 {
		return record.OtherError
	}
	return record.TooManyConnections
}

// Validate reports every mistake in o: the path of the field and what would be right.
func (o *Options) Validate(bad func(path, message string)) {
	atLeast := func(path string, n, least int) {
		if n < least {
			bad(path, fmt.Sprintf("want %d or more, have %d", least, n))
		}
	}
	atLeast("max_client_connections", o.MaxClientConnections, 1)
	atLeast("default_pool_size", o.DefaultPoolSize, 1)
	atLeast("min_pool_size", o.MinPoolSize, 0)
	atLeast("reserve_pool_size", o.ReservePoolSize, 0)
	atLeast("connects_at_once", o.ConnectsAtOnce, 1)
	if o.MinPoolSize > o.DefaultPoolSize && o.DefaultPoolSize > 0 {
		bad("min_pool_size", fmt.Sprintf("want at most default_pool_size (%d), have %d", o.DefaultPoolSize, o.MinPoolSize))
	}
	above := func(path string, d *time.Duration) {
		if d != nil && *d <= 0 {
			bad(path, fmt.Sprintf("want a duration above 0, or none, have %v", *d))
		}
	}
	above("query_wait_timeout", o.QueryWaitTimeout)
	above("server_idle_timeout", o.ServerIdleTimeout)
	above("server_check_delay", o.ServerCheckDelay)
	above("server_connect_timeout", o.ServerConnectTimeout)
	if o.ReservePoolTimeout <= 0 {
		bad("reserve_pool_timeout", fmt.Sprintf("want a duration above 0, have %v", o.ReservePoolTimeout))
	}
	notNegative := func(path string, d time.Duration) {
		if d < 0 {
			bad(path, fmt.Sprintf("want a duration that is not negative, have %v", d))
		}
	}
	if o.ServerLifetime != nil {
		notNegative("server_lifetime", *o.ServerLifetime)
		if *o.ServerLifetime == 0 && o.MinPoolSize > 0 {
			bad("server_lifetime", "want a duration above 0 beside min_pool_size: what is used only once cannot be kept")
		}
	}
	notNegative("server_login_retry", o.ServerLoginRetry)
	notNegative("connect_every", o.ConnectEvery)
	for _, d := range []struct {
		path string
		dist dist.Distribution
	}{
		{"client_connect", o.ClientConnect}, {"client_login", o.ClientLogin}, {"client_close", o.ClientClose}, {"round_trip", o.RoundTrip},
	} {
		d.dist.Validate(func(path, message string) { bad(strings.TrimSuffix(d.path+"."+path, "."), message) })
	}
}

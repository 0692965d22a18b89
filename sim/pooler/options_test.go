package pooler

import (
	"encoding"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/sim/dist"
)

func mistakes(o Options) map[string]string {
	all := map[string]string{}
	o.Validate(func(path, message string) { all[path] = message })
	return all
}

func TestDefaultsAreValid(t *testing.T) {
	if m := mistakes(DefaultOptions()); len(m) > 0 {
		t.Error(m)
	}
}

func TestEveryMistakeIsReported(t *testing.T) {
	below, zero := -time.Second, time.Duration(0)
	o := Options{
		MaxClientConnections: 0, DefaultPoolSize: -1, MinPoolSize: -1, ReservePoolSize: -2, ReservePoolTimeout: 0,
		QueryWaitTimeout: &zero, ServerIdleTimeout: &below, ServerLifetime: &below, ServerCheckDelay: &zero, ServerConnectTimeout: &zero,
		ServerLoginRetry: below, ConnectsAtOnce: 0, ConnectEvery: below,
		ClientConnect: dist.Fixed(below), ClientLogin: dist.Distribution{Exponential: &dist.Exponential{}}, ClientClose: dist.Fixed(below),
		RoundTrip: dist.Fixed(below),
	}
	got := mistakes(o)
	for _, path := range []string{
		"max_client_connections", "default_pool_size", "min_pool_size", "reserve_pool_size", "reserve_pool_timeout", "query_wait_timeout",
		"server_idle_timeout", "server_lifetime", "server_check_delay", "server_connect_timeout", "server_login_retry", "connects_at_once",
		"connect_every", "client_connect.constant", "client_login.exponential.mean", "client_close.constant", "round_trip.constant",
	} {
		if got[path] == "" {
			t.Errorf("no message about %s", path)
		}
		delete(got, path)
	}
	if len(got) > 0 {
		t.Errorf("more than expected: %v", got)
	}

	o = DefaultOptions()
	o.MinPoolSize, o.ServerLifetime = 21, &zero
	want := map[string]string{
		"min_pool_size":   "want at most default_pool_size (20), have 21",
		"server_lifetime": "want a duration above 0 beside min_pool_size: what is used only once cannot be kept",
	}
	if d := cmp.Diff(want, mistakes(o)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestWordsAreRead(t *testing.T) {
	for word, want := range map[string]Mode{"session": SessionMode, "transaction": TransactionMode, "statement": StatementMode} {
		var m Mode
		if err := m.UnmarshalText([]byte(word)); err != nil || m != want || m.String() != word {
			t.Errorf("%s: %v, %v", word, m, err)
		}
	}
	for word, want := range map[string]LimitError{"53300": Error53300, "08P01": Error08P01} {
		var e LimitError
		if err := e.UnmarshalText([]byte(word)); err != nil || e != want || e.String() != word {
			t.Errorf("%s: %v, %v", word, e, err)
		}
	}
	for v, want := range map[encoding.TextUnmarshaler]string{
		new(Mode): `want session, transaction or statement, have "pool"`, new(LimitError): `want 53300 or 08P01, have "pool"`,
	} {
		if err := v.UnmarshalText([]byte("pool")); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

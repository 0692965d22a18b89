package scenarios

import (
	"strings"
	"testing"
)

// TestHazards: with T requests at once of C connections each, pools up to T x (C-1) can deadlock and the next can not; with P
// connections and W threads, P + W requests can and one less can not.
func TestHazards(t *testing.T) {
	for _, tt := range []struct {
		pool, workload string
		want           string // in the text; empty for no hazard
	}{
		{"{model: semaphore, max: 10}", "{clients: 50, request: [acquire, query: 5ms, acquire, release, release]}", "10 at once fill the pool of 10 and wait for each other; the smallest safe pool for 50 at once is 51 (50 x 1 + 1)"},
		{"{model: semaphore, max: 50}", "{clients: 50, request: [acquire, query: 5ms, acquire, release, release]}", "51 (50 x 1 + 1)"},
		{"{model: semaphore, max: 51}", "{clients: 50, request: [acquire, query: 5ms, acquire, release, release]}", ""},
		{"{model: sqlx, max_connections: 20}", "{clients: 10, request: [acquire, acquire, acquire, release, release, release]}", "10 at once fill the pool of 20"},
		{"{model: sqlx, max_connections: 21}", "{clients: 10, request: [acquire, acquire, acquire, release, release, release]}", ""},
		{"{model: handoff, max_total: 10}", "{arrivals: {poisson: 1/s}, request: [acquire, do: [acquire, release], release]}", "10 at once fill the pool of 10 and wait for each other"},
		{"{model: handoff, max_total: 10}", "{arrivals: {poisson: 1/s}, threads: 9, request: [acquire, do: [acquire, release], release]}", ""},
		{"{model: handoff, max_total: 1}", "{clients: 1, request: [acquire, acquire, release, release]}", "it can never have them"},
		{"{model: handoff, max_total: 1}", "{clients: 9, request: [acquire, acquire: {try: true}, release, release]}", ""},
		{"{model: handoff, max_total: 1}", "{clients: 9, request: [acquire, release, acquire, release]}", ""},
		{"none", "{clients: 9, request: [acquire, acquire, release, release]}", ""},
		{"{model: semaphore, max: 15}", "{clients: 55, threads: 40, request: [acquire, switch_thread, release]}", "54 at once are safe"},
		{"{model: semaphore, max: 15}", "{clients: 54, threads: 40, request: [acquire, switch_thread, release]}", ""},
		{"{model: semaphore, max: 15}", "{arrivals: {poisson: 1/s}, threads: 40, request: [acquire, switch_thread, release]}", "55 at once"},
		{"{model: semaphore, max: 15}", "{clients: 55, threads: 40, request: [acquire, release, switch_thread]}", ""},
	} {
		s, err := Decode("hazard.yaml", []byte("until: 1s\npool: "+tt.pool+"\nworkload: "+tt.workload), Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, h := range s.Hazards() {
			got += h.Text
		}
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %q, want %q", tt.pool, tt.workload, got, tt.want)
		}
	}
}

// A transaction that a release leaves open is warned of, where nothing says that it is meant.
func TestWarnings(t *testing.T) {
	const after = "a release within a transaction: want commit or rollback before it"
	const meant = ", or dirty: transaction if it is meant to be left open"
	for _, c := range []struct{ pool, request, want string }{
		{"handoff", "acquire, begin, query: 1ms, release", "workload.request[3]: " + after + meant},
		{"semaphore", "acquire, begin, release", "workload.request[2]: " + after},
		{"handoff", "acquire, begin, rollback, release", ""},
		{"handoff", "acquire, begin, dirty: transaction, release", ""},
		{"handoff", "acquire, begin, dirty: parameter, release", "workload.request[3]: " + after + meant},
		{"handoff", "acquire, begin, discard", ""}, // the server ends the transaction with the session
		{"handoff", "acquire, begin, acquire, release, commit, release", ""},
		{"handoff", "do: [acquire, begin, release]", "workload.request[0].do[2]: " + after + meant},
	} {
		s, err := Decode("f.yaml", []byte("until: 1s\npool: "+c.pool+"\nworkload: {clients: 1, request: ["+c.request+"]}\n"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Warnings(), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.request, got, c.want)
		}
	}
}

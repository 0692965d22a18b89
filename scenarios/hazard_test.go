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

package run

import (
	"context"
	"fmt"
	"testing"

	"poolwise/pool/models"
	"poolwise/scenarios"
	"poolwise/sim/record"
)

// TestFleetBehindAPooler: fifty instances with pools of 10 and a server that allows 200 sessions. Alone the first twenty instances get
// all of them, 200 x 50 requests, and the others none. Through 30 server connections for the time of a query all are served, and
// the server never has more than 30 sessions. In mode session the first 30 clients keep them, for 30 x 50 requests, and every
// other request fails in the pooler's queue.
func TestFleetBehindAPooler(t *testing.T) {
	base, cells := load(t, "pooler-fleet", scenarios.Options{})
	res, err := Run(context.Background(), base, cells, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		between    string
		ok, failed int64
		outcome    record.Outcome
		peak       int64
		clients    float64 // most at the pooler
	}{
		{"nothing", 10_000, 15_000, record.TooManyConnections, 200, 0},
		{"transaction mode", 25_000, 0, record.OK, 30, 500},
		{"session mode", 1500, 23_500, record.QueueTimeout, 30, 500},
	} {
		c := &res.Cells[i]
		if c.Settings[0].Value != want.between || c.Requests.OK != want.ok || c.Requests.Outcomes[want.outcome] != want.failed || c.Server.PeakOpen != want.peak {
			t.Errorf("%v: %+v, %+v; want %+v", c.Settings, c.Requests, c.Server, want)
		}
		if want.between == "nothing" {
			if c.Pooler != nil {
				t.Errorf("figures of a pooler that is not there: %+v", c.Pooler)
			}
			continue
		}
		p := c.Pooler
		if p.Clients.Max.Value != want.clients || p.Levels.Size.Max.Value != 30 || p.Refused != 0 || p.Timeouts != c.Requests.Outcomes[record.QueueTimeout] {
			t.Errorf("%s: %+v", want.between, p)
		}
		if c.Server.Opened != 30 || c.Connect.N != 30 {
			t.Errorf("%s: %d sessions opened, %d connects; want 30 of each", want.between, c.Server.Opened, c.Connect.N)
		}
	}
}

// TestPoolerHasTooFewSlots: of 500 connects 100 find no client slot. Without a pooler's queue for those, their requests fail.
func TestPoolerHasTooFewSlots(t *testing.T) {
	base, cells := load(t, "pooler-fleet", scenarios.Options{Set: []string{
		"sweep={}", "pooler.mode=transaction", "pooler.max_client_connections=400", "services[0].workload.repeat=1",
	}})
	res, err := Run(context.Background(), base, cells, Options{CheckInvariants: true})
	if err != nil {
		t.Fatal(err)
	}
	c := res.Cells[0]
	if c.Requests.OK != 400 || c.Requests.Outcomes[record.TooManyConnections] != 100 || c.Pooler.Refused != 100 || c.Server.Refused != 0 {
		t.Errorf("%+v; %d refused at the pooler, %d at the server", c.Requests, c.Pooler.Refused, c.Server.Refused)
	}
}

// TestServicePastThePooler: a service with direct has sessions of its own at the server, beside those of the pooler.
func TestServicePastThePooler(t *testing.T) {
	const src = `
until: drained
server: {connect: 1ms}
pooler: {mode: transaction, default_pool_size: 3}
services:
  - {name: web, pool: {model: semaphore, max: 8}, workload: {clients: 8, repeat: 20, request: [acquire, query: 5ms, release]}}
  - {name: jobs, direct: true, pool: {model: semaphore, max: 5}, workload: {clients: 5, repeat: 20, request: [acquire, query: 5ms, release]}}
`
	c := mustRun(t, src, scenarios.Options{}).Cells[0]
	if c.Server.PeakOpen != 3+5 || c.Pooler.Clients.Max.Value != 8 || c.Pooler.Levels.Size.Max.Value != 3 || c.Requests.OK != 13*20 {
		t.Errorf("%d sessions at the server, %v clients of the pooler on %v; %+v", c.Server.PeakOpen, c.Pooler.Clients.Max.Value, c.Pooler.Levels.Size.Max.Value, c.Requests)
	}
	alone := mustRun(t, src, scenarios.Options{Set: []string{"services.web.direct=true"}}).Cells[0]
	if alone.Pooler != nil || alone.Server.PeakOpen != 8+5 {
		t.Errorf("nobody uses the pooler, and it has figures: %+v", alone.Pooler)
	}
}

// TestPoolsThroughAPooler: every model, in each mode, with a server that restarts, loses and stalls what it has, and callers that give
// up. Every invariant holds, every request ends, and the server has no more sessions than the pooler may open.
func TestPoolsThroughAPooler(t *testing.T) {
	options := map[string]string{
		"semaphore": "max: 6, acquire_timeout: 300ms",
		"handoff":   "max_total: 6, acquire_timeout: 300ms",
		"sqlx":      "max_connections: 6, acquire_timeout: 300ms, max_lifetime: 2s, idle_timeout: 500ms",
	}
	for _, m := range models.Table {
		if m.Name == "asyncio" {
			continue // it has no connections
		}
		for _, mode := range []string{"session", "transaction"} {
			t.Run(m.Name+"/"+mode, func(t *testing.T) {
				model := "model: " + m.Name
				if o := options[m.Name]; o != "" {
					model += ", " + o
				}
				src := fmt.Sprintf(`
until: drained
replications: 4
server:
  cores: 2
  connect: {exponential: {mean: 5ms}}
  ping: 1ms
  close: 1ms
  connection_limit: 4
  faults:
    - {at: 1s, restart: true, for: 200ms}
    - {at: 2s, terminate: 2}
    - {at: 3s, connect_hang: true, for: 300ms}
    - {at: 4s, partition: true, for: 100ms}
    - {at: 5s, drop_idle: {after: 20ms, hang: 50ms}, for: 1s}
    - {at: 6500ms, failover: {hang: 100ms}, for: 300ms}
pooler:
  mode: %s
  default_pool_size: 5
  max_client_connections: 10
  query_wait_timeout: 200ms
  server_login_retry: 150ms
  server_connect_timeout: 250ms
  server_lifetime: 700ms
  server_check_delay: 10ms
  client_connect: {exponential: {mean: 2ms}}
  round_trip: 500us
services:
  - name: app
    instances: 2
    pool: {%s}
    workload:
      arrivals: {poisson: 60/s}
      limit: 480
      deadline: 400ms
      retry: {attempts: 2, backoff: 10ms, jitter: full}
      request:
        - acquire
        - query: {exponential: {mean: 4ms}}
        - call: {exponential: {mean: 5ms}}
        - query: {exponential: {mean: 4ms}}
        - release
`, mode, model)
				base, cells := mustLoad(t, src, scenarios.Options{})
				res, err := Run(context.Background(), base, cells, Options{CheckInvariants: true})
				if err != nil {
					t.Fatal(err)
				}
				c := &res.Cells[0]
				if c.Requests.Total != 4*960 || c.Requests.Unfinished != 0 {
					t.Errorf("%+v", c.Requests)
				}
				if c.Requests.OK < 4*960/3 || c.Requests.Failed == 0 {
					t.Errorf("%d of %d were served: the faults show too much, or too little", c.Requests.OK, c.Requests.Total)
				}
				if c.Server.PeakOpen > 4 || c.Pooler.Levels.Size.Max.Hi > 5 {
					t.Errorf("%d sessions at the server, %v in the pooler", c.Server.PeakOpen, c.Pooler.Levels.Size.Max)
				}
			})
		}
	}
}

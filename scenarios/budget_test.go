package scenarios

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"poolwise/sim/record"
)

// TestBudget: the published table. Of 200 connections 3 are for superusers, 10 for operators and 40 for other services; six
// instances, and two more during a release, share the 147 that are left: 18 each. With the peak forgotten it would be 24, which needs
// 192 at the peak.
func TestBudget(t *testing.T) {
	s, err := Decode("budget.yaml", []byte(`
until: 100s
server: {connection_limit: 200, superuser_reserved: 3, reserved: 10}
services:
  - {name: others, instances: 4, pool: {model: semaphore, max: 10}, workload: {clients: 1, request: [acquire, release]}}
  - name: api
    instances: 8
    pool: {model: handoff, max_total: 18}
    workload: {clients: 1, request: [acquire, release]}
  - {name: cron, pool: none, workload: {clients: 1, request: [acquire, release]}}
actions:
  - {at: 50s, service: api, instance: 1, do: shut_down}
  - {at: 60s, service: api, instance: 2, do: kill}
  - {at: 70s, service: others, instance: 3, do: kill}
  - {at: 70s, service: others, instance: 3, do: restart}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := &record.Budget{Limit: 200, Reserved: 13, Demand: 184, Left: 3, Rows: []record.BudgetRow{
		{Service: "others", Instances: 4, Peak: 4, PerInstance: 10, Demand: 40, Available: 43, Safe: 10, WithoutPeak: 10, NeedsAtPeak: 40},
		{Service: "api", Instances: 6, Peak: 8, PerInstance: 18, Demand: 144, Available: 147, Safe: 18, WithoutPeak: 24, NeedsAtPeak: 192},
	}}
	if d := cmp.Diff(want, s.Budget()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestBudgetOfRoles: a role has its own limit, a superuser may use what is reserved, and a pooler stands for the services behind it.
func TestBudgetOfRoles(t *testing.T) {
	s, err := Decode("budget.yaml", []byte(`
until: 100s
server:
  connection_limit: 100
  superuser_reserved: 3
  reserved: 5
  roles: [{name: app, limit: 30}, {name: admin, superuser: true}, {name: ops, use_reserved: true}]
pooler: {default_pool_size: 20, reserve_pool_size: 5}
services:
  - {name: web, instances: 50, pool: {model: sqlx, max_connections: 10}, workload: {clients: 1, request: [acquire, release]}}
  - {name: a, role: app, direct: true, instances: 3, pool: {model: semaphore, max: 4}, workload: {clients: 1, request: [acquire, release]}}
  - {name: b, role: app, direct: true, pool: {model: semaphore, max: 6}, workload: {clients: 1, request: [acquire, release]}}
  - {name: root, role: admin, direct: true, pool: {model: semaphore, max: 1}, workload: {clients: 1, request: [acquire, release]}}
  - {name: ops, role: ops, direct: true, pool: {model: semaphore, max: 1}, workload: {clients: 1, request: [acquire, release]}}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := s.Budget()
	if b.Demand != 25+12+6+1+1 || b.Left != 100-8-45 {
		t.Errorf("%+v", b)
	}
	// What is available: 100 less what is kept from the role and the demand of the others (45 less its own), and within the limit
	// of the role less the demand of its other services.
	want := map[string]int{"pooler": 100 - 8 - 20, "a": 30 - 6, "b": 30 - 12, "root": 100 - 44, "ops": 100 - 3 - 44}
	for _, row := range b.Rows {
		if row.Available != want[row.Service] {
			t.Errorf("%s: %d available, want %d", row.Service, row.Available, want[row.Service])
		}
		delete(want, row.Service)
	}
	if len(want) > 0 {
		t.Errorf("no row for %v", want)
	}
}

// Without a limit, or with one pool, there is nothing to divide.
func TestNoBudget(t *testing.T) {
	for _, src := range []string{
		"until: 1s\npool: {model: semaphore}\nserver: {connection_limit: 10}\nworkload: {clients: 1, request: [acquire, release]}",
		"until: 1s\nservices: [{name: a, instances: 3, pool: {model: semaphore}, workload: {clients: 1, request: [acquire, release]}}]",
	} {
		s, err := Decode("budget.yaml", []byte(src), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if b := s.Budget(); b != nil {
			t.Errorf("%+v", b)
		}
	}
}

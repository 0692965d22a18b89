package scenarios

import (
	"strings"
	"testing"
	"time"

	"poolwise/pool/none"
	"poolwise/pool/sqlx"
	"poolwise/workload"

	"github.com/google/go-cmp/cmp"
)

// mistakes returns what Validate says of s.
func mistakes(s *Scenario) []string {
	var all []string
	s.Validate(func(path, message string) { all = append(all, path+": "+message) })
	return all
}

// A pool of sqlx can be the parent of another.
func TestParents(t *testing.T) {
	service := func(name, parent string, change func(*Service, *sqlx.Options)) Service {
		o := sqlx.DefaultOptions()
		o.Parent = parent
		v := Service{Name: name, Instances: 1, Pool: &Pool{"sqlx", &o}, Workload: &workload.Options{Script: []workload.Scripted{{}}}}
		change(&v, &o)
		return v
	}
	as := func(*Service, *sqlx.Options) {}
	for name, c := range map[string]struct {
		services []Service
		want     []string
	}{
		"good":   {[]Service{service("a", "", as), service("b", "a", as), service("c", "b", as)}, nil},
		"nobody": {[]Service{service("a", "x", as)}, []string{`services[0].pool.parent: there is no service "x"`}},
		"itself": {[]Service{service("a", "a", as)}, []string{`services[0].pool.parent: "a" is its own parent in the end`}},
		"each other": {[]Service{service("a", "b", as), service("b", "a", as)}, []string{
			`services[0].pool.parent: "b" is its own parent in the end`, `services[1].pool.parent: "a" is its own parent in the end`}},
		"another model": {
			[]Service{service("a", "", func(v *Service, _ *sqlx.Options) { v.Pool = &Pool{"none", &none.Options{}} }), service("b", "a", as)},
			[]string{"services[1].pool.parent: want a service whose pool is of this model"}},
		"larger": {
			[]Service{service("a", "", as), service("b", "a", func(_ *Service, o *sqlx.Options) { o.MaxConnections = 11 })},
			[]string{"services[1].pool.max_connections: want at most 10"}},
		"more of them, and earlier": {
			[]Service{service("a", "", func(v *Service, _ *sqlx.Options) { v.StartAt = time.Second }), service("b", "a", func(v *Service, _ *sqlx.Options) { v.Instances = 2 })},
			[]string{`services[1].instances: want as many as the parent "a" has (1), have 2`, `services[1].start_at: want no instance to start before that of the parent "a"`}},
	} {
		s := &Scenario{Until: Until{Drained: true}, Replications: 1, Services: c.services}
		got := mistakes(s)
		for i, want := range c.want { // sqlx words some of them
			if i < len(got) && strings.HasPrefix(got[i], want) {
				got[i] = want
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Validate needs no file: a scenario made by a program is checked alike.
func TestValidateLiteral(t *testing.T) {
	s := &Scenario{Warmup: Warmup{Auto: true}, Services: []Service{{Name: "a", Instances: 1, StartAt: -1, StartEvery: -1}}, Checks: []Check{{Expr: "p(99)"}}}
	want := []string{
		"until: want drained, for a run that ends by itself, or a duration such as 60s",
		"warmup: want estimate: steady beside it: a terminating estimate is about the whole run, its beginning included",
		"services[0].start_at: want a duration that is not negative, have -1ns",
		"services[0].start_every: want a duration that is not negative, have -1ns",
		"services[0].pool: there is no pool: want a model and its options; without a pool it is {model: none}",
		"services[0].workload: there is no workload: want clients, arrivals or a script, and a request",
		"replications: want 1 to 100000, have 0",
		`checks[0]: check "p(99)": at byte 5: want <, <=, >, >=, == or !=`,
	}
	if d := cmp.Diff(want, mistakes(s)); d != "" {
		t.Error(d)
	}
}

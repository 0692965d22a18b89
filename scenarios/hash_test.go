package scenarios

import (
	"strings"
	"testing"
	"testing/fstest"
)

const plainScenario = `
name: a
until: drained
server: {cores: 4, connect: 20ms}
pool: {model: semaphore, max: 4}
workload: {clients: 3, repeat: 2, request: [acquire, query: 5ms, release]}
`

func hashOf(t *testing.T, text string, o Options) string {
	t.Helper()
	o.Open = fstest.MapFS{
		"a.csv": &fstest.MapFile{Data: []byte("ms\n5\n6\n")},
		"b.csv": &fstest.MapFile{Data: []byte("5ms\n6ms\n")},
		"c.csv": &fstest.MapFile{Data: []byte("5ms\n7ms\n")},
	}.Open
	s, err := Decode("f.yaml", []byte(text), o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s.Hash()
}

// What means the same has the same hash.
func TestHashOfEqualMeaning(t *testing.T) {
	want := hashOf(t, plainScenario, Options{})
	for _, c := range []struct{ from, to string }{
		{"name: a", "name: b\nabout: something\nsource: somewhere"},
		{"20ms", "0.02s"},
		{"20ms", "{constant: 20ms}"},
		{"cores: 4", "cores: +4, reserved: 0, ping: 0s"},
		{"until: drained", "until: \"drained\" # to the end\nseed: 1\nreplications: 1\nestimate: terminating\nwarmup: none"},
		{"max: 4", "max: 4, acquire_timeout: 30s, max_lifetime: 1800s"},
		{"acquire,", "acquire: {try: false},"},
		{"release]", "return: release]"},
		{"query: 5ms,", "{query: 5ms, chance: 100%},"},
		{"query: 5ms,", "{chance: 1, query: {constant: 5ms}},"},
		{"repeat: 2", "repeat: 2, think: 0s, deadline: none"},
		{"{cores: 4, connect: 20ms}", "\n  connect: &c 20ms\n  cores: 4"},
	} {
		text := strings.Replace(plainScenario, c.from, c.to, 1)
		if text == plainScenario {
			t.Fatalf("nothing to replace: %q", c.from)
		}
		if got := hashOf(t, text, Options{}); got != want {
			t.Errorf("%s has the hash %s, not %s", text, got, want)
		}
	}
	if got := hashOf(t, strings.Replace(plainScenario, "max: 4", "max: 9", 1), Options{Set: []string{"pool.max=4"}}); got != want {
		t.Errorf("with an override the hash is %s, not %s", got, want)
	}
	if a, b := hashOf(t, plainScenario+"checks: [p(99)<1s]", Options{}), hashOf(t, plainScenario+"\n\nchecks: [{expr: p(99) < 1s}]", Options{}); a != b {
		t.Errorf("%s and %s for one check", a, b)
	}
	set := func(v string) Options { return Options{Set: []string{"server.connect.empirical=" + v}} }
	if a, b := hashOf(t, plainScenario, set("{file: a.csv, unit: ms}")), hashOf(t, plainScenario, set("{file: b.csv}")); a != b {
		t.Errorf("%s and %s for the same samples", a, b)
	}
}

// What means something else has another hash.
func TestHashOfOtherMeaning(t *testing.T) {
	seen := map[string]string{hashOf(t, plainScenario, Options{}): plainScenario}
	for _, set := range [][]string{
		{"until=3s"}, {"until=4s"}, {"seed=2"}, {"replications=2"}, {"server.cores=5"}, {"server.reserved=3", "server.connection_limit=9"},
		{"server.connect=21ms"}, {"server.connect={exponential: {mean: 20ms}}"}, {"server.discipline=sharing"}, {"pool.max=5"},
		{"pool.max_lifetime=0s"}, {"pool.test_on_acquire=true"}, {"pool=none"}, {"workload.clients=4"}, {"workload.think=1ms"},
		{"workload.think={constant: 0s, at_most: 1ms}"}, {"workload.deadline=1s"}, {"workload.deadline=2s"},
		{"workload.request[2]=discard"}, {"workload.request[0].acquire.try=true"}, {"workload.request[1]={query: 5ms, chance: 50%}"},
		{"workload.request=[acquire, query: 5ms, query: 5ms, release]"}, {"workload.request=[acquire, release, acquire, query: 5ms, release]"},
		{"workload.retry={attempts: 2}"}, {"workload.retry={attempts: 2, factor: 3}"}, {"workload.retry={attempts: 2, on: [failed]}"},
		{"sweep={pool.max: [1, 2]}"}, {"sweep={pool.max: [2, 1]}"}, {"sweep={x: {a: {pool.max: 1}}}"},
		{"checks=[p(99)<1s]"}, {"checks=[{expr: p(99)<1s, level: warning}]"}, {"checks=[{expr: p(99)<1s, level: off}]"},
		{"server.connect={empirical: {file: b.csv}}"}, {"server.connect={empirical: {file: c.csv}}"},
	} {
		h := hashOf(t, plainScenario, Options{Set: set})
		if was, twice := seen[h]; twice {
			t.Errorf("%v has the hash of %s", set, was)
		}
		seen[h] = strings.Join(set, " ")
		if len(h) != 16 {
			t.Errorf("hash %q", h)
		}
	}
}

// The defaults that the hash takes from the docs of options are those it is told of.
func TestHashOfNone(t *testing.T) {
	type options struct {
		A *int `yaml:"a" doc:"count, default 10, null for none"`
		B *int `yaml:"b" doc:"count, default 10; of something"`
		C *int `yaml:"c" doc:"count, none by default"`
	}
	hash := func(o options) string {
		s := Scenario{Pool: &Pool{"x", &o}}
		return s.Hash()
	}
	ten := 10
	if hash(options{}) == hash(options{A: &ten}) {
		t.Error("none is taken for the default")
	}
	if hash(options{}) != hash(options{B: &ten}) {
		t.Error("the default is not taken for itself")
	}
	if hash(options{}) == hash(options{C: &ten}) {
		t.Error("a value is taken for none")
	}
}

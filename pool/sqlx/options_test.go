package sqlx

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/pool"
	"poolwise/sim/dist"
)

// mistakes returns what Validate has to say, by path.
func mistakes(o Options) []string {
	var all []string
	o.Validate(func(path, message string) {
		if !strings.HasPrefix(message, "want ") {
			path += ": does not say what would be right: " + message
		}
		all = append(all, path)
	})
	return all
}

func TestDefaultsAreValid(t *testing.T) {
	if m := mistakes(DefaultOptions()); m != nil {
		t.Errorf("mistakes in the defaults: %v", m)
	}
}

func TestValidateReportsEveryMistakeWithItsPath(t *testing.T) {
	o := DefaultOptions()
	zero, negative := time.Duration(0), -time.Second
	o.MaxConnections, o.MinConnections = 0, -1
	o.AcquireTimeout, o.AcquireSlowThreshold, o.TimerGranularity, o.TimerLateness = -1, -1, -1, -1
	o.IdleTimeout, o.MaxLifetime = &zero, &negative
	o.Start = 7
	o.AfterConnect = &Hook{Results: []HookResult{HookOK, HookFalse}, FalseProbability: 0.5}
	o.BeforeAcquire = &Hook{FalseProbability: 0.6, ErrorProbability: 0.6, Takes: dist.Fixed(-time.Second)}
	o.AfterRelease = &Hook{Results: []HookResult{9}, ErrorProbability: 2}
	want := []string{
		"max_connections", "min_connections",
		"acquire_timeout", "acquire_slow_threshold", "timer_granularity", "timer_lateness",
		"idle_timeout", "max_lifetime", "start",
		"after_connect.results[1]", "after_connect.false_probability",
		"before_acquire.takes.constant", "before_acquire.error_probability",
		"after_release.results[0]", "after_release.error_probability", "after_release.error_probability",
	}
	if diff := cmp.Diff(want, mistakes(o)); diff != "" {
		t.Error(diff)
	}
}

func TestValidateChild(t *testing.T) {
	parent := DefaultOptions()
	o := DefaultOptions()
	o.MaxConnections, o.Fair = parent.MaxConnections+1, false
	var paths []string
	bad := func(path, _ string) { paths = append(paths, path) }
	o.ValidateChild(&parent, bad)
	if want := []string{"max_connections", "fair"}; !cmp.Equal(want, paths) {
		t.Errorf("mistakes at %v, want %v", paths, want)
	}
	paths = nil
	o.ValidateChild(struct{}{}, bad)
	if want := []string{"parent"}; !cmp.Equal(want, paths) {
		t.Errorf("mistakes at %v, want %v", paths, want)
	}
	paths = nil
	parent.ValidateChild(parent, bad)
	if paths != nil {
		t.Errorf("mistakes at %v in a child like its parent", paths)
	}
}

func TestNamesReadAsTheyPrint(t *testing.T) {
	for _, s := range []Start{Lazy, Eager} {
		var got Start = 9
		if err := got.UnmarshalText([]byte(s.String())); err != nil || got != s {
			t.Errorf("%v reads as %v, %v", s, got, err)
		}
	}
	for _, r := range []HookResult{HookOK, HookFalse, HookError} {
		var got HookResult = 9
		if err := got.UnmarshalText([]byte(r.String())); err != nil || got != r {
			t.Errorf("%v reads as %v, %v", r, got, err)
		}
	}
	for _, u := range []interface{ UnmarshalText([]byte) error }{new(Start), new(HookResult)} {
		if u.UnmarshalText([]byte("True")) == nil {
			t.Errorf("%T reads anything", u)
		}
	}
}

// The luck of a hook is that of its request: 10000 calls end as the probabilities say, within four standard deviations, and the
// same call ends the same way again.
func TestHookLuck(t *testing.T) {
	o := Hook{Results: []HookResult{HookError}, FalseProbability: 0.2, ErrorProbability: 0.1}
	h := newHook(&o, pool.Env{Seed: 1}, "test")
	if _, r := h.call(7); r != HookError {
		t.Fatalf("the first call ends with %v, not as listed", r)
	}
	const n = 10000
	var count [3]int
	var first []HookResult
	for i := range int64(n) {
		_, r := h.call(i)
		count[r]++
		first = append(first, r)
	}
	for r, p := range []float64{0.7, 0.2, 0.1} {
		if got, want := float64(count[r]), p*n; (got-want)*(got-want) > 16*n*p*(1-p) {
			t.Errorf("%v: %v of %v calls, want about %v", HookResult(r), got, n, want)
		}
	}
	for i := range int64(n) {
		if _, r := h.call(i); r != first[i] {
			t.Fatalf("call %d ends with %v and then with %v", i, first[i], r)
		}
	}
}

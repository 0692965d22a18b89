package wording

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLists(t *testing.T) {
	for _, c := range []struct {
		words   []string
		or, and string
	}{
		{nil, "", ""},
		{[]string{"a"}, "a", "a"},
		{[]string{"a", "b"}, "a or b", "a and b"},
		{[]string{"a", "b", "c"}, "a, b or c", "a, b and c"},
	} {
		if or, and := Or(c.words), And(c.words); or != c.or || and != c.and {
			t.Errorf("%q: have %q and %q", c.words, or, and)
		}
	}
}

func TestNumber(t *testing.T) {
	type color uint8
	colors := []string{"red", "green", "blue"}
	for i, name := range colors {
		var c color
		if err := Number(&c, colors, []byte(name)); err != nil || int(c) != i {
			t.Errorf("%s: have %d, %v", name, c, err)
		}
	}
	c := color(1)
	if err := Number(&c, colors, []byte("Red")); err == nil || err.Error() != `want red, green or blue, have "Red"` || c != 1 {
		t.Errorf("have %d, %v", c, err)
	}
}

func TestNear(t *testing.T) {
	names := []string{"run", "sweep", "check", "sizing-knee", "sizing-curve"}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"rn", []string{"run"}},
		{"sizing-nee", []string{"sizing-knee"}},
		{"sizing", []string{"sizing-knee", "sizing-curve"}},
		{"sizing knee", []string{"sizing-knee"}},
		{"knee", []string{"sizing-knee"}},
		{"s", nil},
		{"", nil},
		{"something else", nil},
	} {
		if diff := cmp.Diff(c.want, Near(c.name, names)); diff != "" {
			t.Errorf("near %q (-want +got):\n%s", c.name, diff)
		}
	}
	// The closest first, at most three; those that begin with it come last.
	if diff := cmp.Diff([]string{"timeout", "timeoux", "timxxut"}, Near("timeout", []string{"timxxut", "timeout_after", "timeoux", "timeout"})); diff != "" {
		t.Errorf("near timeout (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"timeoux", "timeout_after"}, Near("timeout", []string{"timeout_after", "timeoux"})); diff != "" {
		t.Errorf("near timeout (-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"max_connections", "min_connections", "max_lifetime", "acquire_timeout", "fair"}
	for word, want := range map[string]string{
		"max_conections": "max_connections",
		"maxConnections": "max_connections",
		"mniConnections": "min_connections", // a swap is one change
		"timeout":        "acquire_timeout",
		"fiar":           "fair",
		"max":            "", // two begin so
		"connections":    "",
		"min":            "min_connections",
		"mi":             "",
		"size":           "",
		"":               "",
	} {
		if got, ok := Nearest(word, names); got != want || ok != (want != "") {
			t.Errorf("nearest to %q: have %q, %v, want %q", word, got, ok, want)
		}
	}
}

// However far: it is the first of the nearest.
func TestClosest(t *testing.T) {
	for word, want := range map[string]string{"waiting": "wait", "x": "wait", "hlod": "hold", "": "wait"} {
		if got := Closest(word, []string{"wait", "hold", "latency"}); got != want {
			t.Errorf("closest to %q: have %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abc", "acb", 1}, {"abcd", "badc", 2}, {"flaw", "lawn", 2},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: have %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// It is the same both ways, 0 for what is equal only, and not above the length of the longer.
func TestDistanceIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc]{0,6}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < len(a)-len(b) {
			t.Fatalf("from %q to %q: %d, back %d", a, b, d, distance(b, a))
		}
	})
}

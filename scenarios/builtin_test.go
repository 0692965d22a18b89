package scenarios

import (
	"strings"
	"testing"
)

// Every built-in scenario is without mistakes, is called as its file is, and says what it is about and where it is from.
func TestBuiltIn(t *testing.T) {
	list := List()
	if len(list) < 6 {
		t.Fatalf("only %d built-in scenarios", len(list))
	}
	for _, info := range list {
		src, err := Open(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		s, cells, err := Load(info.Name+".yaml", src, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != info.Name || s.About == "" || s.About != info.About || s.Source == "" || len(cells) == 0 {
			t.Errorf("%s: name %q, about %q, source %q, %d cells", info.Name, s.Name, s.About, s.Source, len(cells))
		}
	}
}

func TestOpenSaysWhatThereIs(t *testing.T) {
	_, err := Open("sizing-nee")
	if want := `there is no built-in scenario "sizing-nee", did you mean sizing-knee?`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = Open("../go.mod")
	if err == nil || !strings.Contains(err.Error(), "there are asyncio-drain, ") {
		t.Errorf("%v", err)
	}
}

// The starter is a scenario, with what is commented out in it and without.
func TestStarter(t *testing.T) {
	text := Starter()
	for _, c := range []struct{ from, to string }{
		{"", ""},
		{"  # discipline: ", "  discipline: "},
		{"  # statement_timeout: ", "  statement_timeout: "},
		{"  # faults: ", "  faults: "},
		{"  #   - {at", "    - {at"},
		{"    # - query:", "    - query:"},
		{"    # - call:", "    - call:"},
		{"  # deadline:", "  deadline:"},
		{"  # retry:", "  retry:"},
		{"  # load:", "  load:"},
		{"  #   today:", "    today:"},
		{"  #   next year:", "    next year:"},
		{"  arrivals:", "  # arrivals:"},
		{"  # clients:", "  clients:"},
		{"  # think:", "  think:"},
	} {
		if !strings.Contains(text, c.from) {
			t.Fatalf("there is no %q", c.from)
		}
		text = strings.ReplaceAll(text, c.from, c.to)
		if c.from == "  # faults: " || strings.HasPrefix(c.from, "  # load") || strings.HasPrefix(c.from, "  arrivals") ||
			strings.Contains(c.from, "today") {
			continue // only whole with the next
		}
		set := []string{}
		if strings.Contains(text, "  load:") && strings.Contains(text, "  clients:") { // the load is of arrivals
			set = append(set, "sweep={}")
		}
		if _, err := Decode("starter.yaml", []byte(text), Options{Set: set}); err != nil {
			t.Errorf("with %q:\n%v", c.to, err)
		}
	}
}

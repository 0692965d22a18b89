package scenarios

import (
	"regexp"
	"slices"
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

// The starter is a scenario, and so it is with any block of what is commented out in it, and with all of them.
func TestStarter(t *testing.T) {
	text := Starter()
	if _, err := Decode("starter.yaml", []byte(text), Options{}); err != nil {
		t.Error(err)
	}
	blocks := commentedOut(text)
	together := text
	for _, b := range blocks {
		one := strings.Replace(text, b.text, b.plain, 1)
		for _, key := range b.instead {
			one = withoutKey(t, one, b.indent, key, b.plain)
		}
		if _, err := Decode("starter.yaml", []byte(one), Options{}); err != nil {
			t.Errorf("with\n%s%v", b.plain, err)
		}
		if b.instead == nil {
			together = strings.Replace(together, b.text, b.plain, 1)
		}
	}
	if _, err := Decode("starter.yaml", []byte(together), Options{}); err != nil {
		t.Errorf("with all that is in comments:\n%v", err)
	}
	for _, key := range []string{"pooler", "faults", "services", "instances", "shared", "servers", "actions", "down", "clients", "think", "deadline", "retry", "load"} {
		if !slices.ContainsFunc(blocks, func(b blockOut) bool { return strings.Contains(b.plain, key+":") }) {
			t.Errorf("it does not show %s", key)
		}
	}
}

// blockOut is a run of lines that are commented out: # right in front of a key, an item, or what belongs to it.
type blockOut struct {
	text, plain string
	indent      string
	instead     []string // keys in whose place it is, by the comment before it
}

var (
	outLine = regexp.MustCompile(`^( *)#((?:  )*[-a-z].*)$`)
	instead = regexp.MustCompile(`^ *# Instead of ([a-z]+)(?:, ([a-z]+))?(?: and ([a-z]+))?:`)
)

// commentedOut returns the blocks of a text: each begins with a key, or an item, right behind the #.
func commentedOut(text string) (all []blockOut) {
	var keys []string
	open := false
	for line := range strings.Lines(text) {
		m := outLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || !open && strings.HasPrefix(m[2], " ") {
			open, keys = false, nil
			if i := instead.FindStringSubmatch(line); i != nil {
				keys = slices.DeleteFunc(i[1:], func(k string) bool { return k == "" })
			}
			continue
		}
		if !open {
			all = append(all, blockOut{indent: m[1], instead: keys})
		}
		open = true
		b := &all[len(all)-1]
		b.text += line
		b.plain += m[1] + m[2] + "\n"
	}
	return all
}

// withoutKey removes a key, and what belongs to it, from a text, but not from the part that is kept.
func withoutKey(t *testing.T, text, indent, key, kept string) string {
	t.Helper()
	before, after, _ := strings.Cut(text, kept)
	var b strings.Builder
	found, within := false, false
	for _, part := range []string{before, after} {
		for line := range strings.Lines(part) {
			deeper := strings.HasPrefix(line, indent+" ") || strings.TrimSpace(line) == ""
			within = within && deeper || strings.HasPrefix(line, indent+key+":")
			found = found || within
			if !within {
				b.WriteString(line)
			}
		}
		if part == before {
			b.WriteString(kept)
			within = false
		}
	}
	if !found {
		t.Errorf("there is no %s to be instead of", key)
	}
	return b.String()
}

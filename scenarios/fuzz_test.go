package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"
)

// FuzzDecode holds the promise that any bytes, and any override, give a scenario or errors with places, soon.
func FuzzDecode(f *testing.F) {
	for _, name := range builtinNames() {
		src, err := Open(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, "pool.max=16")
	}
	f.Add([]byte(Starter()), "sweep={pool.max: [1, 2]}")
	talks, err := filepath.Glob("testdata/decode/*.txt")
	if err != nil || talks == nil {
		f.Fatal(talks, err)
	}
	for _, name := range talks {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n\n") {
			_, rest, _ := strings.Cut(part, "\ndecode\n")
			src, _, _ := strings.Cut(rest, "\n----")
			f.Add([]byte(src), "services.api.workload.request[1].query=5ms")
		}
	}
	for _, h := range hostile {
		if len(h.src) < 10000 {
			f.Add([]byte(h.src), "name="+h.name)
		}
	}
	data := fstest.MapFS{"data.csv": &fstest.MapFile{Data: []byte("time\n5ms\n6ms\n")}}
	f.Fuzz(func(t *testing.T, src []byte, set string) {
		for _, o := range []Options{{Open: data.Open}, {Set: []string{set}}, {Over: []string{set}}, {Only: []string{set}, Fixed: true}} {
			s, cells, err := Load("f.yaml", src, o)
			if err == nil {
				hash := s.Hash()
				if again := s.Hash(); len(cells) == 0 || hash == "" || again != hash {
					t.Fatalf("%d cells, hash %q, then %q", len(cells), hash, again)
				}
				continue
			}
			if bad := misplaced(err, string(src)); bad != "" {
				t.Fatal(bad)
			}
		}
	})
}

// misplaced returns what is wrong with the form of errors about a text, empty if nothing is.
func misplaced(err error, src string) string {
	all, ok := err.(Errors)
	if !ok || len(all) == 0 {
		return fmt.Sprintf("no Errors: %#v", err)
	}
	lines := strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src), "\n") + 1
	for _, e := range all {
		one := e.Error()
		switch at := (*Error)(nil); {
		case !errors.As(e, &at):
			return "no *Error: " + one
		case e.From == "" && (e.Line < 1 || e.Col < 1 || e.Line > lines || e.File != "f.yaml"):
			return "no place: " + one
		case e.Msg == "" || strings.Contains(one, "\n") || !utf8.ValidString(one):
			return fmt.Sprintf("not one line: %q", one)
		case len(one) > 3000:
			return "too long: " + one
		}
	}
	return ""
}

// hostile are texts that cost a careless reader minutes, gigabytes or its stack, and bytes that are no text.
var hostile = []struct{ name, src, want string }{
	{"brackets", strings.Repeat("[", 1<<17), "f.yaml:1:65: more than 64 levels within each other"},
	{"braces", strings.Repeat("{a: ", 1<<17), "f.yaml:1:257: more than 64 levels within each other"},
	{"dashes", strings.Repeat("- ", 1<<17), "f.yaml:1:129: more than 64 levels within each other"},
	{"indent", indented(300), "f.yaml:65:66: more than 64 levels within each other"},
	{"keys", strings.Repeat("a:\n", 1<<17), "f.yaml:1001:1: more than 1000 keys in one mapping"},
	{"items", strings.Repeat("-\n", 1<<16), "f.yaml:1001:1: more than 1000 keys and items without a value"},
	{"absent", "a: {" + strings.Repeat("b, ", 1<<16) + "}", "f.yaml:1:3006: more than 1000 keys and items without a value"},
	{"one line", "about: [ü, " + strings.Repeat("1,", 1<<17) + "]", "f.yaml:1:8: about: want a text, have a list"},
	{"flow keys", "about: {" + flowKeys(1<<14) + "}", "f.yaml:1:7899: more than 1000 keys in one mapping"},
	{"questions", strings.Repeat("? ", 1<<16), "f.yaml:1:1: a ? key is not supported; write key: value"},
	{"anchors", strings.Repeat("&a\n", 1<<16), "f.yaml:1:1: an anchor needs a value of its own"},
	{"tags", strings.Repeat("!a\n", 1<<16), "f.yaml:1:1: tags such as !a are not supported"},
	{"documents", strings.Repeat("---\n", 1<<17), "f.yaml:2:1: a second document begins here; want one scenario in a file"},
	{"blank", "about: |\n" + strings.Repeat("\n", 1<<16), "f.yaml:1002:1: more than 1000 empty lines"},
	{"laughs", laughs(12), "f.yaml:1:1: its aliases stand for more than 1048576 values"},
	{"tower", tower(100), "f.yaml:1:1: its aliases stand for more than 64 levels within each other"},
	{"itself", "name: &a [*a]", "f.yaml:1:11: nothing before this is called &a"},
	{"long", "about: " + strings.Repeat("x", maxBytes), "f.yaml:1:1: it has 1048583 bytes; want at most 1048576, with long data in CSV files of their own"},
	{"latin-1", "name: caf\xe9", "f.yaml:1:10: byte 0xe9 is not UTF-8"},
	{"utf-16", "\xff\xfen\x00", "f.yaml:1:1: it is UTF-16; want UTF-8"},
	{"nul", "name: a\x00b", "f.yaml:1:8: control character U+0000"},
	{"escape", "name: a\n  \x1b[31m", "f.yaml:2:3: control character U+001B"},
	{"tab", "server:\n\tcores: 4", "f.yaml:2:1: a tab cannot indent; use spaces"},
	{"tab first", "\tserver: 1", "f.yaml:1:1: a tab cannot indent; use spaces"},
	{"tab before value", "until:\t5", "f.yaml:1:8: until: want drained, or a duration with its unit"},
	{"umlaut", "name: über\nuntil: {ü: 5}", "f.yaml:2:8: until: want drained"},
	{"umlaut before", "{about: über, until: 5}", "f.yaml:1:23: until: want drained"}, // in bytes
	{"mark", "\ufeffuntil: 5", "f.yaml:1:8: until: want drained"},
	{"crlf", "name: a\r\nuntil: 5\r\n", "f.yaml:2:8: until: want drained"},
	{"cr", "name: a\runtil: 5\r", "f.yaml:2:8: until: want drained"},
	{"empty", "", "f.yaml:1:1: there is no scenario in it"},
	{"space", " \n\n  ", "f.yaml:1:1: there is no scenario in it"},
	{"null", "~", "f.yaml:1:1: there is no scenario in it"},
}

func indented(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func flowKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d: 1, ", i)
	}
	return b.String()
}

// laughs is n lists, each of nine aliases of the one before.
func laughs(n int) string {
	s := "a0: &a0 x\n"
	for i := range n {
		s += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	return s
}

// tower is n lists, each of an alias of the one before.
func tower(n int) string {
	s := "a0: &a0 x\n"
	for i := range n {
		s += fmt.Sprintf("a%d: &a%d [*a%d]\n", i+1, i+1, i)
	}
	return s
}

func TestHostile(t *testing.T) {
	for _, h := range hostile {
		begin := time.Now()
		_, err := Decode("f.yaml", []byte(h.src), Options{})
		if err == nil || !strings.Contains(err.Error(), h.want) {
			t.Errorf("%s: %.300v\nwant %s", h.name, err, h.want)
		} else if bad := misplaced(err, h.src); bad != "" {
			t.Errorf("%s: %s", h.name, bad)
		}
		if took := time.Since(begin); took > 30*time.Second { // a second, on a machine with nothing else to do
			t.Errorf("%s took %v", h.name, took)
		}
	}
}

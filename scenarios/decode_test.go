package scenarios

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cockroachdb/datadriven"

	"poolwise/sim/wording"
)

// The conversations under testdata/decode: each gives a file, perhaps after lines with overrides, and shows the mistakes in it,
// or else what decode (every value that is not the default) or expand (the settings of the cells) makes of it.
func TestDecode(t *testing.T) {
	datadriven.Walk(t, "testdata/decode", func(t *testing.T, path string) {
		data := fstest.MapFS{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			src, o := options(d.Input)
			show := func(err error) string { // the list of models grows
				all := modelNames()
				return strings.NewReplacer(wording.Or(all), "MODELS", wording.And(all), "MODELS").Replace(err.Error()) + "\n"
			}
			o.Open = data.Open
			switch d.Cmd {
			case "file": // a data file for what follows
				data[d.CmdArgs[0].Key] = &fstest.MapFile{Data: []byte(d.Input)}
				return "ok\n"
			case "decode":
				s, err := Decode("f.yaml", []byte(src), o)
				if err != nil {
					return show(err)
				}
				return values(s)
			case "expand":
				cells, err := Expand("f.yaml", []byte(src), o)
				if err != nil {
					return show(err)
				}
				var b strings.Builder
				for _, c := range cells {
					fmt.Fprintf(&b, "[%v]\n", c.Settings)
					if d.HasArg("values") {
						for line := range strings.Lines(values(c.Scenario)) {
							b.WriteString("  " + line)
						}
					}
				}
				return b.String()
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

// options takes the overrides from the head of a text.
func options(text string) (src string, o Options) {
	for {
		line, rest, _ := strings.Cut(text, "\n")
		if v, ok := strings.CutPrefix(line, "--set "); ok {
			o.Set = append(o.Set, v)
		} else if v, ok := strings.CutPrefix(line, "--over "); ok {
			o.Over = append(o.Over, v)
		} else if v, ok := strings.CutPrefix(line, "--only "); ok {
			o.Only = append(o.Only, v)
		} else if line == "--fixed" {
			o.Fixed = true
		} else if line == "--no-sweep" {
			o.NoSweep = true
		} else {
			return text, o
		}
		text = rest
	}
}

func values(s *Scenario) string {
	var b bytes.Buffer
	canonical(&b, "", reflect.ValueOf(*s), "")
	return b.String()
}

package scenarios

import (
	"embed"
	"fmt"
	"strings"

	"poolwise/sim/wording"
)

//go:embed *.yaml
var builtin embed.FS

//go:embed template/starter.yaml
var starter string

// Info describes a built-in scenario.
type Info struct {
	Name  string
	About string
}

// List returns the built-in scenarios by name.
func List() []Info {
	var all []Info
	for _, name := range builtinNames() {
		src, err := Open(name)
		if err != nil {
			panic("scenarios: built-in: " + err.Error())
		}
		s, err := Decode(name+".yaml", src, Options{Open: builtin.Open})
		if err != nil {
			panic("scenarios: built-in: " + err.Error())
		}
		all = append(all, Info{name, s.About})
	}
	return all
}

// Open returns the text of a built-in scenario. The error says which it may have been.
func Open(name string) ([]byte, error) {
	src, err := builtin.ReadFile(name + ".yaml")
	if err == nil {
		return src, nil
	}
	names := builtinNames()
	if meant, ok := wording.Nearest(name, names); ok {
		return nil, fmt.Errorf("there is no built-in scenario %q, did you mean %s?", short(name), meant)
	}
	return nil, fmt.Errorf("there is no built-in scenario %q; there are %s", short(name), few(names))
}

// Starter returns a commented scenario with every section, to start from.
func Starter() string { return starter }

func builtinNames() []string {
	files, err := builtin.ReadDir(".")
	if err != nil {
		panic("scenarios: built-in: " + err.Error())
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

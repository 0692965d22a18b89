package main

import (
	"encoding"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"poolwise/scenarios"
	"poolwise/sim/dist"
	"poolwise/sim/wording"
)

func newKeys() *cobra.Command {
	var to destination
	cmd := &cobra.Command{
		Use:   "keys [PATH|WORD]",
		Short: "List the keys of a scenario file",
		Long: `List the keys that a scenario file can have: those of the file itself or, with a PATH such as
server.faults or workload.request, those of that section. With a WORD that is no path, all keys whose name
or meaning has it. Those of a pool depend on its model: poolwise models NAME. What a step returns or does
may stand alone: release is short for {return: release}.`,
		Example: `  poolwise keys
  poolwise keys workload.request
  poolwise keys distribution
  poolwise keys timeout`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("want at most one PATH or WORD, have %d: %q", len(args), args)
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return sections(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	format := addFormat(cmd, &to)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := to.check(); err != nil {
			return err
		}
		about := ""
		if len(args) == 1 {
			about = args[0]
		}
		found, err := keysAbout(about)
		if err != nil {
			return err
		}
		l := listing{heads: []string{"key", "type", "meaning"}, json: found}
		for _, k := range found {
			l.rows = append(l.rows, []string{k.Path, k.Type, k.Doc})
		}
		return to.write(cmd.OutOrStdout(), func(w io.Writer) error { return l.write(w, format.value, to.columns(w)) })
	}
	return cmd
}

// key is a key of a scenario file. The elements of a list have no number in its path: server.faults[].at.
type key struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Doc  string `json:"doc"`
}

// section returns the path of what the key is in, "" for the file itself.
func (k *key) section() string {
	if i := strings.LastIndexByte(k.Path, '.'); i >= 0 {
		return plain(k.Path[:i])
	}
	return ""
}

// plain returns a path without what stands in brackets: they may be left out.
func plain(path string) string {
	var b strings.Builder
	in := false
	for _, c := range path {
		switch {
		case c == '[':
			in = true
		case c == ']':
			in = false
		case !in:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// allKeys lists the keys, each section after its own key. What a duration can be instead is a section of its own.
func allKeys() []key {
	all := keysIn(reflect.TypeFor[scenarios.Scenario](), "", nil)
	return append(all, keysIn(reflect.TypeFor[dist.Distribution](), "distribution.", nil)...)
}

// keysIn lists the keys of a struct, and of the structs in it but for those that it is in itself.
func keysIn(t reflect.Type, prefix string, within []reflect.Type) []key {
	if slices.Contains(within, t) {
		return nil
	}
	within = append(within, t)
	var all []key
	for i := range t.NumField() {
		f := t.Field(i)
		name, how, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if how == "inline" {
			all = append(all, keysIn(f.Type, prefix, within)...)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		of, path := f.Type, prefix+name
		if of == reflect.TypeFor[scenarios.Sweep]() { // its keys are paths, or names
			all = append(all, key{path, "mapping", f.Tag.Get("doc")})
			continue
		}
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			if of.Kind() == reflect.Slice {
				path += "[]"
			}
			of = of.Elem()
		}
		form := typeName(f.Type)
		var below []key
		if of.Kind() == reflect.Struct && of != reflect.TypeFor[dist.Distribution]() {
			below = keysIn(of, path+".", within)
			if below != nil && reflect.PointerTo(of).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
				form = strings.Replace(form, "mapping", "text or mapping", 1)
			}
			if below == nil && of != reflect.TypeFor[scenarios.Pool]() && !slices.Contains(within, of) { // it has a short form only
				form = strings.Replace(form, "mapping", "text", 1)
			}
		}
		all = append(append(all, key{path, form, f.Tag.Get("doc")}), below...)
	}
	return all
}

// sections lists the paths that have keys below them.
func sections() []string {
	var all []string
	for _, k := range allKeys() {
		if s := k.section(); s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// keysAbout returns the keys of a section, or those that have a word in their name or meaning.
func keysAbout(about string) ([]key, error) {
	var in, with []key
	word := strings.ToLower(about)
	for _, k := range allKeys() {
		name := k.Path[strings.LastIndexByte(k.Path, '.')+1:]
		switch {
		case k.section() == plain(about):
			in = append(in, k)
		case plain(k.Path) == plain(about), strings.Contains(strings.ToLower(name+"\n"+k.Doc), word):
			with = append(with, k)
		}
	}
	switch {
	case in != nil:
		return in, nil
	case plain(about) == "pool" || strings.HasSuffix(plain(about), ".pool"):
		return nil, fmt.Errorf("the keys of a pool are model and the options of the model: poolwise models lists them, poolwise models NAME their options")
	case with != nil:
		return with, nil
	}
	if near := wording.Near(about, sections()); near != nil {
		return nil, fmt.Errorf("there is no key about %q, did you mean %s?", about, wording.Or(near))
	}
	return nil, fmt.Errorf("there is no key about %q; poolwise keys lists those of the file", about)
}

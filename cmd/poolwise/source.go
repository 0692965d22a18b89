package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"poolwise/scenarios"
	"poolwise/sim/wording"
)

// source is the text of a scenario.
type source struct {
	name string // for messages
	path string // of the file; empty if it is none
	text []byte
	open func(name string) (fs.File, error) // of the files that it names; nil for a built-in one, which names none
}

// maxText is more than any scenario may have.
const maxText = 16 << 20

// readSource reads what a FILE on the command line stands for: standard input (-), a file, or else a built-in scenario.
func readSource(arg string, stdin io.Reader) (source, error) { return readUpTo(arg, stdin, maxText) }

// readUpTo does so for a text of another length.
func readUpTo(arg string, stdin io.Reader, limit int64) (source, error) {
	if arg == "-" {
		text, err := readText(stdin, limit)
		if err != nil {
			return source{}, at("stdin", err)
		}
		return source{name: "stdin", text: text, open: openIn(".")}, nil
	}
	file, err := os.Open(arg)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err := scenarios.Open(arg); err == nil {
			return source{name: arg + ".yaml", text: text}, nil
		}
		return source{}, missing(arg)
	}
	if err != nil {
		return source{}, at(arg, err)
	}
	defer file.Close()
	text, err := readText(file, limit)
	if err != nil {
		return source{}, at(arg, err)
	}
	return source{name: arg, path: arg, text: text, open: openIn(filepath.Dir(arg))}, nil
}

// annotated returns the path of the file as the repository has it, for annotations: from the workspace of the CI or else from
// here, if it lies there.
func (s source) annotated() string {
	root, err := filepath.Abs(os.Getenv("GITHUB_WORKSPACE")) // here, if that is empty
	path, err2 := filepath.Abs(s.path)
	if s.path == "" || err != nil || err2 != nil {
		return s.path
	}
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(s.path)
}

func readText(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case errors.Is(err, syscall.EISDIR):
		return nil, errors.New("this is a folder; want a scenario file")
	case err != nil:
		return nil, err
	case int64(len(text)) > limit:
		return nil, tooLong(limit)
	}
	return text, nil
}

func tooLong(limit int64) error {
	return fmt.Errorf("it has more than %d MiB and cannot be a scenario", limit>>20)
}

// openIn opens files by names that count from a folder.
func openIn(folder string) func(name string) (fs.File, error) {
	return func(name string) (fs.File, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
		return os.Open(name)
	}
}

// missing says which file or built-in scenario was probably meant.
func missing(arg string) error {
	ext := filepath.Ext(arg)
	stem := arg
	if isYAML(ext) {
		stem = strings.TrimSuffix(arg, ext)
	}
	for _, other := range []string{".yaml", ".yml"} {
		if info, err := os.Stat(stem + other); err == nil && info.Mode().IsRegular() {
			return fmt.Errorf("%s: there is no such file; did you mean %s?", arg, stem+other)
		}
	}
	if best := wording.Near(filepath.Base(stem), builtinNames()); best != nil {
		return fmt.Errorf("%s: there is no such file; did you mean the built-in scenario %s?", arg, wording.Or(best))
	}
	folder, _ := filepath.Split(arg)
	entries, _ := os.ReadDir(cmp.Or(folder, ".")) // what cannot be read cannot be suggested
	files := map[string]string{}
	var stems []string
	for _, e := range entries {
		if name := e.Name(); isYAML(filepath.Ext(name)) {
			s := strings.TrimSuffix(name, filepath.Ext(name))
			files[s], stems = name, append(stems, s)
		}
	}
	if best, ok := wording.Nearest(filepath.Base(stem), stems); ok {
		return fmt.Errorf("%s: there is no such file; did you mean %s?", arg, folder+files[best])
	}
	return fmt.Errorf("%s: there is no such file and no built-in scenario of that name (poolwise list shows them)", arg)
}

func isYAML(ext string) bool { return ext == ".yaml" || ext == ".yml" }

func builtinNames() []string {
	var names []string
	for _, s := range scenarios.List() {
		names = append(names, s.Name)
	}
	return names
}

// at says where an error was, nil for nil.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, reason(err))
}

// reason is what an error says beside the path.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

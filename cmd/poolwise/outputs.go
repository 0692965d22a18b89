package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// outputs are the files that a command writes. Each is written beside its place under another name and gets its own at the
// end, when all of them are complete: a command that fails or is interrupted leaves nothing behind, and nobody ever sees half a
// file.
type outputs struct {
	files   []*output
	folders []string      // made for them
	sources []os.FileInfo // what is not to be replaced: the scenarios that are run
}

// keep notes files that are not to be replaced by what comes of them.
func (o *outputs) keep(sources ...source) {
	for _, s := range sources {
		if info, err := os.Stat(s.path); err == nil {
			o.sources = append(o.sources, info)
		}
	}
}

// output is a file that is being written.
type output struct {
	*bufio.Writer
	path     string   // where it will be
	file     *os.File // where it is now
	temp     bool     // they differ; a device or a pipe is written straight away
	finished bool
}

// create begins a file. It fails now rather than after a long run if the file cannot be written.
func (o *outputs) create(path string) (*output, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		if slices.ContainsFunc(o.sources, func(s os.FileInfo) bool { return os.SameFile(s, info) }) {
			return nil, fmt.Errorf("%s: this is the scenario itself; want another file", path)
		}
	}
	out, err := begin(path, len(o.files))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no folder %s", path, filepath.Dir(path))
	case err != nil:
		return nil, at(path, err)
	}
	for _, other := range o.files {
		if other.path == out.path && other.temp {
			out.discard()
			return nil, fmt.Errorf("%s: want different files for different things", path)
		}
	}
	o.files = append(o.files, out)
	return out, nil
}

// begin begins the nth file.
func begin(path string, n int) (*output, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		file, err := besides(path, n)
		return newOutput(path, file, true), err
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("this is a folder; want the name of a file")
	}
	old, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil || !info.Mode().IsRegular() {
		return newOutput(path, old, false), err
	}
	old.Close()
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	file, err := besides(path, n)
	if err == nil {
		err = file.Chmod(info.Mode().Perm())
	}
	return newOutput(path, file, true), err
}

func newOutput(path string, file *os.File, temp bool) *output {
	return &output{Writer: bufio.NewWriter(file), path: filepath.Clean(path), file: file, temp: temp}
}

// besides makes a new file in the folder of path.
func besides(path string, n int) (*os.File, error) {
	for ; ; n++ {
		name := fmt.Sprintf(".poolwise-%d-%d.tmp", os.Getpid(), n)
		file, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
}

// folder makes a folder, and those around it, if need be.
func (o *outputs) folder(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s: this is a file; want a folder", path)
	case !errors.Is(err, fs.ErrNotExist): // nil among them
		return at(path, err)
	}
	if parent := filepath.Dir(path); parent != path {
		if err := o.folder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		return at(path, err)
	}
	o.folders = append(o.folders, path)
	return nil
}

// write makes a file of what f writes.
func (o *outputs) write(path string, f func(io.Writer) error) error {
	out, err := o.create(path)
	if err != nil {
		return err
	}
	return out.write(f)
}

// write completes a file with what f writes.
func (out *output) write(f func(io.Writer) error) error {
	if err := f(out); err != nil {
		return at(out.path, err)
	}
	return out.finish()
}

// try reports whether a file could be written.
func (o *outputs) try(path string) error {
	out, err := o.create(path)
	if err != nil {
		return err
	}
	o.files = o.files[:len(o.files)-1]
	out.discard()
	return nil
}

// commit puts all files in their places.
func (o *outputs) commit() error {
	for _, out := range o.files {
		if err := out.finish(); err != nil {
			return err
		}
	}
	for _, out := range o.files {
		if out.temp {
			if err := os.Rename(out.file.Name(), out.path); err != nil {
				return err
			}
		}
	}
	o.files, o.folders = nil, nil
	return nil
}

// finish writes what is buffered, through to the disk.
func (out *output) finish() error {
	if out.finished {
		return nil
	}
	out.finished = true
	err := out.Flush()
	if err == nil && out.temp {
		err = out.file.Sync()
	}
	return at(out.path, cmp.Or(err, out.file.Close()))
}

// discard removes all traces of what was not committed.
func (o *outputs) discard() {
	for _, out := range o.files {
		out.discard()
	}
	for i := len(o.folders) - 1; i >= 0; i-- {
		os.Remove(o.folders[i])
	}
	o.files, o.folders = nil, nil
}

func (out *output) discard() {
	out.file.Close()
	if out.temp {
		os.Remove(out.file.Name())
	}
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"poolwise": main})
}

// TestScripts runs the scripts in testdata, which are the manual of the command line. Beside what testscript has there are
//
//	exits STATUS COMMAND...   runs a command, which must end with that exit status
//	files                     prints the files and folders below the working folder, for stdout and cmp
//	await [-empty] PATTERN    waits until a file that matches the pattern has something in it, or is there
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "")
			env.Setenv("TERM", "xterm")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" { // who may read everything
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"files": files,
			"await": await,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("it exits with %d, want %d", got, want)
	}
}

func files(ts *testscript.TestScript, _ bool, _ []string) {
	root := ts.MkAbs(".")
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if name == "." || name == ".tmp" { // testscript's own
			return err
		}
		if d.IsDir() {
			name += "/"
		}
		_, err = fmt.Fprintln(ts.Stdout(), filepath.ToSlash(name))
		return err
	}))
}

func await(ts *testscript.TestScript, _ bool, args []string) {
	empty := args[0] == "-empty"
	if empty {
		args = args[1:]
	}
	for range 1000 {
		names, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, name := range names {
			if empty || strings.TrimSpace(ts.ReadFile(name)) != "" {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("no file %s has anything in it after 10 seconds", args[0])
}

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpOfEveryFlag: every command has a short text, and every flag says what it is by default.
func TestHelpOfEveryFlag(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short text %q, want a phrase", c.Name(), c.Short)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			_, isChoice := f.Value.(*choice)
			repeats := f.Value.Type() == "stringArray"
			if !isChoice && !repeats && !strings.Contains(f.Usage, "default") {
				t.Errorf("%s --%s: no default in %q", c.Name(), f.Name, f.Usage)
			}
		})
	}
}

// TestExamplesRun: the flags in the examples exist.
func TestExamplesRun(t *testing.T) {
	root := newRoot()
	for _, c := range append(root.Commands(), root) {
		for line := range strings.Lines(c.Example) {
			_, args, ok := strings.Cut(strings.TrimSpace(line), "poolwise ")
			if !ok {
				continue
			}
			args, _, _ = strings.Cut(args, "  ") // a remark
			cmd, rest, err := root.Find(strings.Fields(args))
			if err != nil || cmd == root {
				t.Errorf("%s: example %q: no such command", c.Name(), line)
				continue
			}
			for _, a := range rest {
				name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
				if strings.HasPrefix(a, "--") && cmd.Flags().Lookup(name) == nil {
					t.Errorf("%s: example %q: no flag %s", c.Name(), line, a)
				}
			}
		}
	}
}

// TestClosedPipe: when nobody reads any more, as after head, it ends without a word.
func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	var stderr bytes.Buffer
	cmd := exec.Command("poolwise", "schema")
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Run(); err == nil {
		t.Error("it ends well, although nobody has read the schema")
	}
	if stderr.Len() > 0 {
		t.Errorf("it complains: %s", &stderr)
	}
}

// TestFullDisk: what could not be written is an error, and says where.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"schema"}, {"list"}, {"check", "sizing-knee"}, {"models", "semaphore"}, {"run", "sizing-knee", "--replications=1"}, {"compare", "lab-walkthrough", "lab-walkthrough"}} {
		var stderr bytes.Buffer
		if status := run(args, strings.NewReader(""), full, &stderr); status != 1 {
			t.Errorf("%v: status %d, want 1", args, status)
		}
		if !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%v: stderr %q", args, &stderr)
		}
	}
}

func TestOutputsAreWrittenTogether(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.txt")
	if err := os.WriteFile(old, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	begin := func() *outputs {
		out := &outputs{}
		if err := out.folder(filepath.Join(dir, "a", "b")); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"old.txt", "new.txt", filepath.Join("a", "b", "c.txt")} {
			err := out.write(filepath.Join(dir, name), func(w io.Writer) error { return writeAll(w, []byte("new")) })
			if err != nil {
				t.Fatal(err)
			}
		}
		return out
	}

	out := begin()
	err := out.write(filepath.Join(dir, "broken.txt"), func(w io.Writer) error {
		if err := writeAll(w, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "broken.txt") {
		t.Errorf("write: %v, want broken with the name of the file", err)
	}
	out.discard()
	if diff := cmp.Diff(map[string]string{"old.txt": "old"}, contents(t, dir)); diff != "" {
		t.Errorf("after it was discarded (-want +got):\n%s", diff)
	}

	out = begin()
	if err := out.commit(); err != nil {
		t.Fatal(err)
	}
	out.discard() // which is deferred, and finds nothing
	want := map[string]string{"old.txt": "new", "new.txt": "new", "a": "/", "a/b": "/", "a/b/c.txt": "new"}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("after it was committed (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(old); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, error %v; want that of the file before", info.Mode(), err)
	}
}

// contents returns what is below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		all[filepath.ToSlash(name)] = "/"
		if !d.IsDir() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[filepath.ToSlash(name)] = string(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestProgress: nothing shows before patience has run out, and nothing stays.
func TestProgress(t *testing.T) {
	var w bytes.Buffer
	p := newProgress(&w, 10, time.Hour)
	p.set(3, 10)
	p.stop()
	if w.Len() > 0 {
		t.Errorf("a short run shows %q", &w)
	}

	p = newProgress(&w, 10, time.Hour)
	p.set(3, 10)
	p.show() // as the timer would
	if !strings.Contains(w.String(), "replications") || !strings.Contains(w.String(), "3/10") {
		t.Errorf("it shows %q, want 3/10 replications", &w)
	}
	p.stop()
	lines := strings.Split(w.String(), "\r")
	if n := len(lines); n < 3 || lines[n-1] != "" || strings.TrimSpace(lines[n-2]) != "" {
		t.Errorf("it leaves %q", lines)
	}
	p.set(4, 10)
	p.show()
	if lines := strings.Split(w.String(), "\r"); lines[len(lines)-1] != "" {
		t.Errorf("it goes on after it was stopped: %q", lines)
	}
}

func TestVersion(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		{"v1.2.3", nil, "v1.2.3"},
		{"v1.2.3", vcs[:1], "v1.2.3 revision 0123456789ab"},
		{"(devel)", nil, "(development)"},
		{"v0.0.0-20260102030405-0123456789ab+dirty", vcs, "(development) revision 0123456789ab, modified"},
		{"v1.2.3", []debug.BuildSetting{{Key: "GOARCH", Value: "arm64"}, {Key: "GOOS", Value: "linux"}}, "v1.2.3 linux/arm64"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings}
		if got := version(info, true); got != c.want {
			t.Errorf("version %q: %q, want %q", c.version, got, c.want)
		}
	}
	info := &debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Version: "(devel)"}, Settings: vcs}
	if got, want := version(info, true), "(development) revision 0123456789ab, modified, go1.26.1"; got != want {
		t.Errorf("version %q, want %q", got, want)
	}
	if got := version(nil, false); got != "(unknown version)" {
		t.Errorf("without build information: %q", got)
	}
}

// TestNoCommandIsForgotten: every command but help is tested by a script.
func TestNoCommandIsForgotten(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range scripts {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for _, c := range newRoot().Commands() {
		if !strings.Contains(all.String(), " poolwise "+c.Name()) {
			t.Errorf("no script runs poolwise %s", c.Name())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) { checkScripted(t, all.String(), c, f) })
	}
}

func checkScripted(t *testing.T, scripts string, c *cobra.Command, f *pflag.Flag) {
	t.Helper()
	if f.Shorthand != "" && strings.Contains(scripts, " -"+f.Shorthand+" ") {
		return
	}
	if f.Name != "help" && !strings.Contains(scripts, " --"+f.Name) {
		t.Errorf("no script uses poolwise %s --%s", c.Name(), f.Name)
	}
}

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "poolwise"

// mayImport is the map of the program: which of our packages each one may import. Imports point one way.
var mayImport = map[string][]string{
	"sim/fifo":                    {},
	"sim":                         {"sim/fifo"},
	"sim/record":                  {"sim", "sim/wording"},
	"sim/dist":                    {"sim"},
	"sim/server":                  {"sim", "sim/fifo", "sim/record", "sim/dist", "sim/wording"},
	"sim/pooler":                  {"sim", "sim/fifo", "sim/record", "sim/dist", "sim/server", "sim/wording"},
	"sim/simtest":                 {"sim"},
	"sim/wording":                 {},
	"pool":                        {"sim", "sim/fifo", "sim/record", "sim/dist", "sim/server"},
	"pool/*":                      {"sim", "sim/fifo", "sim/record", "sim/dist", "sim/server", "sim/wording", "pool"},
	"pool/models":                 {"pool", "pool/*"},
	"pool/pooltest":               {"sim", "sim/fifo", "sim/record", "sim/dist", "sim/server", "sim/simtest", "pool", "pool/*", "pool/models"},
	"workload":                    {"sim", "sim/fifo", "sim/record", "sim/dist", "sim/server", "sim/wording", "pool"},
	"scenarios":                   {"sim", "sim/record", "sim/dist", "sim/server", "sim/pooler", "sim/wording", "pool", "pool/*", "pool/models", "workload"},
	"scenarios/run":               {"sim", "sim/record", "sim/dist", "sim/server", "sim/wording", "sim/pooler", "pool", "pool/*", "pool/models", "workload", "scenarios"},
	"reports":                     {"sim/record", "sim/wording", "reports/internal/digest"},
	"reports/chart":               {"sim/record", "reports", "reports/internal/digest"},
	"reports/internal/digest":     {"sim/record"},
	"reports/internal/reporttest": {"sim", "sim/record"},
	"cmd/poolwise":                {"sim", "sim/record", "sim/dist", "sim/wording", "pool", "pool/models", "workload", "scenarios", "scenarios/run", "reports", "reports/chart"},
}

// onlyIn lists what may be imported in one place only.
var onlyIn = map[string][]string{
	"gonum.org/v1/plot":                 {"reports/chart"},
	"github.com/goccy/go-yaml":          {"scenarios"},
	"github.com/spf13/cobra":            {"cmd/poolwise"},
	"github.com/schollz/progressbar/v3": {"cmd/poolwise"},
}

// touchesTheWorld may use goroutines, clocks and files; nothing else may.
var touchesTheWorld = []string{"cmd/poolwise", "scenarios/run"}

// worldly are the packages that a result must not depend on.
var worldly = []string{"os", "net", "sync", "sync/atomic", "math/rand", "math/rand/v2", "runtime", "os/signal", "os/exec", "net/http", "syscall", "unsafe"}

// worldlyTime are the functions of package time that look at the real clock.
var worldlyTime = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func TestImportsPointOneWay(t *testing.T) {
	eachFile(t, func(pkg, name string, file *ast.File, fset *token.FileSet) {
		allowed, ok := mayImport[pkg]
		if !ok {
			allowed, ok = mayImport[filepath.Dir(pkg)+"/*"]
		}
		if !ok {
			t.Errorf("%s: package %s is not in the table", name, pkg)
			return
		}
		for _, imp := range file.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			at := fset.Position(imp.Pos())
			if ours, found := strings.CutPrefix(path, module+"/"); found {
				wild := filepath.Dir(ours) + "/*"
				if !slices.Contains(allowed, ours) && (!slices.Contains(allowed, wild) || mayImport[ours] != nil) {
					t.Errorf("%s: %s imports %s", at, pkg, ours)
				}
			}
			for lib, places := range onlyIn {
				if (path == lib || strings.HasPrefix(path, lib+"/")) && !slices.Contains(places, pkg) {
					t.Errorf("%s: %s imports %s, which belongs in %v", at, pkg, path, places)
				}
			}
			if slices.Contains(worldly, path) && !slices.Contains(touchesTheWorld, pkg) {
				t.Errorf("%s: %s imports %s", at, pkg, path)
			}
		}
	})
}

func TestNothingThatDecidesAResultLooksAtTheWorld(t *testing.T) {
	eachFile(t, func(pkg, name string, file *ast.File, fset *token.FileSet) {
		if slices.Contains(touchesTheWorld, pkg) {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a go statement", fset.Position(n.Pos()))
			case *ast.SelectStmt:
				t.Errorf("%s: a select statement", fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(worldlyTime, n.Sel.Name) {
					t.Errorf("%s: time.%s", fset.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	})
}

// TestTopLevelIsAsDecided: what stands at the top of the repository is a short list.
func TestTopLevelIsAsDecided(t *testing.T) {
	want := []string{".ci", ".git", ".gitignore", "LICENSE", "Makefile", "README.md", "bin", "cmd", "go.mod", "go.sum", "out", "pool", "reports", "scenarios", "sim", "workload"}
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(want, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}

// eachFile calls f for every Go file of the module that is not a test.
func eachFile(t *testing.T, f func(pkg, name string, file *ast.File, fset *token.FileSet)) {
	t.Helper()
	fset := token.NewFileSet()
	seen := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == "out" || name == "bin" || strings.HasPrefix(name, ".") && name != ".." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return fmt.Errorf("parse: %w", err)
		}
		pkg, err := filepath.Rel("../..", filepath.Dir(path))
		if err != nil {
			return err
		}
		seen++
		f(filepath.ToSlash(pkg), path, file, fset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Errorf("only %d files found: the test looks in the wrong place", seen)
	}
}

package pooltest

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"poolwise/pool"
)

var cases = flag.String("cases", filepath.Join("testdata", "cases"), "folder of the golden cases, with all below it")

// TestGolden runs every case against its model and compares all that the case records, the server's log in exact order.
func TestGolden(t *testing.T) {
	n := 0
	err := filepath.WalkDir(*cases, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		n++
		name, err := filepath.Rel(*cases, path)
		if err != nil {
			return err
		}
		t.Run(strings.TrimSuffix(filepath.ToSlash(name), ".json"), func(t *testing.T) { golden(t, path) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Fatalf("there is no case in %s", *cases)
	}
	t.Logf("%d cases", n)
}

func golden(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	got, err := Run(c, pool.Pool.Verify)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if diff := Compare(&c.Expect, got); diff != "" {
		t.Errorf("%s\n%s\n%s", path, c.About, diff)
	}
}

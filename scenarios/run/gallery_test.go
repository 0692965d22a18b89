package run

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

var update = flag.Bool("update", false, "rewrite what every built-in scenario is expected to come to")

const galleryFile = "../gallery.txt"

// TestGallery runs every built-in scenario and compares what it comes to with the file gallery.txt beside them: whatever changes a
// figure of theirs, on purpose or not, shows there. With -update it rewrites the file; then read the diff.
func TestGallery(t *testing.T) {
	var b bytes.Buffer
	fmt.Fprintln(&b, galleryHead)
	for _, info := range scenarios.List() {
		b.WriteByte('\n')
		exhibit(t, &b, info.Name)
	}
	if *update {
		if err := os.WriteFile(galleryFile, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(galleryFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("the built-in scenarios come to something else; if that is meant, run\n"+
			"\tgo test ./scenarios/run -run TestGallery -update\nand read the diff (-want +got):\n%s", d)
	}
}

const (
	galleryReplications = 3 // at most, to be fast
	galleryCells        = 8 // of longer sweeps only what stands out
)

const galleryHead = `# What every built-in scenario comes to; go test ./scenarios/run -run TestGallery -update rewrites it.
# wait and latency: median and 99th percentile of what succeeded, - if there are too few; size, in use and waiting: mean and maximum;
# sessions of the server: opened, connects refused, and most open at once. At most 3 replications, counts summed.`

// exhibit writes what a scenario comes to: a line for each setting, and the verdict of its checks.
func exhibit(t *testing.T, b *bytes.Buffer, name string) {
	base, cells := load(t, name, scenarios.Options{})
	if base.Replications > galleryReplications {
		base, cells = load(t, name, scenarios.Options{Set: []string{fmt.Sprintf("replications=%d", galleryReplications)}})
	}
	res, err := Run(context.Background(), base, cells, Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\tok\tfailed\trate\twait\tlatency\tsize\tin use\twaiting\tsessions\t\n", name)
	shown := outstanding(res.Cells)
	for _, i := range shown {
		c := &res.Cells[i]
		fmt.Fprintf(w, "  %s\t%d\t%d\t%s/s\t%s %s\t%s %s\t%s\t%s\t%s\t%d %d %d\t%s\n", labels(c), c.Requests.OK, c.Requests.Failed,
			digits(c.Throughput.Value), inShort(c.Wait.P50), inShort(c.Wait.P99), inShort(c.Latency.P50), inShort(c.Latency.P99),
			inLevel(c.Levels.Size), inLevel(c.Levels.InUse), inLevel(c.Levels.Waiting),
			c.Server.Opened, c.Server.Refused, c.Server.PeakOpen, remarks(c))
	}
	w.Flush()
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(b, strings.TrimRight(line, " \n"))
	}
	for _, i := range shown {
		for _, d := range res.Cells[i].Diagnoses {
			fmt.Fprintf(b, "  %s: %s\n", strings.TrimPrefix(labels(&res.Cells[i])+", ", ", ")+string(d.Kind), d.Text)
		}
	}
	if n := len(res.Cells) - len(shown); n > 0 {
		fmt.Fprintf(b, "  and %d settings more\n", n)
	}
	met := 0
	for _, k := range res.Checks {
		if k.Status == record.Passed {
			met++
		}
	}
	if len(res.Checks) > 0 {
		fmt.Fprintf(b, "  %s: %d of %d checks are met\n", res.Verdict, met, len(res.Checks))
	}
}

// outstanding returns the indices of the cells to show: all of a few; of many the first and the last, that of the highest throughput,
// that of the most failures and the first that has any.
func outstanding(cells []record.Cell) []int {
	var all []int
	for i := range cells {
		all = append(all, i)
	}
	if len(cells) <= galleryCells {
		return all
	}
	most := func(of func(c *record.Cell) float64) int {
		return slices.MaxFunc(all, func(i, j int) int { return cmp.Compare(of(&cells[i]), of(&cells[j])) })
	}
	some := []int{
		0, len(cells) - 1,
		most(func(c *record.Cell) float64 { return c.Throughput.Value }),
		most(func(c *record.Cell) float64 { return float64(c.Requests.Failed) }),
		max(0, slices.IndexFunc(cells, func(c record.Cell) bool { return c.Requests.Failed > 0 })),
	}
	slices.Sort(some)
	return slices.Compact(some)
}

func labels(c *record.Cell) string {
	var all []string
	for _, s := range c.Settings {
		all = append(all, s.Value)
	}
	return strings.Join(all, ", ")
}

// remarks says how requests failed, what else is left, what the pools noted, and what became of actions.
func remarks(c *record.Cell) string {
	var all []string
	add := func(what string, n int64) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%s %d", what, n))
		}
	}
	for o, n := range c.Requests.Outcomes {
		add(record.Outcome(o).String(), n)
	}
	add("unfinished", c.Requests.Unfinished)
	add("retries", c.Requests.Retries)
	if c.Leaked.Value > 0 {
		all = append(all, "leaked "+digits(c.Leaked.Value))
	}
	for o, n := range c.PoolNotes {
		add("noted "+record.Outcome(o).String(), n)
	}
	if b := c.Budget; b != nil {
		all = append(all, fmt.Sprintf("budget left %d", b.Left))
	}
	for _, a := range c.Actions {
		if a.Took.Known {
			all = append(all, a.Do+" took "+inShort(a.Took))
		}
		add("not returned", int64(a.NotReturned.Value))
	}
	return strings.Join(all, ", ")
}

// inShort writes a duration with three digits.
func inShort(d record.Duration) string {
	if !d.Known {
		return "-"
	}
	unit := time.Duration(1)
	for v := d.Value; v >= 1000; v /= 10 {
		unit *= 10
	}
	return d.Value.Round(unit).String()
}

func inLevel(l record.Level3) string {
	mean := digits(l.Mean.Value)
	if m := l.Mean.Value; m > 0 && m < 0.01 {
		mean = "<0.01"
	}
	if l.Most.Known {
		return mean + " " + digits(l.Most.Value)
	}
	return mean + " " + digits(l.Max.Value)
}

// digits writes a number with three digits, a whole one with all.
func digits(f float64) string {
	if f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 3, 64), 64)
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// TestEveryBuiltInIsHeld: each built-in scenario is named in a test of this package, which says what is to come of it and why.
func TestEveryBuiltInIsHeld(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests []byte
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tests = append(tests, src...)
	}
	for _, info := range scenarios.List() {
		if !bytes.Contains(tests, []byte(strconv.Quote(info.Name))) {
			t.Errorf("no test holds %s", info.Name)
		}
	}
}

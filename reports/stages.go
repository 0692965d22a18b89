package reports

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// stageWords are how people speak of a stage.
type stageWords struct {
	row    string // of the table of one cell
	head   string // of the column of several
	letter byte   // in the course of a request
	spent  string // what time is spent on: "waiting for a connection"
}

var stageWord = [record.NumStages]stageWords{
	record.StageThread:  {"wait for a thread", "thread", 't', "waiting for a thread"},
	record.StageWait:    {"wait for a connection", "wait", 'w', "waiting for a connection"},
	record.StageConnect: {"connect and backoff", "connect", 'c', "opening connections"},
	record.StageCheck:   {"checks and pings", "checks", 'k', "checking connections before they are lent"},
	record.StagePooler:  {"wait at the pooler", "pooler", 'p', "waiting at the pooler for a server connection"},
	record.StageQueue:   {"server queue", "queue", 'q', "waiting for a core of the server"},
	record.StageLock:    {"wait for a lock", "lock", 'l', "waiting for locks"},
	record.StageRunning: {"running", "running", 'r', "running queries"},
	record.StageKept:    {"kept idle", "kept idle", 'i', "on work outside the database, with a connection kept idle"},
	record.StageOutside: {"outside, nothing held", "outside", 'o', "on work outside the database"},
	record.StageReturn:  {"return", "return", 'b', "giving connections back"},
	record.StagePause:   {"pause before a retry", "pause", 'z', "pausing between attempts"},
	record.StageOther:   {"late start", "late start", '.', "before they begin, later than they were meant to"},
}

// stageGroup is some requests of a cell.
type stageGroup struct {
	name  string
	tone  tone
	split *record.StageSplit
}

// stageGroups lists those that a cell has: the served ones, the slowest of them and the failed ones.
func stageGroups(s *record.StageCell) []stageGroup {
	var all []stageGroup
	if s.All.N > 0 {
		all = append(all, stageGroup{"all " + digest.Count(s.All.N) + " served", plain, &s.All})
	}
	if s.Slowest.N > 0 && s.Slowest.N < s.All.N {
		all = append(all, stageGroup{slowestName(s), plain, &s.Slowest})
	}
	if s.Failed != nil {
		all = append(all, stageGroup{digest.Count(s.Failed.N) + " failed", bad, s.Failed})
	}
	return all
}

// slowestName says which requests the slowest are: 1 % of those served, unless these are very few or very many.
func slowestName(s *record.StageCell) string {
	if s.Slowest.N == 1 {
		return "the slowest"
	}
	share := float64(s.Slowest.N) / float64(s.All.N)
	if math.Round(share*1000) == 10 {
		share = 0.01
	}
	return "slowest " + stageShare(share)
}

// stageShare writes a share, whole ones without a fraction; what is hardly worth mentioning is <0.1 %.
func stageShare(s float64) string {
	switch {
	case s > 0 && s < 0.0005:
		return little
	case s == 0.01:
		return "1 %"
	}
	return digest.Share(s)
}

const little = "<0.1 %"

// stageTable says where the time went: of one cell with a row for each stage, of several with a row for each cell and group.
func stageTable(r *record.Result) *table {
	t := &table{title: "Where the time went"}
	if len(r.Cells) == 1 {
		if s := r.Cells[0].Stages; s != nil {
			t.stages(s)
		}
		return t
	}
	keys := settingKeys(r)
	for _, c := range r.Cells {
		if c.Stages == nil {
			continue
		}
		for i, g := range stageGroups(c.Stages) {
			settingColumns(t, keys, c.Settings, i > 0)
			t.text("", "requests", g.name, g.tone)
			t.key = len(keys) + 1
			t.duration("", "latency", g.split.Latency, plain)
			for i, p := range g.split.Stages {
				t.figure("share of", stageWord[i].head, stageShare(p.Share), strongIf(p.Share >= dominant))
			}
			t.end()
		}
	}
	for _, w := range stageWord {
		t.drop(w.head, "0 %", little)
	}
	t.says = stageSweep(r)
	return t
}

// stages adds a row for each stage that has any time, and one for all of them.
func (t *table) stages(s *record.StageCell) {
	groups := stageGroups(s)
	for i, w := range stageWord {
		any := false
		for _, g := range groups {
			any = any || g.split.Stages[i].Mean.Value > 0
		}
		if !any {
			continue
		}
		t.text("", "stage", w.row, plain)
		for _, g := range groups {
			p := g.split.Stages[i]
			t.duration(g.name, "mean", p.Mean, plain)
			t.figure(g.name, "share", stageShare(p.Share), strongIf(p.Share >= dominant))
		}
		t.end()
	}
	if len(groups) == 0 {
		return
	}
	t.text("", "stage", "latency", strong)
	for _, g := range groups {
		t.duration(g.name, "mean", g.split.Latency, strong)
		t.figure(g.name, "share", "", plain)
	}
	t.end()
	t.key = 1
}

func strongIf(is bool) tone {
	if is {
		return strong
	}
	return plain
}

// dominant is the share from which on a stage dominates.
const dominant = 0.5

// dominating returns the stage that has most of the time, if one has.
func dominating(s *record.StageSplit) (record.Stage, bool) {
	for i, p := range s.Stages {
		if p.Share >= dominant {
			return record.Stage(i), true
		}
	}
	return 0, false
}

// stageHeadline says where most of the time goes, if most of it goes to one stage: of the requests that fail, if they take as long as
// the slowest that are served, and otherwise of these.
func stageHeadline(c *record.Cell) []string {
	s := c.Stages
	if s == nil {
		return nil
	}
	if f := s.Failed; f != nil && f.N > 0 && !c.Clean() && f.Latency.Value >= s.Slowest.Latency.Value {
		i, ok := dominating(f)
		if !ok {
			return nil
		}
		who := "the " + digest.Count(f.N) + " requests that fail is"
		took := digest.Duration(f.Latency.Value) + " each in the mean"
		if f.N == 1 {
			who, took = "the request that fails is", digest.Duration(f.Latency.Value)
		}
		return []string{fmt.Sprintf("%s of the time of %s spent %s (%s).", stageShare(f.Stages[i].Share), who, spentOn(c, i), took)}
	}
	if s.Slowest.N == 0 || s.Slowest.N == s.All.N {
		return nil
	}
	i, ok := dominating(&s.Slowest)
	if !ok {
		return nil
	}
	slowest := "the " + slowestName(s)
	if s.Slowest.N == 1 {
		slowest = "the slowest request"
	}
	text := fmt.Sprintf("%s of the time of %s is spent %s", stageShare(s.Slowest.Stages[i].Share), slowest, spentOn(c, i))
	if all := stageShare(s.All.Stages[i].Share); all != stageShare(s.Slowest.Stages[i].Share) {
		text += "; of all served requests " + all
	}
	return []string{text + "."}
}

// spentOn says what time is spent on, and why requests begin late if a program of the scenario stands still.
func spentOn(c *record.Cell, i record.Stage) string {
	text := stageWord[i].spent
	if i != record.StageOther {
		return text
	}
	for _, a := range c.Actions {
		if a.Do == "pause" {
			return text + ", as " + cmp.Or(digest.Printable(actor(a)), "the program") + " stands still from " + digest.Duration(a.At) + " on"
		}
	}
	return text
}

// stageSweep says where most of the time of the slowest requests goes, if it is the same stage in every cell.
func stageSweep(r *record.Result) string {
	var stage record.Stage
	lo, hi, n := 1.0, 0.0, 0
	for _, c := range r.Cells {
		if c.Stages == nil || c.Stages.Slowest.N == 0 {
			continue
		}
		i, ok := dominating(&c.Stages.Slowest)
		if !ok || n > 0 && i != stage {
			return ""
		}
		share := c.Stages.Slowest.Stages[i].Share
		stage, lo, hi, n = i, min(lo, share), max(hi, share), n+1
	}
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("Everywhere most of the time of the slowest is spent %s: %s.", stageWord[stage].spent, span(lo, hi))
}

// stageNotes explain what stands in the tables of stages.
func stageNotes(r *record.Result) []string {
	for _, c := range r.Cells {
		if s := c.Stages; s != nil && s.All.N > 0 && 100*s.Slowest.N < s.All.N {
			return []string{"Of the slowest requests of a replication 10,000 are kept, which here are fewer than 1 %."}
		}
	}
	return nil
}

// courseTable shows what a few requests of the only cell were at, one after the other.
func courseTable(r *record.Result) *table {
	t := &table{title: "What single requests went through"}
	if len(r.Cells) != 1 || r.Cells[0].Stages == nil {
		return t
	}
	c := &r.Cells[0]
	var used [record.NumStages]bool
	for _, e := range c.Stages.Exemplars {
		t.text("", "", digest.Printable(e.Which), plain)
		t.text("", "pool", digest.Printable(e.Pool), plain)
		t.figure("", "request", strconv.FormatInt(e.Request, 10), plain)
		t.figure("", "latency", digest.Duration(e.Latency), plain)
		t.end()
		for _, span := range e.Course {
			used[span.Stage] = true
		}
	}
	if len(t.rows) == 0 {
		return t
	}
	t.key = 1
	t.drop("pool", "")
	t.elastic = &elastic{column{head: "from arrival to end", left: true}, 20, mostCourse, func(row, width int) string {
		return course(&c.Stages.Exemplars[row], width)
	}}
	of := ""
	if c.Replications > 1 {
		of = " of the first replication"
	}
	var legend []string
	for i, w := range stageWord {
		if used[i] {
			legend = append(legend, fmt.Sprintf("%c=%s", w.letter, w.row))
		}
	}
	t.says = "Each line is one request" + of + ", whatever its latency: " + strings.Join(legend, "; ") + "."
	return t
}

// mostCourse is how many letters a course has, if there is room.
const mostCourse = 60

// course draws the course of a request with so many letters. A stretch too short for one gets one all the same, as long as there is
// room; what is not known is a question mark.
func course(e *record.Exemplar, width int) string {
	spans := e.Course
	letter := func(i int) byte {
		if i == len(spans) {
			return '?'
		}
		return stageWord[spans[i].Stage].letter
	}
	length := func(i int) time.Duration {
		if i == len(spans) {
			return e.Rest
		}
		return spans[i].For
	}
	n := len(spans)
	if e.Rest > 0 {
		n++
	}
	total := 0.0
	for i := range n {
		total += float64(length(i))
	}
	if total <= 0 {
		return ""
	}
	least := 1
	if n > width/2 {
		least = 0
	}
	// The letters that are left after the least of each are dealt out in proportion, by rounding where each stretch ends.
	var b strings.Builder
	rest, passed, drawn := width-least*n, 0.0, 0
	for i := range n {
		passed += float64(length(i))
		end := int(passed / total * float64(rest))
		if i == n-1 {
			end = rest
		}
		b.WriteString(strings.Repeat(string(letter(i)), end-drawn+least))
		drawn = end
	}
	return b.String()
}

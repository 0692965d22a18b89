package reports

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

func init() {
	results["stages"] = func() *record.Result { return reporttest.Staged(1) }
	results["stages-replications"] = func() *record.Result { return reporttest.Staged(3) }
	results["stages-few"] = func() *record.Result {
		r := reporttest.Staged(1)
		s := r.Cells[0].Stages
		s.All = reporttest.Split(40, 1, reporttest.Parts{record.StageRunning: 5 * time.Millisecond, record.StageWait: 6 * time.Millisecond})
		s.Slowest = reporttest.Split(1, 1, reporttest.Parts{record.StageRunning: 5 * time.Millisecond, record.StageWait: 4 * time.Millisecond, record.StageKept: 2 * time.Millisecond})
		s.Failed, s.Exemplars = nil, s.Exemplars[:1]
		return r
	}
	results["stages-capped"] = func() *record.Result {
		r := reporttest.Staged(1)
		s := r.Cells[0].Stages
		s.All.N, s.Slowest.N = 4_000_000, 10_000
		return r
	}
	results["stages-pools"] = func() *record.Result {
		r := reporttest.Fleet(2, 1)
		r.Cells[0].Stages = reporttest.Staged(1).Cells[0].Stages
		for i := range r.Cells[0].Stages.Exemplars {
			r.Cells[0].Stages.Exemplars[i].Pool = "payments-1"
		}
		return r
	}
	results["stages-sweep"] = func() *record.Result { // of the cell in the middle nothing is known
		r := reporttest.Result("stages", "", reporttest.Lab[1:4], 1)
		r.Cells[0].Stages = reporttest.Staged(1).Cells[0].Stages
		r.Cells[2].Stages = reporttest.Staged(1).Cells[0].Stages
		r.Cells[2].Stages.Failed = nil
		return r
	}
}

// TestCourse: a course has as many letters as it should, those of each stretch in order, in proportion to a letter, and at least one of
// each if there is room.
func TestCourse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := record.Exemplar{Rest: time.Duration(rapid.Int64Range(0, 1).Draw(t, "more") * rapid.Int64Range(0, 1e12).Draw(t, "rest"))}
		e.Latency = e.Rest
		for range rapid.IntRange(1, 80).Draw(t, "stretches") {
			span := record.StageSpan{Stage: record.Stage(rapid.IntRange(0, int(record.NumStages)-1).Draw(t, "stage")), For: time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "for"))}
			if n := len(e.Course); n > 0 && e.Course[n-1].Stage == span.Stage {
				continue
			}
			e.Course = append(e.Course, span)
			e.Latency += span.For
		}
		got := course(&e, mostCourse)
		if len(got) != mostCourse {
			t.Fatalf("%q has %d letters", got, len(got))
		}
		if len(e.Course) >= mostCourse/2 {
			return // neighbours may look like one
		}
		rest := got
		take := func(letter byte, d time.Duration) {
			n := len(rest) - len(strings.TrimLeft(rest, string(letter)))
			if want := float64(d) / float64(e.Latency) * mostCourse; n < 1 || float64(n) > want+2 || float64(n) < want/2-1 {
				t.Fatalf("%q: %d letters %c, want some %.1f", got, n, letter, want)
			}
			rest = rest[n:]
		}
		for _, span := range e.Course {
			take(stageWord[span.Stage].letter, span.For)
		}
		if e.Rest > 0 {
			take('?', e.Rest)
		}
		if rest != "" {
			t.Fatalf("%q ends with %q", got, rest)
		}
	})
}

func TestCourseInProportion(t *testing.T) {
	ms := time.Millisecond
	e := record.Exemplar{Latency: 100 * ms, Course: []record.StageSpan{
		{Stage: record.StageWait, For: 50 * ms}, {Stage: record.StageConnect, For: 20 * ms}, {Stage: record.StageRunning, For: 30 * ms}}}
	// 3 letters are given, 10 are dealt out: 5, 2 and 3.
	if got, want := course(&e, 13), "wwwwwwcccrrrr"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if course(&record.Exemplar{}, 13) != "" {
		t.Error("a request that took no time has a course")
	}
}

// TestEveryStageHasWords, and a letter of its own.
func TestEveryStageHasWords(t *testing.T) {
	seen := map[byte]bool{'?': true}
	for i, w := range stageWord {
		if w.row == "" || w.head == "" || w.spent == "" || seen[w.letter] {
			t.Errorf("%v: %+v", record.Stage(i), w)
		}
		seen[w.letter] = true
	}
}

// TestNoStagesNoColumns: reports of results that do not know where the time went are what they were.
func TestNoStagesNoColumns(t *testing.T) {
	with, without := reporttest.Staged(1), reporttest.Staged(1)
	without.Cells[0].Stages = nil
	var a, b bytes.Buffer
	if err := CSV(&a, with); err != nil {
		t.Fatal(err)
	}
	if err := CSV(&b, without); err != nil {
		t.Fatal(err)
	}
	long, short := strings.Split(a.String(), "\n"), strings.Split(b.String(), "\n")
	for i := range short {
		if !strings.HasPrefix(long[i], short[i]) {
			t.Errorf("line %d differs:\n%s\n%s", i, short[i], long[i])
		}
	}
	if n := len(strings.Split(long[0], ",")) - len(strings.Split(short[0], ",")); n != 3*(2+2*int(record.NumStages)) {
		t.Errorf("%d columns more", n)
	}
	if !strings.Contains(long[0], ",stages_slowest_kept_idle_mean_ns,stages_slowest_kept_idle_share,") {
		t.Error(long[0])
	}
	for _, t2 := range []*table{stageTable(without), courseTable(without)} {
		if len(t2.rows) != 0 {
			t.Errorf("%s has rows", t2.title)
		}
	}
}

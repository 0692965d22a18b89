package reporttest

import (
	"time"

	"pgregory.net/rapid"

	"poolwise/sim/record"
)

// Parts are times at stages.
type Parts map[record.Stage]time.Duration

// Split has a mean of the given time at each stage.
func Split(n int64, replications int, p Parts) record.StageSplit {
	estimate := func(d time.Duration) record.Duration {
		e := record.Exact(d)
		if replications > 1 {
			e.Lo, e.Hi, e.Interval = d-d/10, d+d/10, true
		}
		return e
	}
	var sum time.Duration
	for _, d := range p {
		sum += d
	}
	s := record.StageSplit{N: n, Latency: estimate(sum)}
	for i := range s.Stages {
		d := p[record.Stage(i)]
		s.Stages[i] = record.StagePart{Mean: estimate(d), Share: float64(d) / float64(sum)}
	}
	return s
}

// Staged is one cell whose slowest requests wait for a connection.
func Staged(replications int) *record.Result {
	r := Result("stages", "", Lab[1:2], replications)
	n := int64(replications)
	failed := Split(7*n, replications, Parts{record.StageWait: 50 * time.Millisecond})
	s := &record.StageCell{
		All: Split(400*n, replications, Parts{
			record.StageWait: 130 * time.Millisecond, record.StageConnect: 4 * time.Microsecond, record.StageQueue: 5 * time.Millisecond,
			record.StageRunning: 5 * time.Millisecond, record.StageKept: 12 * time.Millisecond,
		}),
		Slowest: Split(4*n, replications, Parts{record.StageWait: 194 * time.Millisecond, record.StageRunning: 6 * time.Millisecond}),
		Failed:  &failed,
	}
	s.Slowest.From = record.Exact(168 * time.Millisecond)
	s.Exemplars = []record.Exemplar{
		{Which: "slowest", Request: 12, Latency: 200 * time.Millisecond, Course: []record.StageSpan{
			{Stage: record.StageWait, For: 194 * time.Millisecond}, {Stage: record.StageRunning, For: 6 * time.Millisecond}}},
		{Which: "p99", Request: 10_400, Latency: 168 * time.Millisecond, Course: []record.StageSpan{
			{Stage: record.StageWait, For: 84 * time.Millisecond}, {Stage: record.StagePause, For: time.Nanosecond},
			{Stage: record.StageKept, For: 42 * time.Millisecond}}, Rest: 42*time.Millisecond - time.Nanosecond},
		{Which: "median", Request: 399, Latency: time.Nanosecond, Course: []record.StageSpan{{Stage: record.StageQueue, For: time.Nanosecond}}},
	}
	r.Cells[0].Stages = s
	return r
}

func anyStages(t *rapid.T) *record.StageCell {
	if rapid.Bool().Draw(t, "no stages") {
		return nil
	}
	split := func(name string) record.StageSplit {
		s := record.StageSplit{N: count.Draw(t, name), From: anyDuration(t), Latency: anyDuration(t)}
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			i := rapid.IntRange(0, int(record.NumStages)-1).Draw(t, "stage")
			s.Stages[i] = record.StagePart{Mean: anyDuration(t), Share: rapid.Float64Range(0, 1).Draw(t, "share")}
		}
		return s
	}
	c := &record.StageCell{All: split("all"), Slowest: split("slowest"), Exemplars: []record.Exemplar{}}
	if rapid.Bool().Draw(t, "failures") {
		s := split("failed")
		c.Failed = &s
	}
	for range rapid.IntRange(0, 5).Draw(t, "examples") {
		e := record.Exemplar{
			Which: text.Draw(t, "which"), Pool: text.Draw(t, "of pool"), Request: count.Draw(t, "number"),
			Latency: time.Duration(duration.Draw(t, "took")), Rest: time.Duration(duration.Draw(t, "rest")),
		}
		for range rapid.IntRange(0, 40).Draw(t, "course") {
			i := rapid.IntRange(0, int(record.NumStages)-1).Draw(t, "stage")
			e.Course = append(e.Course, record.StageSpan{Stage: record.Stage(i), For: time.Duration(duration.Draw(t, "for"))})
		}
		c.Exemplars = append(c.Exemplars, e)
	}
	return c
}

package reports

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// Annotations writes the checks that have not passed, and the warnings, as workflow commands of GitHub Actions: printed by a
// step, they stand at the line of the check in the changed file. file is that of the scenario as the repository has it, empty
// if there is none. There is one command for a check, whatever the number of cells, as GitHub shows only ten of a step.
//
// A check of level warning is a warning, all others are errors.
func Annotations(w io.Writer, r *record.Result, file string) error {
	b := bufio.NewWriter(w)
	annotateChecks(b, r, file)
	for _, s := range warnings(r) {
		annotate(b, "warning", file, 0, titleOf(r.Scenario), s)
	}
	return b.Flush()
}

// CompareAnnotations writes the checks of a comparison that have not passed, its warnings and its verdict as workflow commands:
// an error if it fails, otherwise a warning if something is worse, and a notice if not.
func CompareAnnotations(w io.Writer, c *Comparison, file string, fails bool) error {
	b := bufio.NewWriter(w)
	annotateChecks(b, c.after, file)
	for _, s := range c.Warnings {
		annotate(b, "warning", file, 0, titleOf(c.After), s)
	}
	command := "notice"
	switch {
	case fails:
		command = "error"
	case c.Verdict == Worse || c.Verdict == Mixed:
		command = "warning"
	}
	annotate(b, command, file, 0, titleOf(c.After)+" compared", strings.Join(c.headline(), "\n"))
	return b.Flush()
}

// titleOf names a scenario where there must be a name.
func titleOf(s record.Scenario) string {
	if name := digest.Printable(s.Name); name != "" {
		return name
	}
	return "poolwise"
}

func annotateChecks(b *bufio.Writer, r *record.Result, file string) {
	type result struct {
		expr, level string
		status      record.Status
		line        int
	}
	alike := map[result][]record.Check{}
	var order []result
	for _, k := range r.Checks {
		if k.Status == record.Passed || k.Status == record.Off {
			continue
		}
		id := result{k.Expr, k.Level, k.Status, k.Line}
		if alike[id] == nil {
			order = append(order, id)
		}
		alike[id] = append(alike[id], k)
	}
	for _, id := range order {
		command := "error"
		if id.level == record.LevelWarning {
			command = "warning"
		}
		var says []string
		all := alike[id]
		if why := all[0].Why; why != "" && !slices.ContainsFunc(all, func(k record.Check) bool { return k.Why != why }) {
			says, all = []string{why}, nil // once
		}
		for i, k := range all {
			if i == mostCells && len(alike[id]) > mostCells+1 {
				says = append(says, fmt.Sprintf("and at %d more settings", len(alike[id])-mostCells))
				break
			}
			says = append(says, checkDetail(k)+atCell(r, k.Cell))
		}
		if id.status == record.Inconclusive {
			says = append(says, whyInconclusive)
		}
		title := titleOf(r.Scenario) + ": " + strings.ReplaceAll(string(id.status), "_", " ") + ": " + digest.Printable(id.expr)
		annotate(b, command, file, id.line, title, strings.Join(says, "\n"))
	}
}

// mostCells is how many cells an annotation names.
const mostCells = 8

// Data and properties of a workflow command, escaped as its runner reads them.
var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// annotate writes a workflow command. A line without a file means nothing.
func annotate(b *bufio.Writer, command, file string, line int, title, message string) {
	if strings.TrimSpace(message) == "" {
		return // which the runner refuses
	}
	b.WriteString("::" + command + " ")
	if file != "" {
		b.WriteString("file=" + commandProperty.Replace(file) + ",")
		if line > 0 {
			fmt.Fprintf(b, "line=%d,", line)
		}
	}
	b.WriteString("title=" + commandProperty.Replace(title) + "::" + commandData.Replace(message) + "\n")
}

// Summary writes a short report as GitHub's Markdown, for the summary of a step: what matters in plain words, the figures most
// looked at, the checks and the warnings.
func Summary(w io.Writer, r *record.Result) error {
	b := bufio.NewWriter(w)
	says := headline(r)
	title := titleOf(r.Scenario)
	if len(r.Checks) > 0 {
		title += ": " + strings.ReplaceAll(string(r.Verdict), "_", " ")
	}
	b.WriteString("### " + escape(title) + "\n\n" + escape(says[0]) + "\n")
	items(b, append(says[1:], runLine(r)))
	t := summaryTable(r)
	if len(t.rows) > 0 {
		b.WriteByte('\n')
		t.markdown(b)
	}
	if t := checkTable(r); len(t.rows) > 0 {
		b.WriteString("\n**Checks**\n\n")
		t.markdown(b)
	}
	if all := warnings(r); len(all) > 0 {
		b.WriteString("\n**Warnings**\n")
		items(b, all)
	}
	b.WriteByte('\n')
	return b.Flush()
}

// summaryTable has a row for each cell, with the figures most looked at.
func summaryTable(r *record.Result) *table {
	t := &table{}
	keys := settingKeys(r)
	for _, c := range r.Cells {
		settingColumns(t, keys, c.Settings, false)
		t.figure("", "ok", digest.Count(c.Requests.OK), plain)
		t.figure("", "failed", digest.Count(c.Requests.Failed), plain)
		t.float("", "rate", c.Throughput, digest.Rate, digest.RateMargin)
		t.duration("", "p50", c.Latency.P50, plain)
		t.duration("", "p99", c.Latency.P99, plain)
		t.duration("", "wait p99", c.Wait.P99, plain)
		t.end()
	}
	return t
}

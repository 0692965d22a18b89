package reports

import (
	"fmt"
	"slices"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// labelled is a sentence with a word before it that says of what kind it is.
type labelled struct {
	label string
	text  string
	tone  tone
}

var kinds = map[record.FindingKind]labelled{
	record.Deadlocked:    {label: "deadlock", tone: bad},
	record.CanDeadlock:   {label: "can deadlock", tone: doubtful},
	record.Leaking:       {label: "leak", tone: bad},
	record.NeverReleased: {label: "kept", tone: doubtful},
	record.Recovered:     {label: "recovered", tone: good},
	record.NotRecovered:  {label: "not recovered", tone: bad},
	record.LeakAlarms:    {label: "leak alarms", tone: doubtful},
	record.ReturnedTwice: {label: "returned twice", tone: doubtful},
	record.SessionState:  {label: "session state", tone: bad},
}

// findings lists the diagnoses, each once, with the cells that it is of.
func findings(r *record.Result) []labelled {
	var all []labelled
	var labels [][]string
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, d := range c.Diagnoses {
			if d.Kind == record.NotStarted {
				continue // the headline and a warning say it
			}
			f, ok := kinds[d.Kind]
			if !ok {
				f.label = digest.Printable(string(d.Kind))
			}
			f.text = digest.Printable(d.Text) + seen(c, &d)
			if d.Service != "" {
				f.text = digest.Printable(d.Service) + ": " + f.text
			}
			j := slices.Index(all, f)
			if j < 0 {
				j = len(all)
				all, labels = append(all, f), append(labels, nil)
			}
			labels[j] = append(labels[j], digest.Label(c.Settings))
		}
	}
	for i := range all {
		all[i].text += inCells(r, labels[i])
	}
	return all
}

// seen says when something happened, and how often.
func seen(c *record.Cell, d *record.Diagnosis) string {
	var parts []string
	if d.At.Known && d.Kind == record.Deadlocked {
		parts = append(parts, "first at "+digest.Duration(d.At.Value))
	}
	if d.Instances > 1 {
		parts = append(parts, fmt.Sprintf("in %d instances", d.Instances))
	}
	if d.Replications > 0 && d.Replications < c.Replications {
		parts = append(parts, fmt.Sprintf("in %d of %d replications", d.Replications, c.Replications))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// budgetTable has a row for each service that shares the connections of the server with others.
func budgetTable(r *record.Result) *table {
	t := &table{title: "Connections of the server"}
	keys := settingKeys(r)
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Budget == nil {
			continue
		}
		if len(r.Cells) == 1 {
			t.says = overBudget(c.Budget)
		}
		for j, row := range c.Budget.Rows {
			settingColumns(t, keys, c.Settings, j > 0)
			t.text("", "service", digest.Printable(row.Service), plain)
			t.key = len(keys) + 1
			t.figure("instances", "at the end", count(row.Instances), plain)
			t.figure("instances", "peak", count(row.Peak), plain)
			t.figure("connections", "each", count(row.PerInstance), tooMany(row.PerInstance > row.Safe))
			t.figure("connections", "at peak", count(row.Demand), tooMany(row.Demand > row.Available))
			t.figure("connections", "available", count(row.Available), plain)
			t.figure("connections", "may have", count(row.Safe), strong)
			used := digest.Dash
			if row.Used.Known {
				used = digest.Level(row.Used.Value)
			}
			t.figure("connections", "used", used, plain)
			t.text("", "without the peak", forgotten(row), plain)
			t.end()
		}
	}
	t.drop("without the peak", "")
	return t
}

func count(n int) string { return digest.Count(int64(n)) }

func tooMany(so bool) tone {
	if so {
		return bad
	}
	return plain
}

// overBudget says how the sum of the services stands to what the server allows.
func overBudget(b *record.Budget) string {
	s := fmt.Sprintf("Of %s, %s are reserved, and the services may want %s: ", count(b.Limit), count(b.Reserved), count(b.Demand))
	if b.Left < 0 {
		return s + count(-b.Left) + " too many."
	}
	return s + count(b.Left) + " are left."
}

// forgotten says what one instance would be given who counts the instances of later, and what that needs at the peak.
func forgotten(row record.BudgetRow) string {
	if row.WithoutPeak == row.Safe {
		return ""
	}
	return fmt.Sprintf("%s each, which needs %s", count(row.WithoutPeak), count(row.NeedsAtPeak))
}

package reports

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// JUnit writes the checks of a result as JUnit XML, as GitLab, GitHub and Jenkins read it: one testsuite for the scenario, one
// testcase for each check of each cell. file is that of the scenario, empty if there is none.
//
// A check that has not passed is a failure, whose type is its status: failed, inconclusive or not_evaluated. One of level
// warning is skipped then, with a message, so that it is seen and fails nothing; and one that is off is skipped always. The
// time is always 0, as nothing depends on how long a run took.
func JUnit(w io.Writer, r *record.Result, file string) error {
	s := newSuite(r.Scenario)
	s.checks(r, file)
	return s.write(w)
}

// CompareJUnit writes the checks of a comparison, and a testcase for each figure of each pair, as JUnit XML. A figure is a
// failure if its verdict is one of those given.
func CompareJUnit(w io.Writer, c *Comparison, file string, fail ...Verdict) error {
	s := newSuite(c.After)
	s.checks(c.after, file)
	s.figures(c, file, fail)
	return s.write(w)
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     int         `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
	Out      string      `xml:"system-out,omitempty"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    int           `xml:"time,attr"`
	File    string        `xml:"file,attr,omitempty"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func newSuite(s record.Scenario) *junitSuite { return &junitSuite{Name: titleOf(s)} }

// add adds a testcase with what came of it.
func (s *junitSuite) add(c junitCase) {
	c.Class = s.Name
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func (s *junitSuite) checks(r *record.Result, file string) {
	for _, k := range r.Checks {
		c := junitCase{Name: digest.Printable(k.Expr) + atCell(r, k.Cell), File: file, Line: k.Line}
		switch says := checkMessage(k); {
		case k.Status == record.Passed:
		case k.Status == record.Off:
			c.Skipped = &junitMessage{Message: says}
		case k.Level == record.LevelWarning:
			c.Skipped = &junitMessage{Message: "warning: " + says}
		default:
			c.Failure = &junitMessage{Type: string(k.Status), Message: says, Text: c.Name + ": " + says}
		}
		s.add(c)
	}
	s.Out = strings.Join(warnings(r), "\n")
}

func (s *junitSuite) figures(c *Comparison, file string, fail []Verdict) {
	c.rows(func(p *Pair, r *Row) {
		k := junitCase{Name: r.Figure + " compared", File: file}
		if len(c.Pairs) > 1 {
			k.Name += " at " + digest.Label(p.After)
		}
		says := rowMessage(r)
		for _, v := range fail {
			if r.Verdict == v {
				k.Failure = &junitMessage{Type: string(v), Message: says, Text: k.Name + ": " + says}
			}
		}
		s.add(k)
	})
}

func (s *junitSuite) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(xml.Header)
	e := xml.NewEncoder(b)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Suites: []junitSuite{*s}}); err != nil {
		return err
	}
	b.WriteByte('\n')
	return b.Flush()
}

// atCell says at which cell something is, if there are several.
func atCell(r *record.Result, cell int) string {
	if len(r.Cells) < 2 {
		return ""
	}
	return " at " + cellName(r.Cells[cell].Settings)
}

// checkMessage says what came of a check.
func checkMessage(k record.Check) string {
	s := strings.ReplaceAll(string(k.Status), "_", " ")
	if k.Status == record.Off {
		if k.Why != "" {
			s += ": " + k.Why
		}
		return s
	}
	s += ": " + checkDetail(k)
	if k.Status == record.Inconclusive {
		s += "; " + whyInconclusive
	}
	return s
}

const whyInconclusive = "the interval has both sides of the limit, and more replications make it narrower"

// checkDetail says what was measured.
func checkDetail(k record.Check) string {
	if k.Status == record.NotEvaluated {
		return cmp.Or(k.Why, "nothing to measure")
	}
	s := measured([]record.Check{k})
	if k.Baseline.Known {
		s += ", baseline " + digest.InUnit(k.Baseline.Value, k.Unit)
	}
	return s
}

// rowMessage says what came of a figure.
func rowMessage(r *Row) string {
	s := string(r.Verdict)
	if r.Why != "" {
		s += ", " + r.Why
	}
	value := func(f record.Float) string {
		if !f.Known {
			return digest.Dash
		}
		return digest.InUnit(f.Value, r.Unit)
	}
	s += fmt.Sprintf(": %s to %s", value(r.Before), value(r.After))
	if r.Difference.Known {
		s += " (" + r.change()
		if d := r.Difference; d.Lo < d.Hi {
			s += ", interval " + r.interval()
		}
		s += ")"
	}
	return s
}

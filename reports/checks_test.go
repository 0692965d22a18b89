package reports

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

// anyChecks draws a result with checks of every status and level.
func anyChecks(t *rapid.T) *record.Result {
	r := reporttest.Any().Draw(t, "result")
	if len(r.Cells) == 0 {
		return r
	}
	for range rapid.IntRange(0, 8).Draw(t, "checks") {
		r.Checks = append(r.Checks, record.Check{
			Expr:   rapid.SampledFrom([]string{"p(99)<1ms", `avg{service="a,b:%\n"}<1s`, "throughput>=baseline*0.9"}).Draw(t, "expr"),
			Cell:   rapid.IntRange(0, len(r.Cells)-1).Draw(t, "cell"),
			Level:  rapid.SampledFrom([]string{"", record.LevelError, record.LevelWarning}).Draw(t, "level"),
			Status: rapid.SampledFrom([]record.Status{record.Passed, record.FailedCheck, record.Inconclusive, record.NotEvaluated, record.Off}).Draw(t, "status"),
			Line:   rapid.IntRange(0, 99).Draw(t, "line"),
			Unit:   "ns",
		})
	}
	r.Verdict = record.Verdict(r.Checks)
	return r
}

// The XML can be read, the counts are those of the testcases, and it fails if and only if the verdict is not passed.
func TestJUnitCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyChecks(t)
		var b bytes.Buffer
		if err := JUnit(&b, r, "deep/file.yaml"); err != nil {
			t.Fatal(err)
		}
		var read junitSuites
		if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
			t.Fatalf("%v in:\n%s", err, &b)
		}
		if len(read.Suites) != 1 || read.Suites[0].Name == "" {
			t.Fatalf("want one testsuite with a name:\n%s", &b)
		}
		s := read.Suites[0]
		failures, skipped := 0, 0
		for i, c := range s.Cases {
			k := r.Checks[i]
			if c.Failure != nil {
				failures++
				if c.Failure.Message == "" || c.Failure.Type != string(k.Status) {
					t.Fatalf("failure of type %s with the message %q of %+v", c.Failure.Type, c.Failure.Message, k)
				}
			}
			if c.Skipped != nil {
				skipped++
			}
			if (c.Failure != nil || c.Skipped != nil) == (k.Status == record.Passed) || c.Name == "" || c.Class != s.Name || c.Line != k.Line {
				t.Fatalf("testcase %+v of %+v", c, k)
			}
		}
		if s.Tests != len(r.Checks) || len(s.Cases) != s.Tests || s.Failures != failures || s.Skipped != skipped {
			t.Fatalf("%d tests, %d failures, %d skipped; in it %d, %d, %d", s.Tests, s.Failures, s.Skipped, len(s.Cases), failures, skipped)
		}
		if (failures > 0) != (r.Verdict != record.Passed) {
			t.Fatalf("%d failures, but the verdict is %s", failures, r.Verdict)
		}
	})
}

// Each annotation is one line that its runner reads as it was meant, and there is an error if and only if the verdict is not passed.
func TestAnnotationsAreReadAsMeant(t *testing.T) {
	unescape := strings.NewReplacer("%3A", ":", "%2C", ",", "%0A", "\n", "%0D", "\r", "%25", "%")
	const file = "a b,c:d/50%.yaml"
	rapid.Check(t, func(t *rapid.T) {
		r := anyChecks(t)
		var b bytes.Buffer
		if err := Annotations(&b, r, file); err != nil {
			t.Fatal(err)
		}
		errors := 0
		for line := range strings.Lines(b.String()) {
			rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "::")
			properties, message, ok2 := strings.Cut(rest, "::")
			command, properties, ok3 := strings.Cut(properties, " ")
			if !ok || !ok2 || !ok3 || message == "" || strings.Contains(line, "\r") {
				t.Fatalf("no command: %q", line)
			}
			if command == "error" {
				errors++
			} else if command != "warning" {
				t.Fatalf("command %q", command)
			}
			got := map[string]string{}
			for _, p := range strings.Split(properties, ",") {
				key, value, _ := strings.Cut(p, "=")
				got[key] = unescape.Replace(value)
			}
			if got["file"] != file || got["title"] == "" {
				t.Fatalf("properties %v of %q", got, line)
			}
			if _, err := fmt.Sscan(got["line"], new(int)); got["line"] != "" && err != nil {
				t.Fatalf("line %q", got["line"])
			}
		}
		if (errors > 0) != (r.Verdict != record.Passed) {
			t.Fatalf("%d errors, but the verdict is %s:\n%s", errors, r.Verdict, &b)
		}
	})
}

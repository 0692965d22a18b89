package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// saved is a result with something in every field of the schema.
func saved(t testing.TB) *Result {
	t.Helper()
	var runs []*Run
	for i := range 3 {
		r := &Run{Parts: make([]Part, 2)}
		for j := range r.Parts {
			p := &r.Parts[j]
			for k := range 200 {
				p.Latency.Record(time.Duration(1+i+j+k) * time.Millisecond)
				p.Wait.Record(time.Duration(k) * time.Microsecond)
				p.Hold.Record(time.Duration(i+1) * time.Millisecond)
			}
			p.Requests = Requests{Total: 203, OK: 200, Failed: 2, Unfinished: 1, Retries: 1, Outcomes: Counts{AcquireTimeout: 2}}
			p.Slow, p.Leaked = 4, 1
			p.Notes[Rejected] = 2
			p.LastEnd = 1_234_567_891
			p.Failed.Record(time.Second)
		}
		r.End = 2_000_000_000
		r.Connect.Record(20 * time.Millisecond)
		r.Server = ServerStats{Opened: 3, Closed: 1, Refused: 2, PeakOpen: 3, CoreUtilisation: ExactFloat(1 / 3.0)}
		r.Levels.Waiting.Mean = ExactFloat(float64(i) / 7)
		r.Warnings = []string{"it is only a test"}
		runs = append(runs, r)
	}
	cell := Merge(Settings{{"pool.max", "8"}, {"pool.model", "sqlx"}}, []string{"api", "jobs"}, runs)
	figure, err := ParseFigure("p(99){hold,service=api}")
	if err != nil {
		t.Fatal(err)
	}
	cell.KeepSamples([]Figure{figure})
	cell.Samples[0].Values[1] = math.NaN()
	one := Merge(Settings{}, []string{"pool"}, runs[:1])
	r := &Result{
		Schema: Schema, Scenario: Scenario{Name: "saved", Hash: "9f2c", Seed: math.MaxUint64, Estimate: "steady"},
		Cells: []Cell{cell, one},
	}
	for i := range r.Cells {
		for _, expr := range []string{"p(99)<1s", "throughput>=baseline*0.95"} {
			e, err := ParseCheck(expr)
			if err != nil {
				t.Fatal(err)
			}
			k := e.Evaluate(&r.Cells[i])
			k.Cell, k.Level = i, LevelWarning
			r.Checks = append(r.Checks, k)
		}
	}
	r.Checks[3].Status, r.Checks[3].Level = Off, LevelOff
	r.Verdict = Verdict(r.Checks)
	return r
}

func marshal(t testing.TB, r *Result) string {
	t.Helper()
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A saved result is read back whole: it is saved as the same bytes, and its samples are those of the replications.
func TestReadResultReadsWhatWasSaved(t *testing.T) {
	want := saved(t)
	text := marshal(t, want)
	got, err := ReadResult(strings.NewReader("\ufeff" + text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, marshal(t, got)); diff != "" {
		t.Errorf("saved once more (-first +again):\n%s", diff)
	}
	near := cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-8, 0)}
	if diff := cmp.Diff(want.Cells[0].Samples, got.Cells[0].Samples, near); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestReadResultMistakes(t *testing.T) {
	whole := marshal(t, saved(t))
	change := func(from, to string) string {
		t.Helper()
		if !strings.Contains(whole, from) {
			t.Fatalf("there is no %s to change", from)
		}
		return strings.Replace(whole, from, to, 1)
	}
	const notThis = "not a result as this version writes it: "
	for _, c := range []struct{ name, text, want string }{
		{"empty", " \n", "it is empty; want a result saved with --format json"},
		{"text", "name: burst\n", "not a saved result: want a JSON object with the schema poolwise.result/v1"},
		{"cut off", "{\n\"schema\": \"poolwise.result/v1\",\n", "not a saved result: line 3: unexpected end of JSON input"},
		{"list", "[1]", "not a saved result: want a JSON object with the schema poolwise.result/v1"},
		{"null", "null", "not a saved result: want a JSON object with the schema poolwise.result/v1"},
		{"no schema", "{}", "not a saved result: it has no schema; want poolwise.result/v1"},
		{"schema is no text", `{"schema": 1}`, "not a saved result: want a JSON object with the schema poolwise.result/v1"},
		{"other schema", change("result/v1", "result/v2"), `it has the schema "poolwise.result/v2"; want poolwise.result/v1, as run and sweep write with --format json`},
		{"more behind", whole + "{}", fmt.Sprintf("not a saved result: line %d: invalid character '{' after top-level value", 1+strings.Count(whole, "\n"))},
		{"unknown field", change(`"hash"`, `"hush"`), notThis + `unknown field "hush"`},
		{"other type", change(`"replications": 3`, `"replications": "3"`), notThis + "cells.replications: a string cannot stand here"},
		{"no duration", change(`"min": 1000000`, `"min": "1ms"`), notThis + "cells.latency.min: a string cannot stand here"},
		{"unknown outcome", change(`"acquire_timeout"`, `"lost"`), notThis + `unknown outcome "lost"`},
		{"settings are a list", change(`"settings": {}`, `"settings": []`), notThis + `settings: want an object, have []`},
		{"setting is a list", change(`"pool.max": 8`, `"pool.max": []`), notThis + `settings: want a text or a number for "pool.max"`},
		{"no cells", `{"schema": "poolwise.result/v1", "verdict": "passed"}`, notThis + "cells: there is none"},
		{"verdict", change(`"verdict": "passed"`, `"verdict": "fine"`), notThis + `verdict: there is no "fine"`},
		{"replications", change(`"replications": 3`, `"replications": 0`), notThis + "cells[0].replications: want at least 1, have 0"},
		{"samples of one", change(`"replications": 3`, `"replications": 1`), notThis + "cells[0].samples: there are some of one replication"},
		{"too few samples", change(`"replications": 3`, `"replications": 4`), notThis + "cells[0].samples: want 4 values of throughput, one for each replication, have 3"},
		{"sample of nothing", change(`"p(95){wait}"`, `"p(95){weight}"`), notThis + `cells[0].samples: check "p(95){weight}": at byte 6: unknown selector "weight", did you mean {service=weight}?`},
		{"sample in other words", change(`"p(95){wait}"`, `"p(95) {wait}"`), notThis + `cells[0].samples: want "p(95){wait}", have "p(95) {wait}"`},
		{"sample twice", change(`"p(95){wait}"`, `"p(99){wait}"`), notThis + `cells[0].samples: "p(99){wait}" is there twice`},
		{"negative", change(`"failed": 12`, `"failed": -12`), notThis + "cells[0].requests: want no negative count"},
		{"no such cell", change(`"cell": 1`, `"cell": 2`), notThis + "checks[2].cell: there is no cell 2"},
		{"no check", change(`"expr": "p(99)\u003c1s"`, `"expr": "p(99)"`), notThis + `checks[0].expr: check "p(99)": at byte 5: want <, <=, >, >=, == or !=`},
		{"level", change(`"level": "warning"`, `"level": "loud"`), notThis + `checks[0].level: want error, warning or off, have "loud"`},
		{"status", change(`"status": "passed"`, `"status": "good"`), notThis + `checks[0].status: there is no "good"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadResult(strings.NewReader(c.text))
			if err == nil {
				t.Fatal("no error")
			}
			if err.Error() != c.want {
				t.Errorf("error:\n%v\nwant:\n%s", err, c.want)
			}
		})
	}
}

func TestReadResultHasALimit(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("{"), endlessSpace{})
	if _, err := ReadResult(endless); err == nil || err.Error() != "it has more than 64 MiB and cannot be a saved result" {
		t.Errorf("error %v", err)
	}
	broken := errors.New("broken")
	if _, err := ReadResult(brokenReader{broken}); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the reader", err)
	}
}

type endlessSpace struct{}

func (endlessSpace) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// FuzzReadResult: any bytes are an error, or a result that is saved and read back as it is and can be judged.
func FuzzReadResult(f *testing.F) {
	whole := marshal(f, saved(f))
	f.Add([]byte(whole))
	f.Add([]byte(whole[:len(whole)/2]))
	f.Add([]byte(`{"schema": "poolwise.result/v1", "cells": [{"replications": 1}], "verdict": "passed"}`))
	f.Add([]byte(`{"schema": "poolwise.result/v1", "cells": [{"replications": 2, "samples": {"avg": [null, 1e300]}, "throughput": {"value": 1, "lo": 2}}], "checks": [{"expr": "avg<=baseline", "status": "off"}], "verdict": "failed"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ReadResult(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		again := marshal(t, r)
		r2, err := ReadResult(strings.NewReader(again))
		if err != nil {
			t.Fatalf("%s\nis saved as\n%s\nand not read back: %v", text, again, err)
		}
		if diff := cmp.Diff(again, marshal(t, r2)); diff != "" {
			t.Fatalf("saved once more (-first +again):\n%s", diff)
		}
		r.JudgeAgainst(r.Baseline(r2))
	})
}

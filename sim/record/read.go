package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxSaved is how many bytes a saved result may have: far more than thousands of cells with a hundred replications each need.
const MaxSaved = 64 << 20

// ReadResult reads a result that was saved as JSON. It is strict: what is not a complete result of this schema is an error, which
// names the line or the field. What a saved result does not have is the text about the scenario, the lines of the checks, and
// what charts draw.
func ReadResult(r io.Reader) (*Result, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSaved+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxSaved {
		return nil, fmt.Errorf("it has more than %d MiB and cannot be a saved result", MaxSaved>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	switch content := bytes.TrimSpace(text); {
	case len(content) == 0:
		return nil, errors.New("it is empty; want a result saved with --format json")
	case content[0] != '{':
		return nil, errors.New("not a saved result: want a JSON object with the schema " + Schema)
	}
	// The schema first: it explains all that may be wrong with the rest.
	var head struct {
		Schema *string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		if other := (*json.UnmarshalTypeError)(nil); !errors.As(err, &other) {
			return nil, fmt.Errorf("not a saved result: %w", inLine(text, err))
		}
		return nil, errors.New("not a saved result: want a JSON object with the schema " + Schema)
	}
	switch {
	case head.Schema == nil:
		return nil, errors.New("not a saved result: it has no schema; want " + Schema)
	case *head.Schema != Schema:
		return nil, fmt.Errorf("it has the schema %.60q; want %s, as run and sweep write with --format json", *head.Schema, Schema)
	}
	res := &Result{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(res); err != nil {
		return nil, fmt.Errorf("not a result as this version writes it: %w", inLine(text, err))
	}
	if err := res.validate(); err != nil {
		return nil, fmt.Errorf("not a result as this version writes it: %w", err)
	}
	return res, nil
}

// inLine puts an error of package json in our words, with the line or the field.
func inLine(text []byte, err error) error {
	var (
		syntax *json.SyntaxError
		typed  *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %s", line(text, syntax.Offset), syntax.Error())
	case errors.As(err, &typed):
		return fmt.Errorf("%s: a %s cannot stand here", typed.Field, typed.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: it ends too early", line(text, int64(len(text))))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// line returns the line of a byte, from 1.
func line(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}

// validate reports what a result cannot be.
func (r *Result) validate() error {
	if len(r.Cells) == 0 {
		return errors.New("cells: there is none")
	}
	if err := r.Verdict.validate("verdict", Passed, FailedCheck, Inconclusive); err != nil {
		return err
	}
	for i := range r.Cells {
		if err := r.Cells[i].validate(); err != nil {
			return fmt.Errorf("cells[%d].%w", i, err)
		}
	}
	for i, k := range r.Checks {
		if err := k.validate(len(r.Cells)); err != nil {
			return fmt.Errorf("checks[%d].%w", i, err)
		}
	}
	return nil
}

func (s Status) validate(field string, of ...Status) error {
	for _, o := range of {
		if s == o {
			return nil
		}
	}
	return fmt.Errorf("%s: there is no %.40q", field, s)
}

func (c *Cell) validate() error {
	switch {
	case c.Replications < 1:
		return fmt.Errorf("replications: want at least 1, have %d", c.Replications)
	case len(c.Samples) > 0 && c.Replications < 2:
		return errors.New("samples: there are some of one replication")
	}
	q := c.Requests
	if q.OK < 0 || q.Failed < 0 || q.Unfinished < 0 || q.Retries < 0 {
		return errors.New("requests: want no negative count")
	}
	if err := c.Stages.validate(); err != nil {
		return fmt.Errorf("stages: %w", err)
	}
	seen := map[string]bool{}
	for _, s := range c.Samples {
		f, err := ParseFigure(s.Figure)
		switch {
		case err != nil:
			return fmt.Errorf("samples: %w", err)
		case f.String() != s.Figure:
			return fmt.Errorf("samples: want %q, have %q", f, s.Figure)
		case seen[s.Figure]:
			return fmt.Errorf("samples: %q is there twice", s.Figure)
		case len(s.Values) != c.Replications:
			return fmt.Errorf("samples: want %d values of %s, one for each replication, have %d", c.Replications, s.Figure, len(s.Values))
		}
		seen[s.Figure] = true
	}
	return nil
}

func (k *Check) validate(cells int) error {
	if k.Cell < 0 || k.Cell >= cells {
		return fmt.Errorf("cell: there is no cell %d", k.Cell)
	}
	if _, err := ParseCheck(k.Expr); err != nil {
		return fmt.Errorf("expr: %w", err)
	}
	switch k.Level {
	case "", LevelError, LevelWarning, LevelOff:
	default:
		return fmt.Errorf("level: want %s, %s or %s, have %.40q", LevelError, LevelWarning, LevelOff, k.Level)
	}
	return k.Status.validate("status", Passed, FailedCheck, Inconclusive, NotEvaluated, Off)
}

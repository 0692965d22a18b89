// Package pooltest drives pool models in tests, any model in the same way: golden cases, which were recorded from the real pools
// (Run, in the files of testdata/cases), conversations (Talk, in a model's own testdata/talk), and random histories under
// shuffled ties (History). It is for tests only.
//
// A golden case is one JSON file: a scripted run of one pool against one server with fixed latencies, and what the real pool
// did. Its times are milliseconds, converted to nanoseconds once, by rounding; its keys are decoded strictly, and a key that
// the model's adapter (Model) does not know is an error, never ignored.
package pooltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"poolwise/sim"
)

// Ms is a time in a case: milliseconds there, nanoseconds here.
type Ms time.Duration

// UnmarshalJSON reads a number of milliseconds.
func (m *Ms) UnmarshalJSON(text []byte) error {
	var ms float64
	if err := json.Unmarshal(text, &ms); err != nil {
		return err
	}
	ns := math.Round(ms * 1e6)
	if math.Abs(ns) > 1e18 {
		return fmt.Errorf("%s ms is out of range", text)
	}
	*m = Ms(ns)
	return nil
}

// Time returns m as a time from the start.
func (m Ms) Time() sim.Time { return sim.Time(m) }

// String prints the milliseconds.
func (m Ms) String() string { return fmt.Sprint(float64(m) / 1e6) }

// Case is a golden case. What depends on the model is decoded by its adapter.
type Case struct {
	Name     string            `json:"case"`
	Source   string            `json:"source"`
	About    string            `json:"about"`
	Pool     json.RawMessage   `json:"pool"`
	Child    json.RawMessage   `json:"child"`
	Server   json.RawMessage   `json:"server"`
	Clients  []json.RawMessage `json:"clients"`
	Actions  []json.RawMessage `json:"actions"`
	SampleAt []Ms              `json:"sample_at"`
	Until    Ms                `json:"until"`
	Expect   Expect            `json:"expect"`

	// About the recording: whether the order in which clients were started mattered, and which timers fired together.
	OrderSensitive bool            `json:"order_sensitive"`
	Ties           json.RawMessage `json:"ties"`
	Tie            string          `json:"tie"`

	model Model
}

// Client is one scripted client: it acquires at a time, holds what it gets and ends the loan.
type Client struct {
	ID       string `json:"id"`
	At       Ms     `json:"at"`
	Op       string `json:"op"`
	Hold     Ms     `json:"hold"`
	Then     string `json:"then"`
	Timeout  *Ms    `json:"timeout"` // of this call, in pools that have one
	CancelAt *Ms    `json:"cancel_at"`
	Pool     string `json:"pool"` // which of the case's pools: "" or "child"
	Keep     *Ms    `json:"keep"` // how long a connection that was taken out of the pool is kept, nil for ever
}

// Action is something that happens to a pool or the server as a whole. What it takes depends on what it does.
type Action struct {
	At   Ms     `json:"at"`
	Do   string `json:"do"`
	Pool string `json:"pool"`
	Conn *int32 `json:"conn"`
	N    *int   `json:"n"`
	Ms   *Ms    `json:"ms"`
}

// takes returns the names of the values that the action has.
func (a *Action) takes() string {
	var names []string
	if a.Conn != nil {
		names = append(names, "conn")
	}
	if a.N != nil {
		names = append(names, "n")
	}
	if a.Ms != nil {
		names = append(names, "ms")
	}
	return strings.Join(names, " ")
}

// Server is what every model's server has.
type Server struct {
	Connect         Ms      `json:"connect"`
	ConnectPlan     []Ms    `json:"connect_plan"`
	Ping            Ms      `json:"ping"`
	Close           Ms      `json:"close"`
	ConnectionLimit int     `json:"connection_limit"`
	Refuse          []Range `json:"refuse"`
	RefuseAfter     Ms      `json:"refuse_after"`
}

// Range is a half-open interval of time. An empty one is none.
type Range [2]Ms

// Parse reads a case. That there is no such model is the first thing that it says.
func Parse(text []byte) (*Case, error) {
	var of struct {
		Pool struct {
			Model string `json:"model"`
		} `json:"pool"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, err
	}
	model, ok := models[of.Pool.Model]
	if !ok {
		return nil, fmt.Errorf("pool: there is no model %q", of.Pool.Model)
	}
	c := Case{model: model}
	if err := Strict(text, &c); err != nil {
		return nil, err
	}
	return &c, nil
}

// Strict decodes one JSON value into v, and refuses what v has no place for.
func Strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("more after the value")
	}
	return nil
}

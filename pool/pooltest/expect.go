package pooltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Expect is what happened: what the real pool did, as recorded, or what a model does. Everything that either has is compared.
type Expect struct {
	Start   *Start              `json:"start"`
	Clients map[string]*Outcome `json:"clients"`
	Actions []Done              `json:"actions"`
	Samples []Sample            `json:"samples"`
	Server  Totals              `json:"server"`
	Log     []Entry             `json:"log"` // the server's view, in exact order; nil if the recording has none
}

// Start is how the start of the pool ended, if the program waited for it.
type Start struct {
	At      Ms     `json:"at"`
	Outcome string `json:"outcome"`
}

// Outcome is what became of a client. What did not happen is nil.
type Outcome struct {
	Outcome       string  `json:"outcome"`
	At            Ms      `json:"at"`
	Conn          int32   `json:"conn"`
	Fresh         *bool   `json:"fresh"` // it is the first that ever held the connection
	ReleasedAt    *Ms     `json:"released_at"`
	ReleaseDoneAt *Ms     `json:"release_done_at"` // when giving it back had returned, if that took time
	ClosedAt      *Ms     `json:"closed_at"`
	Conns         []int32 `json:"conns"` // of one who gets several
	Tried         []int32 `json:"tried"` // those that an operation ran on, in order
	Error         string  `json:"error"` // for people; it is not compared
}

// Done is when an action returned, nil for never.
type Done struct {
	At     Ms     `json:"at"`
	Do     string `json:"do"`
	Pool   string `json:"pool"`
	DoneAt *Ms    `json:"done_at"`
}

// Sample is what the pools report at a moment: figures by name. Counts and times are both plain numbers here.
type Sample struct {
	At      Ms
	Figures map[string]Ms
	Child   map[string]Ms // those of the child, nil if there is none or it is gone
}

// Count is a count among the figures.
func Count(n int) Ms { return Ms(n) * 1e6 }

// UnmarshalJSON reads {"at": ..., "child": {...}} and any figures beside.
func (s *Sample) UnmarshalJSON(text []byte) error {
	s.Figures = map[string]Ms{}
	return fields(text, map[string]any{"at": &s.At, "child": &s.Child}, s.Figures)
}

// Totals are the server's: what happened to it, and counts by name.
type Totals struct {
	Opened    []Opened
	Closed    []Closed
	Discarded []Discarded
	RefusedAt []Ms
	Counts    map[string]Ms
}

// UnmarshalJSON reads the lists and any counts beside.
func (t *Totals) UnmarshalJSON(text []byte) error {
	t.Counts = map[string]Ms{}
	return fields(text, map[string]any{
		"opened": &t.Opened, "closed": &t.Closed, "discarded": &t.Discarded, "refused_at": &t.RefusedAt,
	}, t.Counts)
}

// fields reads an object: each known field into its place, and all others, which must be numbers, into rest.
func fields(text []byte, known map[string]any, rest map[string]Ms) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if into, ok := known[name]; ok {
			if err := Strict(all[name], into); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		var n Ms
		if err := n.UnmarshalJSON(all[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rest[name] = n
	}
	return nil
}

// Opened is a connect that succeeded.
type Opened struct {
	Conn    int32 `json:"conn"`
	Started Ms    `json:"started"`
	At      Ms    `json:"at"`
}

// Closed is the end of a connection. Began is set if its close took time.
type Closed struct {
	Conn  int32  `json:"conn"`
	Began *Ms    `json:"began"`
	At    Ms     `json:"at"`
	How   string `json:"how"`
}

// Discarded is the moment at which a pool lets go of a connection that the server had ended before.
type Discarded struct {
	Conn int32 `json:"conn"`
	At   Ms    `json:"at"`
}

// Entry is one line of the server's log: a time, a word and, if it is about one, a connection.
type Entry struct {
	At   Ms
	What string
	Conn int32
}

// UnmarshalJSON reads [at, what] or [at, what, conn].
func (e *Entry) UnmarshalJSON(text []byte) error {
	var v []json.RawMessage
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	if len(v) != 2 && len(v) != 3 {
		return fmt.Errorf("log entry %s: want a time, a word and perhaps a connection", text)
	}
	for i, into := range []any{&e.At, &e.What, &e.Conn} {
		if i < len(v) {
			if err := json.Unmarshal(v[i], into); err != nil {
				return fmt.Errorf("log entry %s: %w", text, err)
			}
		}
	}
	return nil
}

// line is one thing that happened, for comparison and for people.
type line struct {
	at   Ms
	text string
}

func (l line) String() string { return fmt.Sprintf("%8s  %s", l.at, l.text) }

// lines tells what happened, apart from the log, in order of time and, within one, of the alphabet: the order of what is
// simultaneous is the log's to tell.
func (e *Expect) lines() []line {
	var all []line
	add := func(at Ms, format string, args ...any) { all = append(all, line{at, fmt.Sprintf(format, args...)}) }
	if e.Start != nil {
		add(e.Start.At, "start: %s", e.Start.Outcome)
	}
	for id, c := range e.Clients {
		add(c.At, "client %s: %s", id, c.text())
		if c.ReleasedAt != nil {
			add(*c.ReleasedAt, "client %s: gives it back", id)
		}
		if c.ReleaseDoneAt != nil {
			add(*c.ReleaseDoneAt, "client %s: has given it back", id)
		}
		if c.ClosedAt != nil {
			add(*c.ClosedAt, "client %s: has closed it", id)
		}
	}
	for _, a := range e.Actions {
		if a.DoneAt == nil {
			add(a.At, "%s: never returns", a.Do)
		} else {
			add(*a.DoneAt, "%s of %v: returns", a.Do, a.At)
		}
	}
	for _, s := range e.Samples {
		text := figures(s.Figures)
		if s.Child != nil {
			text += "; child: " + figures(s.Child)
		}
		add(s.At, "sample: %s", text)
	}
	for _, o := range e.Server.Opened {
		add(o.At, "server: connection %d opens, started %v", o.Conn, o.Started)
	}
	for _, c := range e.Server.Closed {
		began := ""
		if c.Began != nil {
			began = fmt.Sprintf(", began %v", *c.Began)
		}
		add(c.At, "server: connection %d ends, %s%s", c.Conn, c.How, began)
	}
	for _, d := range e.Server.Discarded {
		add(d.At, "server: connection %d is discarded", d.Conn)
	}
	for _, at := range e.Server.RefusedAt {
		add(at, "server: refuses")
	}
	slices.SortStableFunc(all, func(a, b line) int {
		if a.at != b.at {
			return int(max(-1, min(1, a.at-b.at)))
		}
		return strings.Compare(a.text, b.text)
	})
	return append(all, line{0, "totals: " + figures(e.Server.Counts)})
}

// text tells how the client's operation ended.
func (o *Outcome) text() string {
	text := o.Outcome
	if o.Conn > 0 {
		text += fmt.Sprintf(", connection %d", o.Conn)
	}
	if o.Fresh != nil && *o.Fresh {
		text += ", fresh"
	}
	if len(o.Conns) > 0 {
		text += fmt.Sprintf(", connections %v", o.Conns)
	}
	if len(o.Tried) > 0 {
		text += fmt.Sprintf(", tried %v", o.Tried)
	}
	return text
}

// figures tells figures in the order of their names.
func figures(f map[string]Ms) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		all = append(all, fmt.Sprintf("%s=%v", name, f[name]))
	}
	return strings.Join(all, " ")
}

// logLines tells the log, in its own order.
func (e *Expect) logLines() []line {
	var all []line
	for _, l := range e.Log {
		text := l.What
		if l.Conn > 0 {
			text = fmt.Sprintf("%s %d", l.What, l.Conn)
		}
		all = append(all, line{l.At, text})
	}
	return all
}

// Compare returns where want and got differ, side by side in order of time, and nothing if they are equal. A recording without
// a log says nothing about it.
func Compare(want, got *Expect) string {
	diff := sideBySide("what happens", want.lines(), got.lines())
	if want.Log != nil {
		diff += sideBySide("the server's log", want.logLines(), got.logLines())
	}
	return diff
}

// sideBySide sets two accounts beside each other; lines that only one has are marked. It returns nothing if they are equal.
func sideBySide(title string, want, got []line) string {
	if slices.Equal(want, got) {
		return ""
	}
	const width = 66
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %-*s  %s\n", title, width, "expected", "got")
	show := func(mark, w, g string) {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%s %-*s  %s", mark, width, w, g), " ") + "\n")
	}
	i, j := 0, 0
	for _, c := range append(common(want, got), [2]int{len(want), len(got)}) {
		for i < c[0] || j < c[1] {
			if j == c[1] || i < c[0] && want[i].at <= got[j].at {
				show("-", want[i].String(), "")
				i++
			} else {
				show("+", "", got[j].String())
				j++
			}
		}
		if i < len(want) && j < len(got) {
			show(" ", want[i].String(), got[j].String())
			i, j = i+1, j+1
		}
	}
	return b.String()
}

// common returns the indices of a longest common subsequence of two accounts.
func common(a, b []line) [][2]int {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var pairs [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

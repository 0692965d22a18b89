package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Trace is the Sink that writes every fact, one line a fact: aligned words for people, or a JSON object for programs. The first error
// of the writer is kept; Close returns it.
type Trace struct {
	w     *bufio.Writer
	json  bool
	pools []string
	err   error
}

// NewTrace returns a trace that writes to w, as JSON lines if asked. pools are the names of the pools by index.
func NewTrace(w io.Writer, asJSON bool, pools []string) *Trace {
	return &Trace{w: bufio.NewWriter(w), json: asJSON, pools: pools}
}

// traceLine is a fact as JSON.
type traceLine struct {
	At      int64  `json:"at"`
	Fact    string `json:"fact"`
	Pool    string `json:"pool,omitempty"`
	Request *int64 `json:"request,omitempty"`
	Conn    int32  `json:"conn,omitempty"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	In      string `json:"in,omitempty"` // where the connection is meanwhile
	Outcome string `json:"outcome,omitempty"`
	Took    *int64 `json:"took,omitempty"`
}

// Note implements Sink.
func (t *Trace) Note(f Fact) {
	if t.err != nil {
		return
	}
	if t.json {
		t.err = t.noteJSON(f)
	} else {
		t.err = t.noteText(f)
	}
}

func (t *Trace) noteJSON(f Fact) error {
	l := traceLine{At: int64(f.At), Fact: f.Kind.String(), Pool: t.pool(f), Conn: f.Conn}
	if f.Request >= 0 {
		l.Request = &f.Request
	}
	if f.Kind.moves() {
		l.From, l.To = f.Move.From().String(), f.Move.To().String()
	}
	if f.Kind.stays() && f.Move.From() != None {
		l.In = f.Move.From().String()
	}
	if f.Kind.ends() {
		l.Outcome = f.Outcome.String()
	}
	if f.Kind.lasts() {
		took := int64(f.Took)
		l.Took = &took
	}
	b, err := json.Marshal(l)
	if err == nil {
		_, err = t.w.Write(append(b, '\n'))
	}
	return err
}

func (t *Trace) noteText(f Fact) error {
	fmt.Fprintf(t.w, "%14s  %-15s", time.Duration(f.At), f.Kind)
	if p := t.pool(f); p != "" {
		fmt.Fprintf(t.w, " pool=%s", p)
	}
	if f.Request >= 0 {
		fmt.Fprintf(t.w, " request=%d", f.Request)
	}
	if f.Conn > 0 {
		fmt.Fprintf(t.w, " conn=%d", f.Conn)
	}
	if f.Kind.moves() {
		fmt.Fprintf(t.w, " %s -> %s", f.Move.From(), f.Move.To())
	}
	if f.Kind.stays() && f.Move.From() != None {
		fmt.Fprintf(t.w, " %s", f.Move.From())
	}
	if f.Kind.ends() {
		fmt.Fprintf(t.w, " %s", f.Outcome)
	}
	if f.Kind.lasts() {
		fmt.Fprintf(t.w, " after %s", f.Took)
	}
	return t.w.WriteByte('\n')
}

// pool returns the name of the fact's pool, empty if there is only one.
func (t *Trace) pool(f Fact) string {
	if len(t.pools) < 2 || f.Pool < 0 || int(f.Pool) >= len(t.pools) {
		return ""
	}
	return t.pools[f.Pool]
}

// Close writes what is buffered and returns the first error. It does not close the underlying writer.
func (t *Trace) Close() error {
	if t.err != nil {
		return t.err
	}
	return t.w.Flush()
}

// moves reports whether facts of the kind have a From and a To.
func (k FactKind) moves() bool { return k == ConnMoved || k == PoolerMoved }

// stays reports whether facts of the kind say by From where a connection is meanwhile.
func (k FactKind) stays() bool { return k == HookBegan || k == AcquireTurned || k == CallBegan }

// ends reports whether facts of the kind have an Outcome.
func (k FactKind) ends() bool {
	switch k {
	case RequestEnded, AcquireEnded, ConnectEnded, PingEnded, QueryEnded, SessionEnded, PoolNote, PoolerConnected, PoolerLeft, PoolerWaitEnded:
		return true
	}
	return false
}

// lasts reports whether facts of the kind have a Took.
func (k FactKind) lasts() bool {
	switch k {
	case RequestEnded, AcquireEnded, Returned, SlowAcquire, Paused, ConnectEnded, ConnectGaveUp, QueryEnded, PoolerConnected, PoolerWaitEnded:
		return true
	}
	return false
}

package record

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/sim"
)

// TestPoolerIsMeasured: two clients, one server connection. The first has it from 10 to 20 ms, the second, who asks at 15, from
// 20 to 40 ms; a third is refused, and a fourth gives up its connect.
func TestPoolerIsMeasured(t *testing.T) {
	ms := func(n int) sim.Time { return sim.Time(n) * sim.Time(time.Millisecond) }
	r := NewRecorder(1, 0)
	for _, f := range []Fact{
		{At: ms(2), Kind: PoolerConnected, Conn: 1, Took: 2 * time.Millisecond},
		{At: ms(2), Kind: PoolerConnected, Conn: 2, Took: 2 * time.Millisecond},
		{At: ms(3), Kind: PoolerConnected, Outcome: TooManyConnections, Took: 3 * time.Millisecond},
		{At: ms(4), Kind: PoolerConnected, Outcome: Cancelled, Took: 4 * time.Millisecond},
		{At: ms(5), Kind: PoolerWaitBegan, Conn: 1},
		{At: ms(5), Kind: PoolerMoved, Move: Between(None, Opening)},
		{At: ms(10), Kind: ConnectEnded, Pool: -1, Conn: 1, Took: 5 * time.Millisecond},
		{At: ms(10), Kind: PoolerWaitEnded, Conn: 1, Took: 5 * time.Millisecond},
		{At: ms(10), Kind: PoolerMoved, Move: Between(Opening, InUse), Conn: 1, Took: 5 * time.Millisecond},
		{At: ms(15), Kind: PoolerWaitBegan, Conn: 2},
		{At: ms(20), Kind: PoolerWaitEnded, Conn: 2, Took: 5 * time.Millisecond},
		{At: ms(20), Kind: PoolerMoved, Move: Between(InUse, InUse), Conn: 1, Took: 5 * time.Millisecond},
		{At: ms(25), Kind: PoolerWaitBegan, Conn: 1},
		{At: ms(30), Kind: PoolerWaitEnded, Conn: 1, Outcome: QueueTimeout, Took: 5 * time.Millisecond},
		{At: ms(30), Kind: PoolerLeft, Conn: 1, Outcome: Killed},
		{At: ms(40), Kind: PoolerMoved, Move: Between(InUse, Idle), Conn: 1},
		{At: ms(41), Kind: PoolerMoved, Move: Between(Idle, InUse), Conn: 1},
		{At: ms(45), Kind: PoolerMoved, Move: Between(InUse, Idle), Conn: 1},
	} {
		r.Note(f)
	}
	c := Merge(nil, []string{""}, []*Run{r.Finish(ms(50), 0, 0)})
	p := c.Pooler
	if p == nil {
		t.Fatal("no figures of the pooler")
	}
	got := map[string]float64{
		"clients mean": p.Clients.Mean.Value, "clients max": p.Clients.Max.Value, "clients final": p.Clients.Final.Value,
		"connects": float64(p.Connect.N), "refused": float64(p.Refused), "timeouts": float64(p.Timeouts),
		"lent": float64(p.Wait.N), "wait mean": float64(p.Wait.Mean.Value),
		"waiting mean": p.Levels.Waiting.Mean.Value, "waiting max": p.Levels.Waiting.Max.Value,
		"in use mean": p.Levels.InUse.Mean.Value, "in use max": p.Levels.InUse.Max.Value, "idle final": p.Levels.Idle.Final.Value,
		"opening mean": p.Levels.Opening.Mean.Value, "size final": p.Levels.Size.Final.Value,
		"opened at the server": float64(c.Server.Opened), "server connects": float64(c.Connect.N), "pool size": c.Levels.Size.Max.Value,
	}
	want := map[string]float64{
		"clients mean": (28*2 + 20*1) / 50.0, "clients max": 2, "clients final": 1,
		"connects": 2, "refused": 1, "timeouts": 1,
		"lent": 3, "wait mean": 3333333,
		"waiting mean": 15.0 / 50, "waiting max": 1,
		"in use mean": 34.0 / 50, "in use max": 1, "idle final": 1,
		"opening mean": 5.0 / 50, "size final": 1,
		"opened at the server": 1, "server connects": 1, "pool size": 0,
	}
	for name, v := range got {
		got[name] = float64(int64(v*1e6+0.5)) / 1e6
	}
	for name, v := range want {
		want[name] = float64(int64(v*1e6+0.5)) / 1e6
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestResultWithoutPoolerDoesNotSpeakOfIt(t *testing.T) {
	c := Merge(nil, []string{""}, []*Run{NewRecorder(1, 0).Finish(1, 0, 0)})
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if c.Pooler != nil || strings.Contains(string(b), "pooler") {
		t.Errorf("there was no pooler: %s", b)
	}
}

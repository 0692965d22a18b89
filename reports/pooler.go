package reports

import (
	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// poolerTable has a row for each cell with a pooler before the server: its clients, its server connections, and how long the first wait
// for the second.
func poolerTable(r *record.Result) *table {
	t := &table{title: "Pooler"}
	keys := settingKeys(r)
	for _, c := range r.Cells {
		p := c.Pooler
		if p == nil {
			continue
		}
		settingColumns(t, keys, c.Settings, false)
		t.level("clients", p.Clients)
		t.level("waiting", p.Levels.Waiting)
		t.level("server connections", p.Levels.Size)
		t.level("in use", p.Levels.InUse)
		t.duration("wait", "p50", p.Wait.P50, plain)
		t.duration("wait", "p99", p.Wait.P99, plain)
		t.duration("wait", "max", p.Wait.Max, plain)
		t.figure("clients", "refused", digest.Count(p.Refused), badIf(p.Refused))
		t.figure("clients", "timed out", digest.Count(p.Timeouts), badIf(p.Timeouts))
		t.end()
	}
	t.drop("refused", "0")
	t.drop("timed out", "0")
	return t
}

func badIf(n int64) tone {
	if n > 0 {
		return bad
	}
	return plain
}

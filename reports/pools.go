package reports

import (
	"cmp"
	"fmt"
	"slices"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// mostPools is how many pools a cell may have for each to get a row. Beyond, services with several instances are shown by their
// totals, the worst instance and the best.
const mostPools = 12

// poolTable has a row for each pool of each cell, one for each service with several, and one for all of them together.
func poolTable(r *record.Result) *table {
	t := &table{title: "Pools"}
	keys := settingKeys(r)
	for i := range r.Cells {
		c := &r.Cells[i]
		rows := poolRows(c)
		for j, row := range rows {
			settingColumns(t, keys, c.Settings, j > 0)
			t.text("", "pool", row.name, row.tone)
			t.key = len(keys) + 1
			requestColumns(t, row.Requests, row.Arrivals, row.Throughput, row.Latency, row.Wait)
			levelColumns(t, row.Levels)
			t.end()
		}
	}
	t.tidy()
	return t
}

// poolRow is a row of poolTable.
type poolRow struct {
	name string
	tone tone
	*record.PoolCell
}

func poolRows(c *record.Cell) []poolRow {
	var rows []poolRow
	for i := range c.Pools {
		p := &c.Pools[i]
		s := serviceOf(c, p)
		if s == nil || !collapses(c) {
			rows = append(rows, poolRow{digest.Printable(poolName(p)), plain, p})
		}
		if s == nil || i+1 < len(c.Pools) && c.Pools[i+1].Service == p.Service {
			continue
		}
		if collapses(c) {
			all := c.Pools[i+1-s.Instances : i+1]
			for _, some := range []struct {
				what string
				of   record.PoolCell
			}{{"worst", slices.MaxFunc(all, worse)}, {"best", slices.MinFunc(all, worse)}} {
				rows = append(rows, poolRow{digest.Printable(some.of.Name) + " (" + some.what + ")", plain, &some.of})
			}
		}
		if len(c.Services) > 1 || s.Instances < len(c.Pools) {
			rows = append(rows, poolRow{fmt.Sprintf("%s (all %d)", digest.Printable(s.Name), s.Instances), strong, s})
		}
	}
	if len(rows) > 0 {
		rows = append(rows, poolRow{"total", strong, &record.PoolCell{
			Requests: c.Requests, Arrivals: c.Arrivals, Throughput: c.Throughput, Latency: c.Latency, Wait: c.Wait, Levels: c.Levels,
		}})
	}
	return rows
}

// poolName names a pool, or who uses that of another.
func poolName(p *record.PoolCell) string {
	if p.PoolOf != "" {
		return p.Name + " (on " + p.PoolOf + ")"
	}
	return p.Name
}

// serviceOf returns the totals of the service that a pool belongs to, nil if it is the only one.
func serviceOf(c *record.Cell, p *record.PoolCell) *record.PoolCell {
	for i := range c.Services {
		if s := &c.Services[i]; s.Name == p.Service && s.Instances > 0 && s.Instances <= len(c.Pools) {
			return s
		}
	}
	return nil
}

// collapses reports whether the instances of services are not shown one by one.
func collapses(c *record.Cell) bool { return len(c.Pools) > mostPools && len(c.Services) > 0 }

// hidden returns how many instances the cell with the most does not show.
func hidden(r *record.Result) (most int) {
	for i := range r.Cells {
		c := &r.Cells[i]
		n := 0
		for j := range c.Services {
			n += c.Services[j].Instances - 2
		}
		if collapses(c) {
			most = max(most, n)
		}
	}
	return most
}

// worse orders pools by how their requests fared: more failures, then a longer p99 and mean, then less throughput.
func worse(a, b record.PoolCell) int {
	return cmp.Or(
		cmp.Compare(a.FailedRate.Value, b.FailedRate.Value),
		cmp.Compare(a.Latency.P99.Value, b.Latency.P99.Value),
		cmp.Compare(a.Latency.Mean.Value, b.Latency.Mean.Value),
		cmp.Compare(b.Throughput.Value, a.Throughput.Value),
	)
}

// serverTable has a row for each of several servers of each cell.
func serverTable(r *record.Result) *table {
	t := &table{title: "Servers"}
	keys := settingKeys(r)
	for _, c := range r.Cells {
		for i, s := range c.Servers {
			settingColumns(t, keys, c.Settings, i > 0)
			t.text("", "server", digest.Printable(s.Name), plain)
			t.key = len(keys) + 1
			t.figure("connections", "opened", digest.Count(s.Opened), plain)
			t.figure("connections", "refused", digest.Count(s.Refused), badIf(s.Refused))
			t.figure("connections", "peak", digest.Count(s.PeakOpen), plain)
			t.float("connections", "at the end", s.Open, digest.Level, digest.LevelMargin)
			t.duration("", "emptied at", s.Emptied, plain)
			t.float("", "cores", s.CoreUtilisation, digest.Share, digest.ShareMargin)
			t.end()
		}
	}
	t.drop("refused", "0")
	t.drop("cores", digest.Dash)
	return t
}

// actionTable has a row for each action of each cell and says when it was complete.
func actionTable(r *record.Result) *table {
	t := &table{title: "Actions"}
	keys := settingKeys(r)
	for _, c := range r.Cells {
		for i, a := range c.Actions {
			settingColumns(t, keys, c.Settings, i > 0)
			t.figure("", "at", digest.Duration(a.At), plain)
			t.key = len(keys) + 1
			do := a.Do
			if a.To != "" {
				do += " " + a.To
			}
			t.text("", "action", digest.Printable(do), plain)
			t.text("", "service", digest.Printable(actor(a)), plain)
			t.duration("", "complete after", a.Took, plain)
			left := ""
			if n := a.NotReturned; n.Known && n.Value > 0 {
				left = digest.Level(n.Value)
			}
			t.figure("", "not returned", left, bad)
			t.end()
		}
	}
	t.drop("service", "")
	t.drop("complete after", digest.Dash)
	t.drop("not returned", "")
	return t
}

// actor says to what an action was done.
func actor(a record.ActionCell) string {
	if a.Instance > 0 && a.Service != "" {
		return fmt.Sprintf("%s-%d", a.Service, a.Instance)
	}
	return a.Service
}

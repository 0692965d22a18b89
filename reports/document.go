package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

// document is what the reports for people say, before it is laid out.
type document struct {
	headline []string // sentences, the most important first
	about    string
	run      string // seed, replications and the like
	tables   []*table
	findings []labelled // what is wrong, or can go wrong
	warnings []string
	notes    []string // that explain the tables
}

func newDocument(r *record.Result) *document {
	d := &document{
		headline: headline(r),
		about:    digest.Printable(r.Scenario.About),
		run:      runLine(r),
		findings: findings(r),
		warnings: warnings(r),
		notes:    notes(r),
	}
	if name := digest.Printable(r.Scenario.Name); name != "" {
		d.headline[0] = name + ": " + d.headline[0]
	}
	for _, t := range []*table{cellTable(r), poolTable(r), budgetTable(r), serverTable(r), poolerTable(r), actionTable(r), failureTable(r), stageTable(r), courseTable(r), checkTable(r)} {
		if len(t.rows) > 0 {
			d.tables = append(d.tables, t)
		}
	}
	return d
}

func runLine(r *record.Result) string {
	s := fmt.Sprintf("seed %d", r.Scenario.Seed)
	if r.Scenario.Estimate != "" {
		s += ", " + digest.Printable(r.Scenario.Estimate)
	}
	if len(r.Cells) == 0 {
		return s
	}
	byCount := func(a, b record.Cell) int { return cmp.Compare(a.Replications, b.Replications) }
	fewest := slices.MinFunc(r.Cells, byCount).Replications
	switch most := slices.MaxFunc(r.Cells, byCount).Replications; {
	case most <= 1:
		return s + ", one replication: no intervals"
	case fewest == most:
		return fmt.Sprintf("%s, %d replications", s, most)
	default:
		return fmt.Sprintf("%s, %d to %d replications", s, fewest, most)
	}
}

// settingColumns puts the settings of a cell, one column each; blank repeats none.
func settingColumns(t *table, keys []string, s record.Settings, blank bool) {
	for _, key := range keys {
		v, ok := digest.Value(s, key)
		if !ok {
			v = digest.Dash
		}
		if blank {
			v = ""
		}
		t.figure("", digest.Printable(key), digest.Printable(v), strong)
	}
	t.key = len(keys)
}

// settingKeys returns the keys of all settings, in order of appearance.
func settingKeys(r *record.Result) []string {
	var keys []string
	for _, c := range r.Cells {
		for _, kv := range c.Settings {
			if !slices.Contains(keys, kv.Key) {
				keys = append(keys, kv.Key)
			}
		}
	}
	return keys
}

// requestColumns puts what became of requests, and how long they took.
func requestColumns(t *table, q record.Requests, arrivals, throughput record.Float, latency, wait record.Summary) {
	failed, slow := plain, plain
	share := ""
	if q.Failed > 0 {
		failed, slow = bad, doubtful
		share = okShare(q)
	}
	t.figure("requests", "ok", digest.Count(q.OK), plain)
	t.figure("requests", "failed", digest.Count(q.Failed), failed)
	t.figure("requests", "unfinished", digest.Count(q.Unfinished), plain)
	arrive := entry{text: digest.Dash}
	if arrivals.Known {
		arrive.text = digest.Rate(arrivals.Value)
	}
	if arriving(arrivals, throughput) {
		arrive.tone = doubtful
	}
	t.put(column{"requests", "arrive", false}, arrive)
	t.float("requests", "rate", throughput, digest.Rate, digest.RateMargin)
	t.duration("latency", "p50", latency.P50, slow)
	t.duration("latency", "p95", latency.P95, slow)
	t.duration("latency", "p99", latency.P99, slow)
	t.duration("latency", "max", latency.Max, slow)
	t.text("latency", "", share, bad)
	t.duration("wait", "p50", wait.P50, slow)
	t.duration("wait", "p99", wait.P99, slow)
}

// okShare says of how many requests the latency is, where some failed.
func okShare(q record.Requests) string {
	if q.OK == 0 {
		return "(none ok)"
	}
	return "(of " + digest.Share(digest.OKShare(q)) + " ok)"
}

func cellTable(r *record.Result) *table {
	t := &table{}
	keys := settingKeys(r)
	for _, c := range r.Cells {
		settingColumns(t, keys, c.Settings, false)
		requestColumns(t, c.Requests, c.Arrivals, c.Throughput, c.Latency, c.Wait)
		levelColumns(t, c.Levels)
		t.level("connecting", c.Levels.Opening)
		t.figure("server", "opened", digest.Count(c.Server.Opened), plain)
		t.figure("server", "refused", digest.Count(c.Server.Refused), plain)
		t.figure("server", "peak", digest.Count(c.Server.PeakOpen), plain)
		t.float("server", "cores", c.Server.CoreUtilisation, digest.Share, digest.ShareMargin)
		t.end()
	}
	t.tidy()
	return t
}

func levelColumns(t *table, l record.Levels) {
	t.level("size", l.Size)
	t.level("idle", l.Idle)
	t.level("in use", l.InUse)
	t.level("waiting", l.Waiting)
}

// tidy drops the columns that would say nothing.
func (t *table) tidy() {
	t.drop("unfinished", "0")
	t.dropIf("arrive", func(e entry) bool { return e.tone == plain })
	t.drop("", "")
	t.drop("connecting", "0 / 0")
	t.drop("refused", "0")
	t.drop("cores", digest.Dash)
}

// failureTable says how requests failed, in the cells where some did: in each service, if there are several.
func failureTable(r *record.Result) *table {
	t := &table{title: "Failures"}
	keys := settingKeys(r)
	row := func(q record.Requests, rate record.Float, after record.Summary, timeouts record.Timeouts) {
		t.figure("requests", "failed", digest.Count(q.Failed), bad)
		t.float("requests", "share", rate, digest.Share, digest.ShareMargin)
		t.duration("failed after", "p50", after.P50, plain)
		t.duration("failed after", "max", after.Max, plain)
		t.text("", "outcomes", outcomes(q.Outcomes), plain)
		t.text("", "when acquires timed out", timedOut(timeouts), plain)
		t.end()
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Requests.Failed == 0 {
			continue
		}
		services := eachService(c)
		if len(services) < 2 {
			settingColumns(t, keys, c.Settings, false)
			t.text("", "service", "", plain)
			row(c.Requests, c.FailedRate, c.FailedAfter, c.Timeouts)
			continue
		}
		blank := false
		for _, p := range services {
			if p.Requests.Failed > 0 {
				settingColumns(t, keys, c.Settings, blank)
				t.text("", "service", digest.Printable(p.Name), plain)
				t.key = len(keys) + 1
				row(p.Requests, p.FailedRate, p.FailedAfter, p.Timeouts)
				blank = true
			}
		}
	}
	t.drop("when acquires timed out", "")
	t.drop("service", "")
	return t
}

// timedOut says in short what pools were at when acquires timed out.
func timedOut(t record.Timeouts) string {
	var parts []string
	for _, p := range []struct {
		n    int64
		what string
	}{
		{t.Leaked, "all slots leaked"}, {t.Held, "all connections lent"}, {t.Opening, "connecting"}, {t.Checking, "checking connections"},
		{t.Returning, "taking connections back"}, {t.Other, "other"},
	} {
		switch {
		case p.n > 0 && p.n == t.All():
			return p.what
		case p.n > 0:
			parts = append(parts, digest.Share(float64(p.n)/float64(t.All()))+" "+p.what)
		}
	}
	return strings.Join(parts, ", ")
}

// outcomes lists counts by name.
func outcomes(c record.Counts) string {
	var parts []string
	for o, n := range c {
		if n > 0 {
			parts = append(parts, digest.Count(n)+" "+record.Outcome(o).String())
		}
	}
	return strings.Join(parts, ", ")
}

// checkTable has a row for each check and what came of it, over all the cells of which the same is to be said: for those in which
// it passed, or was off, how the figures range.
func checkTable(r *record.Result) *table {
	t := &table{title: "Checks"}
	type result struct {
		expr, level string
		status      record.Status
		measured    string // unless it passed
		baseline    string
	}
	var order []result
	alike := map[result][]record.Check{}
	for _, k := range r.Checks {
		of := result{expr: k.Expr, level: k.Level, status: k.Status}
		if one := []record.Check{k}; k.Status != record.Passed && k.Status != record.Off {
			of.measured, of.baseline = measured(one), baselines(one)
		}
		if alike[of] == nil {
			order = append(order, of)
		}
		if !slices.ContainsFunc(alike[of], func(o record.Check) bool { return o.Cell == k.Cell }) { // one that is there twice
			alike[of] = append(alike[of], k)
		}
	}
	for _, of := range order {
		same := alike[of]
		if of.measured == "" {
			of.measured, of.baseline = measured(same), baselines(same)
		}
		t.text("", "verdict", statusWords(same[0]), statusTone(of.status))
		t.text("", "check", digest.Printable(of.expr), plain)
		t.text("", "measured", of.measured, plain)
		t.text("", "baseline", of.baseline, plain)
		t.text("", "at", where(r, same), plain)
		t.end()
	}
	t.drop("baseline", "")
	if n := len(t.columns); n > 0 {
		t.dropIf("at", func(e entry) bool { return e.text == "" })
		if len(t.columns) == n {
			t.lowers = 1
		}
	}
	t.key = 2
	return t
}

// where says in which cells checks were judged: by the values of a sweep over a number, or by their settings if they are few.
func where(r *record.Result, checks []record.Check) string {
	if len(r.Cells) < 2 {
		return ""
	}
	if l, ok := sweep(r); ok {
		var points []int
		for i, p := range l.Points {
			if slices.ContainsFunc(checks, func(k record.Check) bool { return k.Cell >= 0 && k.Cell < len(r.Cells) && &r.Cells[k.Cell] == p.Cell }) {
				points = append(points, i)
			}
		}
		return digest.Printable(l.Key) + " " + values(&l, points)
	}
	if len(checks) > 2 {
		return fmt.Sprintf("%d cells", len(checks))
	}
	labels := make([]string, len(checks))
	for i, k := range checks {
		labels[i] = digest.Label(k.Settings)
	}
	return strings.Join(labels, "; ")
}

// statusWords says what came of a check, and that it is only a warning if it is not passed.
func statusWords(k record.Check) string {
	s := strings.ReplaceAll(string(k.Status), "_", " ")
	if k.Level == record.LevelWarning && k.Status != record.Passed {
		s += " (warning)"
	}
	return s
}

// baselines writes what the baseline of a check was, or the range of those of several.
func baselines(checks []record.Check) string {
	if !slices.ContainsFunc(checks, func(k record.Check) bool { return k.Baseline.Known }) {
		return ""
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, k := range checks {
		if k.Baseline.Known {
			lo, hi = min(lo, k.Baseline.Value), max(hi, k.Baseline.Value)
		}
	}
	from, to := digest.InUnit(lo, checks[0].Unit), digest.InUnit(hi, checks[0].Unit)
	if from != to {
		return from + " to " + to
	}
	return from
}

func statusTone(s record.Status) tone {
	switch s {
	case record.Passed:
		return good
	case record.Inconclusive:
		return doubtful
	case record.Off:
		return faint
	}
	return bad
}

// measured writes the value of a check with its interval, or the range of the values of several.
func measured(checks []record.Check) string {
	k := checks[0]
	if k.Status == record.NotEvaluated || k.Status == record.Off {
		return digest.Dash
	}
	lo, hi := k.Value, k.Value
	for _, c := range checks {
		lo, hi = min(lo, c.Value), max(hi, c.Value)
	}
	switch from, to := digest.InUnit(lo, k.Unit), digest.InUnit(hi, k.Unit); {
	case from != to:
		return from + " to " + to
	case len(checks) > 1 || k.Lo == k.Hi:
		return from
	default:
		return fmt.Sprintf("%s (%s to %s)", from, digest.InUnit(k.Lo, k.Unit), digest.InUnit(k.Hi, k.Unit))
	}
}

// warnings lists each warning once, with the cells that gave it.
func warnings(r *record.Result) []string {
	var texts []string
	labels := map[string][]string{}
	for _, c := range r.Cells {
		for _, w := range c.Warnings {
			if _, seen := labels[w]; !seen {
				texts = append(texts, w)
			}
			labels[w] = append(labels[w], digest.Label(c.Settings))
		}
	}
	var all []string
	for _, w := range texts {
		all = append(all, digest.Printable(w)+inCells(r, labels[w]))
	}
	return all
}

// inCells says in which cells something is so, by their labels; nothing if there is only one cell.
func inCells(r *record.Result, labels []string) string {
	switch n := len(labels); {
	case len(r.Cells) == 1:
		return ""
	case n <= 3:
		return " (" + strings.Join(labels, "; ") + ")"
	case n == len(r.Cells):
		return " (every cell)"
	default:
		return fmt.Sprintf(" (%d of %d cells)", n, len(r.Cells))
	}
}

// notes explain what stands in the tables.
func notes(r *record.Result) []string {
	var failures, intervals, tooFew, none bool
	for _, c := range r.Cells {
		failures = failures || c.Requests.Failed > 0
		intervals = intervals || c.Replications > 1
		views := []record.Summary{c.Latency, c.Wait}
		for _, p := range c.Pools {
			views = append(views, p.Latency, p.Wait)
		}
		for _, s := range views {
			none = none || s.N == 0
			tooFew = tooFew || s.N > 0 && !(s.P50.Known && s.P95.Known && s.P99.Known)
		}
	}
	all := precision(r)
	if n := hidden(r); n > 0 {
		all = append(all, fmt.Sprintf("Pools has of services with several instances the totals, the worst instance and the best; %s more are in --format json.", digest.Count(int64(n))))
	}
	if slices.ContainsFunc(r.Cells, func(c record.Cell) bool { return len(c.Pools) > 0 && len(c.Services) > 0 }) {
		all = append(all, "total, (all …): requests, rates and levels are sums over the instances, latency and wait those of all their requests together; the other rows of Pools are one instance each.")
	}
	if failures {
		all = append(all, "(of … ok): latency and wait are of what succeeded only; compare them with care where requests fail.")
	}
	if intervals {
		all = append(all, "±: half of the 95 % interval across replications; a..b: all of it, where it is lopsided. Counts are sums over them, maxima of levels the highest.")
	}
	all = append(all, stageNotes(r)...)
	if note := notEvaluated(r.Checks); note != "" {
		all = append(all, note)
	}
	if tooFew {
		all = append(all, digest.Dash+": too few samples; a p50 needs 2, a p95 20 and a p99 100.")
	} else if none {
		all = append(all, digest.Dash+": nothing succeeded, so there is nothing to measure.")
	}
	return all
}

// notEvaluated explains why checks were not evaluated, if some were not.
func notEvaluated(checks []record.Check) string {
	var all []string
	for _, k := range checks {
		if k.Status == record.NotEvaluated {
			if why := cmp.Or(k.Why, "there were no samples, or too few for the percentile"); !slices.Contains(all, why) {
				all = append(all, why)
			}
		}
	}
	if all == nil {
		return ""
	}
	return "not evaluated: " + wording.Or(all) + "; it counts as failed."
}

package record

import (
	"slices"
	"strings"
)

// Metric describes a figure that a check can name.
type Metric struct {
	Name     string
	Unit     string // ns, ratio, count or per_second
	Doc      string // what it is
	Selects  bool   // it describes durations: it takes the selectors of Selectors, such as {wait}
	Services bool   // it takes {service=NAME}, with the selectors that do
	Example  string // a check
}

// Selector chooses the durations that a metric describes.
type Selector struct {
	Name     string
	Doc      string
	Services bool // it can be of one service
}

// Metrics lists the figures that a check can name.
func Metrics() []Metric {
	var all []Metric
	for _, m := range metrics {
		all = append(all, Metric{
			Name: m.name, Unit: m.unit, Doc: m.doc, Selects: m.dist != nil, Services: !m.total, Example: m.example(),
		})
	}
	return all
}

// Selectors lists what a metric of durations may be of; the first is what it is of without a selector.
func Selectors() []Selector {
	var all []Selector
	for _, d := range summaries {
		all = append(all, Selector{d.name, d.doc, !d.total})
	}
	return all
}

// example returns a check of the metric.
func (m *metric) example() string {
	switch {
	case m.name == "throughput":
		return "throughput>900/s"
	case m.name == "ok" || m.name == "total":
		return m.name + ">=1000"
	case m.dist != nil:
		return m.name + "{wait}<10ms"
	case m.unit == unitDuration:
		return m.name + "<30s"
	case m.name == "core_utilisation":
		return m.name + "<80%"
	case m.unit == unitRatio:
		return m.name + "<0.1%"
	case strings.HasSuffix(m.name, ".mean"), strings.HasSuffix(m.name, ".max"):
		return m.name + "<10"
	case m.name == "server.opened" || m.name == "server.closed" || m.name == "server.peak_open":
		return m.name + "<=100"
	}
	return m.name + "<=0"
}

// otherNames are what reports and other tools call metrics.
var otherNames = map[string]string{
	"median": "med", "mean": "avg", "average": "avg", "minimum": "min", "maximum": "max",
	"rate": "throughput", "rps": "throughput", "qps": "throughput", "tps": "throughput",
	"error_rate": "failed_rate", "errors": "failed", "error": "failed", "failures": "failed", "failed_share": "failed_rate", "http_req_failed": "failed_rate",
	"requests": "total", "opened": "server.opened", "closed": "server.closed", "refused": "server.refused",
	"peak": "server.peak_open", "peak_open": "server.peak_open", "cores": "core_utilisation", "cpu": "core_utilisation",
	"clients": "pooler.clients.max", "leaks": "leaked", "wait": "p(99){wait}", "latency": "p(99)", "hold": "p(99){hold}", "connect": "p(99){connect}",
}

// meantBy returns the check's words for a metric as it is called in reports: wait p99, in use max, p99.
func meantBy(name string) (string, bool) {
	for _, m := range metrics {
		if m.name == name {
			return name, true
		}
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '\t' })
	joined := strings.Join(words, "_")
	if meant, ok := otherNames[joined]; ok {
		return meant, true
	}
	parts := strings.FieldsFunc(joined, func(r rune) bool { return r == '_' || r == '.' })
	if len(parts) == 0 {
		return "", false
	}
	first, last := parts[0], len(parts)-1
	for _, split := range []struct{ stat, of string }{{parts[last], strings.Join(parts[:last], "_")}, {first, strings.Join(parts[1:], "_")}} {
		stat, ok := statistic(split.stat)
		for i, d := range summaries {
			switch {
			case !ok:
			case i == 0 && (split.of == "" || split.of == d.name):
				return stat, true
			case split.of == strings.ReplaceAll(d.name, ".", "_"):
				return stat + "{" + d.name + "}", true
			}
		}
	}
	for _, m := range metrics { // in use max, pooler clients max
		if m.cell != nil && strings.ReplaceAll(m.name, ".", "_") == joined {
			return m.name, true
		}
	}
	for _, m := range metrics { // in use
		if base, ok := strings.CutSuffix(m.name, ".max"); ok && strings.ReplaceAll(base, ".", "_") == joined {
			return m.name, true
		}
	}
	return "", false
}

// statistic returns the metric of durations that a word stands for: p99, mean.
func statistic(word string) (string, bool) {
	if of, ok := otherNames[word]; ok {
		word = of
	}
	for _, m := range metrics {
		if m.dist != nil && (m.name == word || strings.Map(noBrackets, m.name) == word) {
			return m.name, true
		}
	}
	return "", false
}

// noBrackets leaves out what p(99.9) has and p999 has not.
func noBrackets(r rune) rune {
	if strings.ContainsRune("().", r) {
		return -1
	}
	return r
}

// OfPool reports whether the figure is a level of the pool itself, which is the same for all that use it.
func (f Figure) OfPool() bool {
	of, _, _ := strings.Cut(f.metric.name, ".")
	return slices.Contains([]string{"size", "idle", "in_use", "connecting"}, of)
}

// OfPooler reports whether the figure is one of the pooler.
func (f Figure) OfPooler() bool {
	return strings.HasPrefix(f.metric.name, poolerPrefix) || f.of != nil && strings.HasPrefix(f.of.name, poolerPrefix)
}

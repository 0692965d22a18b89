package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"poolwise/sim/record"
	"poolwise/sim/wording"
)

func newMetrics() *cobra.Command {
	var to destination
	cmd := &cobra.Command{
		Use:   "metrics [WORD]",
		Short: "List the metrics that a check can name",
		Long: `List the metrics that a check (--check, or checks in a scenario) can name: what each is, its unit, and an
example; with WORD, those whose name or meaning has it. A check is a metric, perhaps selectors in braces,
one of < <= > >= == !=, and a limit in the metric's unit or a multiple of a baseline:

  p(99)<50ms   p(95){wait}<10ms   avg{service=api}<=1s   failed_rate<0.1%   throughput>900/s
  waiting.max{service=api}<10   p(99)<=baseline*1.05

Counts are those of one replication, on the average if there are several.`,
		Example: `  poolwise metrics
  poolwise metrics timeout
  poolwise metrics --format json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("want at most one WORD, have %d: %q", len(args), args)
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	format := addFormat(cmd, &to)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := to.check(); err != nil {
			return err
		}
		m := describeMetrics()
		if len(args) == 1 {
			m = m.with(args[0])
			if len(m.Metrics)+len(m.Selectors) == 0 {
				return fmt.Errorf("there is no metric about %q; poolwise metrics lists them all", args[0])
			}
		}
		return to.write(cmd.OutOrStdout(), func(w io.Writer) error { return m.write(w, format.value, to.columns(w)) })
	}
	return cmd
}

// metrics are those that a check can name, and what describes them further.
type metrics struct {
	Metrics   []metric   `json:"metrics"`
	Selectors []selector `json:"selectors"`
}

type metric struct {
	Name    string `json:"name"`
	Unit    string `json:"unit"`    // of its values in results
	Selects bool   `json:"selects"` // it takes a selector other than service=NAME
	Service bool   `json:"service"` // it takes service=NAME
	Means   string `json:"means"`
	Example string `json:"example"`
}

type selector struct {
	Name    string `json:"name"`
	Service bool   `json:"service"` // it goes with service=NAME
	Means   string `json:"means"`
}

func describeMetrics() metrics {
	var all metrics
	for _, m := range record.Metrics() {
		all.Metrics = append(all.Metrics, metric{m.Name, m.Unit, m.Selects, m.Services, m.Doc, m.Example})
	}
	for _, s := range record.Selectors() {
		all.Selectors = append(all.Selectors, selector{s.Name, s.Services, s.Doc})
	}
	return all
}

// with returns those about a word.
func (m metrics) with(word string) metrics {
	some := metrics{[]metric{}, []selector{}}
	has := func(texts ...string) bool {
		return strings.Contains(strings.ToLower(strings.Join(texts, "\n")), strings.ToLower(word))
	}
	for _, x := range m.Metrics {
		if has(x.Name, x.Means) {
			some.Metrics = append(some.Metrics, x)
		}
	}
	for _, x := range m.Selectors {
		if has(x.Name, x.Means) {
			some.Selectors = append(some.Selectors, x)
		}
	}
	return some
}

func (m metrics) write(w io.Writer, format string, width int) error {
	all := listing{heads: []string{"metric", "unit", "service", "example", "means"}, json: m}
	for _, x := range m.Metrics {
		all.rows = append(all.rows, []string{x.Name, x.Unit, yes(x.Service), x.Example, x.Means})
	}
	selectors := listing{heads: []string{"selector", "service", "means"}}
	for _, x := range m.Selectors {
		selectors.rows = append(selectors.rows, []string{"{" + x.Name + "}", yes(x.Service), x.Means})
	}
	switch format {
	case "text":
		return m.text(w, width)
	case "markdown":
		b := bufio.NewWriter(w)
		if err := all.markdown(b); err != nil {
			return err
		}
		if len(selectors.rows) > 0 {
			b.WriteString("\n")
			if err := selectors.markdown(b); err != nil {
				return err
			}
		}
		return b.Flush()
	}
	return all.write(w, format, width)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// text writes the metrics in groups: those of durations with their selectors, those of services, and those of all together.
func (m metrics) text(w io.Writer, width int) error {
	b := bufio.NewWriter(w)
	begun := false
	group := func(title string, l listing) error {
		if len(l.rows) == 0 {
			return nil
		}
		if begun {
			b.WriteString("\n")
		}
		begun = true
		for _, line := range wrap(title, width) {
			b.WriteString(line + "\n")
		}
		return l.text(b, "  ", width)
	}
	var (
		durations, selectors = listing{heads: []string{"", "", ""}}, listing{heads: []string{"", ""}}
		ofService, ofAll     = listing{heads: []string{"", "", ""}}, listing{heads: []string{"", "", ""}}
		outcomes             []string
	)
	for _, x := range m.Metrics {
		row := []string{x.Name, x.Example[strings.IndexAny(x.Example, "<>="):], x.Means}
		switch name, is := strings.CutPrefix(x.Name, "outcome("); {
		case is:
			outcomes = append(outcomes, strings.TrimSuffix(name, ")"))
		case x.Selects:
			durations.rows = append(durations.rows, row)
		case x.Service:
			ofService.rows = append(ofService.rows, row)
		default:
			ofAll.rows = append(ofAll.rows, row)
		}
	}
	if outcomes != nil {
		ofService.rows = append(ofService.rows, []string{"outcome(NAME)", "<=0", "requests that failed so: " + wording.Or(outcomes)})
	}
	for i, x := range m.Selectors {
		text := x.Means
		if i == 0 && x.Name == "latency" {
			text += "; needs not be written"
		}
		if !x.Service {
			text += "; not of one service"
		}
		selectors.rows = append(selectors.rows, []string{"{" + x.Name + "}", text})
	}
	for _, g := range []struct {
		title string
		listing
	}{
		{"Figures of durations, of latency unless a selector follows: p(99)<50ms, p(99){wait}<10ms", durations},
		{"Selectors, which go with a service as in p(99){wait,service=api}<10ms", selectors},
		{"Figures that may be of one service, as in throughput{service=api}>900/s", ofService},
		{"Figures of all services together", ofAll},
	} {
		if err := group(g.title, g.listing); err != nil {
			return err
		}
	}
	return b.Flush()
}

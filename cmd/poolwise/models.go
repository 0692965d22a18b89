package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"poolwise/pool/models"
	"poolwise/sim/wording"
)

func newModels() *cobra.Command {
	var to destination
	cmd := &cobra.Command{
		Use:   "models [NAME]",
		Short: "List the pool models, or one with its options and states",
		Long: `List the pool models; with NAME, say what that one models, in which version, its options with their
defaults, and the states of a connection with what leads from one to the next.`,
		Example: `  poolwise models
  poolwise models semaphore
  poolwise models --format json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("want at most one NAME, have %d: %q", len(args), args)
			}
			return nil
		},
		ValidArgsFunction: completeModel,
	}
	format := addFormat(cmd, &to)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := to.check(); err != nil {
			return err
		}
		write := allModels
		if len(args) == 1 {
			m, ok := models.Named(args[0])
			if !ok {
				return unknownModel(args[0])
			}
			write = func(w io.Writer, format string, width int) error { return oneModel(w, describe(m), format, width) }
		}
		return to.write(cmd.OutOrStdout(), func(w io.Writer) error { return write(w, format.value, to.columns(w)) })
	}
	return cmd
}

// model is what is said of a pool model.
type model struct {
	Name    string   `json:"name"`
	Models  string   `json:"models"` // what is modelled, with its version
	About   string   `json:"about"`
	Options []option `json:"options"`
	States  []edge   `json:"states"`
}

// edge leads from one state of a connection to another.
type edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	When string `json:"when"`
}

func describe(m models.Model) model {
	d := model{Name: m.Name, Models: m.Models, About: m.About, Options: optionsOf(m.Defaults()), States: []edge{}}
	for _, s := range m.States {
		states, when, _ := strings.Cut(s, ": ")
		from, to, _ := strings.Cut(states, " -> ")
		d.States = append(d.States, edge{from, to, when})
	}
	return d
}

func modelNames() []string {
	var names []string
	for _, m := range models.Table {
		names = append(names, m.Name)
	}
	return names
}

func unknownModel(name string) error {
	if best := wording.Near(name, modelNames()); best != nil {
		return fmt.Errorf("there is no model %q, did you mean %s?", name, wording.Or(best))
	}
	return fmt.Errorf("there is no model %q; want %s", name, wording.Or(modelNames()))
}

func allModels(w io.Writer, format string, width int) error {
	l := listing{heads: []string{"name", "models"}}
	var all []model
	for _, m := range models.Table {
		l.rows = append(l.rows, []string{m.Name, m.Models})
		all = append(all, describe(m))
	}
	l.json = all
	return l.write(w, format, width)
}

func oneModel(w io.Writer, m model, format string, width int) error {
	options := listing{heads: []string{"option", "type", "default", "meaning"}, json: m}
	for _, o := range m.Options {
		options.rows = append(options.rows, []string{o.Name, o.Type, o.Default, o.Doc})
	}
	states := listing{heads: []string{"from", "to", "when"}}
	for _, e := range m.States {
		states.rows = append(states.rows, []string{e.From, e.To, e.When})
	}
	switch format {
	case "markdown":
		b := bufio.NewWriter(w)
		fmt.Fprintf(b, "## %s\n\n%s\n\n%s\n", inMarkdown.Replace(m.Name), inMarkdown.Replace(sentence(m.Models)), inMarkdown.Replace(m.About))
		if len(options.rows) > 0 {
			b.WriteString("\n### Options\n\n")
			if err := options.markdown(b); err != nil {
				return err
			}
		}
		b.WriteString("\n### States of a connection\n\n")
		if err := states.markdown(b); err != nil {
			return err
		}
		return b.Flush()
	case "text":
		b := bufio.NewWriter(w)
		paragraph := func(s string) {
			for _, line := range wrap(s, width) {
				b.WriteString(line + "\n")
			}
		}
		paragraph(m.Name + ": " + m.Models)
		paragraph(m.About)
		b.WriteString("\nOptions\n")
		if len(options.rows) == 0 {
			b.WriteString("  none\n")
		}
		if err := options.text(b, "  ", width); err != nil {
			return err
		}
		b.WriteString("\nStates of a connection\n")
		for i, e := range m.States {
			states.rows[i] = []string{e.From, "-> " + e.To, e.When}
		}
		if err := states.text(b, "  ", width); err != nil {
			return err
		}
		return b.Flush()
	}
	return options.write(w, format, width)
}

// sentence makes a sentence of a phrase.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

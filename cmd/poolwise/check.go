package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

func newCheck() *cobra.Command {
	var (
		to   destination
		o    overrides
		base string // file of the baseline
	)
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Check scenario files without running them",
		Long: `Check scenario files without running them. Every mistake of every file is listed, on stdout, with its
place; a FILE may also be a built-in scenario, or - for standard input. With --check, --set and --baseline
the command line of a run can be checked, too.

Exit status: 0 there is no mistake, though there may be warnings; 1 there is one, or a file cannot be
read.`,
		Example: `  poolwise check *.yaml
  poolwise check burst.yaml --set pool.max=0
  poolwise check burst.yaml --check 'p(99)<=baseline*1.05' --baseline main.json
  poolwise check --format json burst.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("want at least one FILE: a scenario file, the name of a built-in scenario, or - for standard input")
			}
			return nil
		},
		ValidArgsFunction: completeFile,
	}
	cmd.Flags().SortFlags = false
	o.addOver(cmd)
	o.addOnly(cmd, true)
	o.addSet(cmd)
	o.flags = cmd.Flags()
	o.addCheck(cmd)
	o.flags.StringVar(&base, "baseline", "", "`FILE`: check that this saved result has the settings of the scenario; default none")
	format := addFormat(cmd, &to)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := joined([]error{to.check(), o.checkSweep()}); err != nil {
			return err
		}
		var baseline *record.Result
		if base != "" && base != noBaseline {
			var err error
			if baseline, err = readSaved(base); err != nil {
				return err
			}
		}
		var all []checked
		wrong := false
		for _, file := range args {
			c := checkFile(&o, file, baseline, cmd.InOrStdin())
			wrong = wrong || !c.OK
			all = append(all, c)
		}
		err := to.write(cmd.OutOrStdout(), func(w io.Writer) error {
			if format.value == "text" {
				return writeChecked(w, all)
			}
			l := checkedListing(all)
			return l.write(w, format.value, to.columns(w))
		})
		if err == nil && wrong {
			return failed
		}
		return err
	}
	return cmd
}

// checked is what came of checking a file.
type checked struct {
	File         string    `json:"file"`
	OK           bool      `json:"ok"`
	Name         string    `json:"name,omitempty"`
	Cells        int       `json:"cells,omitempty"`
	Replications int       `json:"replications,omitempty"` // of each cell; the most, if they differ
	Mistakes     []mistake `json:"mistakes"`
	Warnings     []string  `json:"warnings,omitempty"` // what is probably a mistake, though it can be meant
}

// mistake is one mistake in a file. Line and column count from 1; they are 0 if it came in with a flag, or if the file cannot
// be read.
type mistake struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"` // in bytes
	Flag    string `json:"flag,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`

	text string // all of it
}

// checkFile checks one file.
func checkFile(o *overrides, file string, baseline *record.Result, stdin io.Reader) checked {
	c := checked{File: file, Mistakes: []mistake{}}
	src, err := readSource(file, stdin)
	if err != nil {
		c.Mistakes = append(c.Mistakes, mistake{Message: err.Error(), text: err.Error()})
		return c
	}
	base, cells, err := o.load(src)
	var mistakes scenarios.Errors
	switch {
	case errors.As(err, &mistakes):
		for _, e := range mistakes {
			c.Mistakes = append(c.Mistakes, mistake{e.Line, e.Col, e.From, e.Field, e.Msg, e.Error()})
		}
		return c
	case err != nil:
		c.Mistakes = append(c.Mistakes, mistake{Message: err.Error(), text: err.Error()})
		return c
	}
	if baseline != nil {
		res := (&side{job: job{base, cells}}).settings()
		if none := notInBaseline(res, baseline); none != "" {
			e := scenarios.Error{From: "--baseline", Msg: "it has no cell with " + none}
			c.Mistakes = append(c.Mistakes, mistake{Flag: e.From, Message: e.Msg, text: e.Error()})
			return c
		}
	}
	c.OK, c.Name, c.Cells = true, base.Name, len(cells)
	for _, cell := range cells {
		for _, text := range cell.Scenario.Warnings() {
			if !slices.Contains(c.Warnings, text) {
				c.Warnings = append(c.Warnings, text)
			}
		}
		c.Replications = max(c.Replications, cell.Scenario.Replications)
	}
	return c
}

// writeChecked writes a line for each file that is well, and one for each mistake in the others.
func writeChecked(w io.Writer, all []checked) error {
	for _, c := range all {
		if c.OK {
			if _, err := fmt.Fprintf(w, "%s: ok: %s x %s\n", c.File, count(c.Cells, "cell"), count(c.Replications, "replication")); err != nil {
				return err
			}
		}
		for _, text := range c.Warnings {
			if _, err := fmt.Fprintf(w, "%s: warning: %s\n", c.File, text); err != nil {
				return err
			}
		}
		for _, m := range c.Mistakes {
			if _, err := fmt.Fprintln(w, m.text); err != nil {
				return err
			}
		}
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// checkedListing has a row for each mistake, and one for each file without any.
func checkedListing(all []checked) listing {
	l := listing{heads: []string{"file", "line", "column", "flag", "path", "message"}, json: all}
	for _, c := range all {
		if c.OK {
			l.rows = append(l.rows, []string{c.File, "", "", "", "", "ok"})
		}
		for _, text := range c.Warnings {
			l.rows = append(l.rows, []string{c.File, "", "", "", "", "warning: " + text})
		}
		for _, m := range c.Mistakes {
			l.rows = append(l.rows, []string{c.File, place(m.Line), place(m.Column), m.Flag, m.Path, m.Message})
		}
	}
	return l
}

func place(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

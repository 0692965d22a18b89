package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// overrides are what the command line changes in a scenario.
type overrides struct {
	flags        *pflag.FlagSet // that have seed and replications, or nil
	set          []string
	over         []string
	only         []string
	fixed        bool // what only chooses becomes part of the scenario
	noSweep      bool
	seed         uint64
	replications int
	checks       []string
}

// addSet adds --set.
func (o *overrides) addSet(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.set, "set", nil, "`PATH=VALUE`: override a value of the scenario, as in pool.max=16 or server.connect=20ms; null leaves a key out; several values are a sweep, which takes --over; may be repeated")
	must(cmd.RegisterFlagCompletionFunc("set", completePath))
}

// addOver adds --over.
func (o *overrides) addOver(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.over, "over", nil, "`PATH=VALUE,...`: run at these settings in place of the scenario's sweep, as in pool.max=2,4,8 or 1..40 or 2..64:2; several make a grid")
	must(cmd.RegisterFlagCompletionFunc("over", completePath))
}

// addOnly adds --only and, where it makes sense, --no-sweep.
func (o *overrides) addOnly(cmd *cobra.Command, noSweep bool) {
	cmd.Flags().StringArrayVar(&o.only, "only", nil, "`AXIS=VALUE,...`: of the scenario's sweep, only these settings, as in variant=shared or pool.max=8,16; with one, --set changes what it sets; may be repeated")
	must(cmd.RegisterFlagCompletionFunc("only", completeOnly))
	if noSweep {
		cmd.Flags().BoolVar(&o.noSweep, "no-sweep", false, "the scenario without its sweep, as with --set sweep=null; default off")
	}
}

// checkSweep reports flags about the sweep that do not go together.
func (o *overrides) checkSweep() error {
	switch {
	case o.noSweep && len(o.only) > 0:
		return usagef("want --only or --no-sweep, not both: --only chooses settings of the sweep")
	case o.noSweep && len(o.over) > 0:
		return usagef("--no-sweep is of no use with --over, which is in the place of the scenario's sweep")
	}
	return nil
}

// addRest adds what only a run takes.
func (o *overrides) addRest(cmd *cobra.Command) {
	o.addSeed(cmd)
	o.flags.IntVar(&o.replications, "replications", 0, "`N`: runs of each setting, under the seeds seed, seed+1, ...; default those of the scenario, or else 1")
	o.addCheck(cmd)
}

// addSeed adds --seed.
func (o *overrides) addSeed(cmd *cobra.Command) {
	o.flags = cmd.Flags()
	o.flags.Uint64Var(&o.seed, "seed", 0, "`N`: seed of all randomness; default that of the scenario, or else 1")
}

// addCheck adds --check.
func (o *overrides) addCheck(cmd *cobra.Command) {
	o.flags.StringArrayVar(&o.checks, "check", nil, "`EXPR`: expect this too, as in 'p(99)<200ms' (poolwise metrics lists what can be named), besides the scenario's own checks; 'warn:p(99)<200ms' only warns; may be repeated")
	must(cmd.RegisterFlagCompletionFunc("check", completeCheck))
}

// load reads a scenario with the overrides. Its error has every mistake, those of the further checks included.
func (o *overrides) load(src source) (*scenarios.Scenario, []scenarios.Cell, error) {
	set := slices.Clone(o.set)
	var short []string // flags that set a value of the same name
	for _, name := range []string{"seed", "replications"} {
		if o.flags != nil && o.flags.Changed(name) {
			set = append(set, name+"="+o.flags.Lookup(name).Value.String())
			short = append(short, name)
		}
	}
	var over []string
	if len(o.over) > 0 {
		over = o.over
	}
	base, cells, err := scenarios.Load(src.name, src.text, scenarios.Options{
		Set: set, Only: o.only, Fixed: o.fixed, NoSweep: o.noSweep, Over: over, Open: src.open,
	})
	var mistakes scenarios.Errors
	if err != nil && !errors.As(err, &mistakes) {
		return nil, nil, err
	}
	for _, e := range mistakes {
		for _, name := range short {
			if e.From == "--set "+name {
				e.From, e.Field = "--"+name, ""
			}
		}
	}
	if mistakes = append(mistakes, o.addChecks(base, cells)...); mistakes != nil {
		return nil, nil, mistakes
	}
	return base, cells, nil
}

// addChecks adds the further checks to a scenario and its cells. There is none if it has mistakes itself.
func (o *overrides) addChecks(base *scenarios.Scenario, cells []scenarios.Cell) scenarios.Errors {
	if len(o.checks) == 0 {
		return nil
	}
	added, mistakes := o.parseChecks()
	if base == nil {
		return mistakes
	}
	probe := *base
	probe.Checks = added
	probe.Validate(func(path, msg string) {
		var i int
		if n, _ := fmt.Sscanf(path, "checks[%d]", &i); n == 1 {
			mistakes = append(mistakes, &scenarios.Error{From: "--check " + added[i].Expr, Msg: msg})
		}
	})
	// The base may be one of the cells.
	base.Checks = append(slices.Clip(base.Checks), added...)
	for _, c := range cells {
		if c.Scenario != base {
			c.Scenario.Checks = append(slices.Clip(c.Scenario.Checks), added...)
		}
	}
	return mistakes
}

// parseChecks reads the further checks: an expression, or a level, a colon and an expression.
func (o *overrides) parseChecks() (all []scenarios.Check, mistakes scenarios.Errors) {
	for _, text := range o.checks {
		k := scenarios.Check{Expr: text}
		if level, expr, ok := strings.Cut(text, ":"); ok && k.Level.UnmarshalText([]byte(level)) == nil {
			k.Expr = expr
		}
		var at *record.CheckError
		if _, err := record.ParseCheck(k.Expr); errors.As(err, &at) {
			column := len(text) - len(k.Expr) + at.Offset + 1
			mistakes = append(mistakes, &scenarios.Error{From: "--check " + text, Msg: fmt.Sprintf("column %d: %s", column, at.Msg)})
			continue
		}
		all = append(all, k)
	}
	return all, mistakes
}

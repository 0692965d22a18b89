package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"poolwise/reports"
	"poolwise/reports/chart"
	"poolwise/scenarios"
	"poolwise/sim/record"
)

// runFiles are the files that a run writes.
type runFiles struct {
	outputs
	reports *reportFiles
	trace   *output
	sink    *record.Trace
	hgrm    []string // a name for each cell
	drawn   int      // plots
}

// begin begins the files, or at least makes sure that it can be done, so that nothing runs in vain. Its error has all that cannot be.
func (f *runFiles) begin(o *runOptions, cells []scenarios.Cell) error {
	var errs []error
	if o.plots != "" {
		errs = append(errs, f.folder(o.plots))
	}
	var err error
	f.reports, err = o.begin(&f.outputs)
	errs = append(errs, err)
	if o.trace != "" {
		f.trace, err = f.create(o.trace)
		errs = append(errs, err)
	}
	if o.hgrm != "" {
		f.hgrm = cellFiles(o.hgrm, cells)
		errs = append(errs, f.try(f.hgrm[0]))
	}
	return joined(errs)
}

// joined returns errors as one, nil for none, that each takes apart again.
func joined(errs []error) error {
	var all []error
	for _, err := range errs {
		if err != nil {
			all = append(all, each(err)...)
		}
	}
	return errors.Join(all...)
}

// traceSink returns what begins the trace, nil if there is to be none.
func (f *runFiles) traceSink(o *runOptions) func(pools []string) record.Sink {
	if f.trace == nil {
		return nil
	}
	return func(pools []string) record.Sink {
		f.sink = record.NewTrace(f.trace, o.traceFormat.value == "jsonl", pools)
		return f.sink
	}
}

// endTrace ends the trace.
func (f *runFiles) endTrace(o *runOptions) error {
	if f.sink == nil {
		return nil
	}
	return at(o.trace, f.sink.Close())
}

// drawer draws the plots in a format.
type drawer func(format string) ([]chart.Named, error)

// complete writes the files and puts them in their places.
func (f *runFiles) complete(ctx context.Context, o *runOptions, res *record.Result, report reportWriter, draw drawer) error {
	if err := f.reports.write(report); err != nil {
		return err
	}
	for i, name := range f.hgrm {
		if err := f.write(name, func(w io.Writer) error { return reports.HGRM(w, &res.Cells[i]) }); err != nil {
			return err
		}
	}
	if o.plots != "" {
		if err := f.plots(ctx, o, draw); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return f.commit()
}

// errInterrupted is an interruption after the run itself.
var errInterrupted = errors.New("interrupted: all replications were finished; nothing was written")

// plots draws what there is to draw. It may take a second, but nobody who interrupts it has to wait for that.
func (f *runFiles) plots(ctx context.Context, o *runOptions, draw drawer) error {
	type drawn struct {
		charts []chart.Named
		err    error
	}
	ready := make(chan drawn, 1)
	go func() {
		charts, err := draw(o.plotFormat.value)
		ready <- drawn{charts, err}
	}()
	var d drawn
	select {
	case <-ctx.Done():
		return errInterrupted
	case d = <-ready:
	}
	for _, c := range d.charts {
		if err := f.write(filepath.Join(o.plots, c.Name), func(w io.Writer) error { return writeAll(w, c.Bytes) }); err != nil {
			return err
		}
	}
	f.drawn = len(d.charts)
	return d.err
}

// cellFiles returns a name for each cell: path itself if there is one, or else path with the settings before its extension.
func cellFiles(path string, cells []scenarios.Cell) []string {
	if len(cells) == 1 {
		return []string{path}
	}
	ext := filepath.Ext(path)
	var names []string
	for i, c := range cells {
		label := strings.Map(inFileName, c.Settings.String())
		name := strings.TrimSuffix(path, ext) + "-" + label + ext
		if len(label) > 100 || slices.Contains(names, name) {
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), i+1, ext)
		}
		names = append(names, name)
	}
	return names
}

// inFileName replaces what is not fit for the name of a file on every system, as the names of plots do.
func inFileName(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._", r) {
		return r
	}
	return '-'
}

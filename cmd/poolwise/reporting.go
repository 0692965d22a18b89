package main

import (
	"cmp"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"poolwise/reports"
	"poolwise/sim/wording"
)

// formats are those of the reports on results and on comparisons.
var formats = []string{"text", "json", "csv", "markdown", "junit", "github"}

// reporting are the flags that say which reports are written, and where to. The first one goes to standard output or to a file,
// whole or not at all; further ones do so, too; and a short one is added to what a file has.
type reporting struct {
	destination
	format   *choice
	csv      *choice // its columns, of a result
	rows     *choice // of csv
	also     []string
	further  []furtherReport // what also says
	summary  string
	noColour bool
}

// furtherReport is one beside the first.
type furtherReport struct{ format, file string }

// reportWriter writes a report in a format: one of formats, or summary.
type reportWriter func(w io.Writer, format string) error

// addReports adds the flags; schema names that of json.
func (r *reporting) addReports(cmd *cobra.Command, schema string) {
	f := cmd.Flags()
	r.format = choose(cmd, "format", "`FORMAT`: format of the report: text, json (schema "+schema+", times in ns), csv, markdown, junit (the checks as JUnit XML) or github (the checks that have not passed as annotations of GitHub Actions)", formats...)
	r.destination.add(f)
	f.StringArrayVar(&r.also, "also", nil, "`FORMAT=FILE`: write this report, too, as in junit=checks.xml; github=- prints annotations after the report; may be repeated")
	f.StringVar(&r.summary, "summary", "", "`FILE`: add a short report in Markdown to the end of this file, such as \"$GITHUB_STEP_SUMMARY\"; default none")
}

// addLayout adds the flags that say what text looks like.
func (r *reporting) addLayout(f *pflag.FlagSet) {
	f.BoolVar(&r.noColour, "no-colour", false, "no colours in text, as with NO_COLOR in the environment; default off: colours on a terminal")
	r.addWidth(f)
}

// check reports a mistake in the flags.
func (r *reporting) check() error {
	var all []error
	for _, text := range r.also {
		format, file, ok := strings.Cut(text, "=")
		if !ok || file == "" || !slices.Contains(formats, format) {
			meant := ""
			if ok && !slices.Contains(formats, format) {
				meant = r.format.meant(format)
			}
			all = append(all, usagef("--also: want FORMAT=FILE, as in junit=checks.xml, with %s, have %q%s", wording.Or(formats), text, meant))
			continue
		}
		r.further = append(r.further, furtherReport{format, file})
	}
	return joined(append(all, r.destination.check()))
}

// begin begins the files of the reports. Its error has all that cannot be.
func (r *reporting) begin(o *outputs) (*reportFiles, error) {
	files := &reportFiles{}
	var errs []error
	for _, report := range append([]furtherReport{{r.format.value, r.file}}, r.further...) {
		if isStdout(report.file) {
			continue
		}
		out, err := o.create(report.file)
		files.all = append(files.all, reportFile{out, report.format})
		errs = append(errs, err)
	}
	if r.summary != "" {
		errs = append(errs, o.try(r.summary))
	}
	return files, joined(errs)
}

// reportFiles are the files of reports that are being written.
type reportFiles struct{ all []reportFile }

type reportFile struct {
	*output
	format string
}

// write completes them.
func (f *reportFiles) write(report reportWriter) error {
	for _, file := range f.all {
		if err := file.write(func(w io.Writer) error { return report(w, file.format) }); err != nil {
			return err
		}
	}
	return nil
}

// print writes the reports that go to standard output.
func (r *reporting) print(stdout io.Writer, report reportWriter) error {
	if isStdout(r.file) {
		if err := report(stdout, r.format.value); err != nil {
			return err
		}
	}
	for _, also := range r.further {
		if isStdout(also.file) {
			if err := report(stdout, also.format); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendSummary adds the short report to its file.
func (r *reporting) appendSummary(report reportWriter) error {
	if r.summary == "" {
		return nil
	}
	file, err := os.OpenFile(r.summary, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return at(r.summary, err)
	}
	return at(r.summary, cmp.Or(report(file, "summary"), file.Close()))
}

// writes reports whether a report in a format is among those asked for.
func (r *reporting) writes(format string) bool {
	return r.format.value == format || slices.ContainsFunc(r.further, func(f furtherReport) bool { return f.format == format })
}

// seen reports whether those who watch are shown a report for people.
func (r *reporting) seen() bool {
	people := func(format string) bool { return format == "text" || format == "markdown" }
	if isStdout(r.file) && people(r.format.value) {
		return true
	}
	return slices.ContainsFunc(r.further, func(f furtherReport) bool { return isStdout(f.file) && people(f.format) })
}

// layout returns that of text.
func (r *reporting) layout(w io.Writer) reports.Options {
	colour := !r.noColour && isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return reports.Options{Width: r.columns(w), Colour: colour}
}

package scenarios

import (
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"strings"

	"poolwise/sim/record"
)

// Options say how a scenario file is read.
type Options struct {
	// Set overrides values, one after the other: PATH=VALUE, such as pool.max=16, workload.request[1].query=5ms or
	// services.api.instances=3. A value is written as in the file; null is as if the key were not there.
	Set []string
	// Only chooses settings of the file's sweep: AXIS=VALUE,VALUE..., such as pool.max=8,16 or variant=shared. What is set where a
	// single one is chosen is set after it.
	Only []string
	// Fixed makes what Only chooses, a single setting of each axis, part of the scenario.
	Fixed bool
	// NoSweep leaves the sweep of the file out.
	NoSweep bool
	// Over replaces the sweep of the file, but for the axes of Only, an axis each: PATH=VALUE,VALUE..., such as pool.max=2,4,8. Counts may
	// be ranges: 1..40, or 2..64:2 in steps of 2.
	Over []string
	// Open opens the files that the scenario names, whose names count from its own folder; nil if there are none to be had. The
	// Open of an fs.FS will do.
	Open func(name string) (fs.File, error)
}

// Cell is a scenario at one point of its sweep.
type Cell struct {
	Settings record.Settings
	Scenario *Scenario // complete, without a sweep
}

// Decode reads a scenario file, whose name is for messages. The error is Errors: every mistake there is, those of all points of
// the sweep included.
func Decode(file string, src []byte, o Options) (*Scenario, error) {
	s, _, err := Load(file, src, o)
	return s, err
}

// Expand reads a scenario file and returns the cells of its sweep, in order, the first axis slowest; one cell without settings
// if there is no sweep. The error is as that of Decode.
func Expand(file string, src []byte, o Options) ([]Cell, error) {
	_, cells, err := Load(file, src, o)
	return cells, err
}

// Load does what Decode and Expand do.
func Load(file string, src []byte, o Options) (*Scenario, []Cell, error) {
	l := loader{file: file, files: newFiles(o.Open)}
	s, cells := l.load(src, o)
	l.sweepMeant(o.Set)
	if err := l.errs.err(); err != nil {
		return nil, nil, err
	}
	return s, cells, nil
}

// loader reads one file.
type loader struct {
	file  string
	files *files
	errs  Errors
}

func (l *loader) bad(at place, field, format string, args ...any) {
	l.errs = append(l.errs, at.error(l.file, field, fmt.Sprintf(format, args...)))
}

func (l *loader) load(src []byte, o Options) (*Scenario, []Cell) {
	root, errs := parse(l.file, src, place{})
	l.errs = append(l.errs, errs...)
	switch {
	case root == nil && errs != nil:
		return nil, nil
	case root == nil || root.kind == null:
		l.bad(place{line: 1, col: 1}, "", "there is no scenario in it: want keys such as name, until, server, pool and workload")
		return nil, nil
	case root.kind != mapping:
		l.bad(root.place, "", "want a mapping with keys such as name, until, server, pool and workload, have %s", root.have())
		return nil, nil
	}
	root, set := l.override(root, o.Set)
	sweep := root.get("sweep")
	if o.NoSweep {
		sweep = nil
	}
	root = root.without("sweep")
	for i := range set {
		set[i].to = root.resolve(set[i].steps)
	}
	only := l.only(sweep, o.Only, len(o.Set))
	if o.Over != nil {
		sweep = only.kept(sweep).and(l.over(o.Over, len(o.Set)+len(o.Only)))
	}
	var axes []axis
	if sweep != nil {
		axes = l.axes(root, sweep, set, only)
	}
	if o.Fixed {
		root, axes = l.fix(root, axes)
	}
	base, errs := l.decode(root)
	l.errs = append(l.errs, errs...)
	if sweep == nil {
		return base, []Cell{{Settings: record.Settings{}, Scenario: base}}
	}
	base.Sweep = plain(axes)
	return base, l.expand(root, sweep, axes, errs)
}

// override applies overrides and returns the tree that they make and the paths that they set.
func (l *loader) override(root *node, sets []string) (*node, []setting) {
	var all []setting
	for i, text := range sets {
		path, value, ok := strings.Cut(text, "=")
		path = strings.TrimSpace(path)
		at := place{from: "--set " + short(path), order: i + 1}
		if !ok || path == "" {
			l.bad(at, "", "want PATH=VALUE, such as pool.max=16")
			continue
		}
		to, err := steps(path)
		if err == nil {
			err = root.noSetting(to, path, value)
		}
		if err == nil {
			err = root.astray(path, to)
		}
		if err != nil {
			l.bad(at, "", "%v", err)
			continue
		}
		v := l.value(value, at)
		if v == nil {
			continue
		}
		changed, err := root.set(to, v, at)
		if err != nil {
			l.bad(at, "", "%v", err)
			continue
		}
		root = changed
		all = append(all, setting{at, path, to, nil, v})
	}
	return root, all
}

// noSetting says that an override of an axis, or of a part of the sweep, is none.
func (n *node) noSetting(to []step, path, value string) error {
	axis, below := strings.CutPrefix(path, "sweep.")
	switch {
	case n.get("sweep").get(axis) == nil || !below && isKey(axis):
	case isKey(axis):
		return fmt.Errorf("%s is swept: --only %[2]s chooses of its values, and --set %[2]s is in their place", axis, quoted(axis+"="+value))
	default:
		return fmt.Errorf("%s is an axis of the sweep, of whose settings --only chooses: --only %s", axis, quoted(axis+"="+value))
	}
	switch {
	case to[0].name == "sweep" && len(to) > 1:
		return fmt.Errorf("want the whole sweep, such as sweep={pool.max: [2, 4]}, or --over")
	}
	return nil
}

// severalValues is a list of numbers, words or durations, or a range.
var severalValues = regexp.MustCompile(`^\s*\[?\s*([\w.]+(\s*,\s*[\w.]+)+|\d+\.\.\d+(:\d+)?)\s*\]?\s*$`)

// sweepMeant says, where one value was wanted and there are several, how to have a sweep of them.
func (l *loader) sweepMeant(sets []string) {
	for _, e := range l.errs {
		if e.order < 1 || e.order > len(sets) || !strings.HasPrefix(e.Msg, "want ") || !strings.HasPrefix(e.From, "--set ") {
			continue
		}
		path, value, _ := strings.Cut(sets[e.order-1], "=")
		if m := severalValues.FindStringSubmatch(value); m != nil && strings.TrimSpace(path) != "sweep" {
			e.Msg += "; a sweep over several is poolwise sweep with --over " + short(strings.TrimSpace(path)+"="+strings.ReplaceAll(m[1], " ", ""))
		}
	}
}

// value reads the value of an override, nil after a mistake.
func (l *loader) value(text string, at place) *node {
	v, errs := parse(l.file, []byte(text), at)
	l.errs = append(l.errs, errs...)
	if v == nil && errs == nil {
		l.bad(at, "", "want a value after =: null for none, as if the key were not there, or \"\" for an empty text")
	}
	if errs != nil {
		return nil
	}
	return v
}

// numbers is a list of numbers in brackets, which is no value that anything takes.
var numbers = regexp.MustCompile(`^\s*\[[\d\s,.:-]*\]\s*$`)

// over reads the axes of a sweep given as PATH=VALUE,VALUE...; sets is how many overrides came before.
func (l *loader) over(axes []string, sets int) *node {
	sweep := &node{kind: mapping, place: place{from: "--over", order: sets + 1}}
	for i, text := range axes {
		path, values, ok := strings.Cut(text, "=")
		path = strings.TrimSpace(path)
		at := place{from: "--over " + short(path), order: sets + i + 1}
		if !ok || path == "" {
			l.bad(at, "", "want PATH=VALUE,VALUE..., such as pool.max=2,4,8")
			continue
		}
		if sweep.get(path) != nil {
			l.bad(at, "", "this path is there twice")
			continue
		}
		if numbers.MatchString(values) {
			l.bad(at, "", "want the values without brackets: %s=%s", short(path), short(strings.Trim(values, "[] ")))
			continue
		}
		values, err := ranges(values)
		if err != nil {
			l.bad(at, "", "%v", err)
			continue
		}
		if v := l.value("["+values+"]", at); v != nil {
			sweep.keys = append(sweep.keys, entry{at, path, v})
		}
	}
	return sweep.measured()
}

// decode decodes and validates a tree.
func (l *loader) decode(root *node) (*Scenario, Errors) {
	d := &decoder{file: l.file, files: l.files}
	s := &Scenario{}
	d.fresh(root, reflect.ValueOf(s).Elem(), "")
	if s.Estimate == Steady && root.get("warmup") == nil {
		s.Warmup = Warmup{Auto: true}
	}
	s.instancesOfOwners(root.get("services"))
	known := d.consequences()
	s.Validate(func(path, message string) {
		if !known.has(path, message) {
			d.errs = append(d.errs, root.find(path).error(l.file, path, message))
		}
	})
	if d.errs == nil {
		s.withoutNothing(root)
	}
	return s, d.errs
}

// instancesOfOwners gives services that use the pools of another as many instances as that one has, where the list of services says
// nothing of it.
func (s *Scenario) instancesOfOwners(services *node) {
	if services == nil || services.kind != list {
		return
	}
	for i := range min(len(s.Services), len(services.items)) {
		v, n := &s.Services[i], services.items[i]
		if owner := s.service(v.PoolOf); v.PoolOf != "" && owner != nil && n.kind == mapping && n.get("instances") == nil {
			v.Instances = owner.Instances
		}
	}
}

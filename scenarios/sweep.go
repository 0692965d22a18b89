package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"poolwise/sim/record"
	"poolwise/sim/wording"
)

// The limits of a sweep.
const (
	maxCells = 10000
	maxWork  = 5_000_000 // values of all cells together
)

// Sweep is the axes of a grid, the slowest first.
type Sweep []Axis

// Axis is one dimension of a sweep. Its name is the path of the value that it sets; that of an axis whose points set several
// values is free.
type Axis struct {
	Name   string
	Points []Point
}

// Point is one setting of an axis.
type Point struct {
	Label string          // what reports call it: the value itself if it is only one
	Set   record.Settings // paths and values, as they would be written
}

// axis is an Axis with its trees.
type axis struct {
	entry
	points []point
	chosen bool // of more
}

type point struct {
	place
	label string
	set   []setting
}

type setting struct {
	place
	path  string
	steps []step
	to    []step // the same, in the one spelling
	value *node
}

// fixed are the keys that cannot be swept: they are about all cells together.
var fixed = map[string]bool{"name": true, "about": true, "source": true, "sweep": true, "checks": true}

// axes reads a sweep of the tree root. An axis of the file whose path was overridden is dropped: the override is what counts.
func (l *loader) axes(root, n *node, overrides []setting, only choices) []axis {
	if n.kind != mapping {
		l.bad(n.place, "sweep", "want a mapping of paths to lists of values, such as {pool.max: [2, 4, 8]}, have %s", n.have())
		return nil
	}
	var all []axis
	for _, e := range n.keys {
		at := join("sweep", e.name)
		values, err := e.value.ranged()
		if err != nil {
			l.bad(e.value.place, at, "%v", err)
			continue
		}
		e.value = values
		a := axis{entry: e}
		switch v := e.value; {
		case v.kind == list:
			for _, value := range v.items {
				if s, ok := l.setting(root, e.place, at, e.name, value); ok {
					a.points = append(a.points, point{value.place, value.String(), []setting{s}})
				}
			}
		case v.kind == mapping && isKey(e.name):
			l.bad(v.place, at, "want a list of values, such as [a, b], have a mapping; labelled settings need a name that is no path")
			continue
		case v.kind == mapping:
			for _, p := range v.keys {
				a.points = append(a.points, l.point(root, join(at, p.name), p))
			}
		default:
			l.bad(v.place, at, "want a list of values, a range such as 1..8, or a mapping of labels to settings, have %s", v.have())
			continue
		}
		if len(e.value.items)+len(e.value.keys) == 0 {
			l.bad(e.value.place, at, "want at least one value")
		}
		seen := map[string]bool{}
		for _, p := range a.points {
			if seen[p.label] {
				l.bad(p.place, at, "%s is there twice", p.label)
			}
			seen[p.label] = true
		}
		l.narrow(&a, only)
		if !l.undo(all, a, at) && !l.overridden(&a, at, overrides) {
			all = append(all, a)
		}
	}
	return all
}

// isKey reports whether a name of an axis can only be meant as a path.
func isKey(name string) bool {
	return strings.ContainsAny(name, ".[") || fieldsOf(reflect.TypeFor[Scenario]()).named(name) != nil
}

// point reads a labelled point.
func (l *loader) point(root *node, at string, p entry) point {
	pt := point{place: p.place, label: p.name}
	if p.value.kind != mapping {
		l.bad(p.value.place, at, "want a mapping of paths to values, such as {pool.max: 4}, have %s", p.value.have())
		return pt
	}
	for _, e := range p.value.keys {
		s, ok := l.setting(root, e.place, at, e.name, e.value)
		if !ok {
			continue
		}
		if t := undone(pt.set, s); t != nil {
			l.bad(s.place, at, "%s sets what %s has set; leave one of the two out", s.path, t.path)
			continue
		}
		pt.set = append(pt.set, s)
	}
	return pt
}

func (l *loader) setting(root *node, key place, at, path string, value *node) (setting, bool) {
	to, err := steps(path)
	if err == nil && fixed[to[0].name] {
		err = fmt.Errorf("%s cannot be swept", to[0].name)
	}
	if err == nil {
		err = root.astray(path, to)
	}
	if err != nil {
		l.bad(key, at, "%v", err)
		return setting{}, false
	}
	return setting{key, path, to, root.resolve(to), value}, true
}

// undone returns the first of the settings that is without effect once s is set, nil for none.
func undone(all []setting, s setting) *setting {
	for i := range all {
		if leads(s.to, all[i].to) {
			return &all[i]
		}
	}
	return nil
}

// undo reports an axis that sets what an axis before it has set.
func (l *loader) undo(before []axis, a axis, at string) bool {
	for _, b := range before {
		if b.chosen && len(b.points) == 1 && a.from != "" { // as with --set, what the command line says comes after it
			continue
		}
		for _, p := range b.points {
			for _, q := range a.points {
				for _, s := range q.set {
					if t := undone(p.set, s); t != nil {
						l.bad(s.place, at, "it sets what %s sets too%s; leave one of the two out", b.name, spelled(s, t))
						return true
					}
				}
			}
		}
	}
	return false
}

// spelled says that two paths lead to one place, if they do not look like it.
func spelled(s setting, t *setting) string {
	if slices.Equal(s.to, t.to) && s.path != t.path {
		return ": " + s.path + " and " + t.path + " are one"
	}
	return ""
}

// overridden reports whether an override sets just what an axis of the file sweeps, however it is spelled. An override of a part
// of it is a mistake, as is one of what --over sweeps: one of the two would be without effect. If one setting of the axis was chosen,
// the override is set after it.
func (l *loader) overridden(a *axis, at string, overrides []setting) bool {
	for _, o := range overrides {
		after := false
		for _, p := range a.points {
			for _, s := range p.set {
				switch whole := slices.Equal(s.to, o.to) && s.path == a.name; {
				case !leads(s.to, o.to) && !leads(o.to, s.to):
				case a.from != "":
					l.bad(o.place, "", "%s sets it too; leave one of the two out", strings.TrimSpace(a.from))
					return false
				case whole && a.chosen:
					l.bad(o.place, "", "--only %s sets it too; leave one of the two out", a.name)
					return false
				case whole:
					return true
				case a.chosen && len(a.points) == 1:
					after = true
				default:
					l.bad(o.place, "", "%s sets %s too: choose one of its settings, as in --only %s, or leave the sweep out with --no-sweep",
						at, s.path, quoted(a.name+"="+p.label))
					return false
				}
			}
		}
		if after {
			a.points[0].set = append(a.points[0].set, o)
		}
	}
	return false
}

func plain(axes []axis) Sweep {
	var all Sweep
	for _, a := range axes {
		x := Axis{Name: a.name}
		for _, p := range a.points {
			y := Point{Label: p.label, Set: record.Settings{}}
			for _, s := range p.set {
				y.Set = append(y.Set, record.Setting{Key: s.path, Value: s.value.String()})
			}
			x.Points = append(x.Points, y)
		}
		all = append(all, x)
	}
	return all
}

// expand decodes every point of the grid. Mistakes that the file has without its sweep are known and not repeated.
func (l *loader) expand(root, sweep *node, axes []axis, known Errors) []Cell {
	if len(l.errs) > len(known) { // axes with mistakes
		return nil
	}
	total := 1
	for _, a := range axes {
		total *= len(a.points)
		if total > maxCells {
			l.bad(sweep.place, "sweep", "it has more than %d cells; want fewer", maxCells)
			return nil
		}
	}
	if total*root.size > maxWork {
		l.bad(sweep.place, "sweep", "%d cells of %d values each are too many; want fewer cells or a shorter file", total, root.size)
		return nil
	}
	x := expansion{loader: l, places: map[place]bool{}, seen: map[Error]bool{}}
	for _, e := range known {
		x.seen[essence(e)] = true
	}
	x.placesOf(sweep)
	x.cells(root, axes, record.Settings{})
	return x.done
}

// expansion makes the cells of a sweep.
type expansion struct {
	*loader
	places map[place]bool // of all that stands in the sweep
	seen   map[Error]bool // mistakes reported already
	done   []Cell
}

// essence is what makes a mistake another one.
func essence(e *Error) Error {
	return Error{Line: e.Line, Col: e.Col, From: e.From, Msg: e.Msg}
}

func (x *expansion) placesOf(n *node) {
	x.places[n.place] = true
	for _, i := range n.items {
		x.placesOf(i)
	}
	for _, e := range n.keys {
		x.places[e.place] = true
		x.placesOf(e.value)
	}
}

func (x *expansion) cells(root *node, axes []axis, settings record.Settings) {
	if len(axes) == 0 {
		x.cell(root, settings)
		return
	}
	a := axes[0]
next:
	for _, p := range a.points {
		changed := root
		for _, s := range p.set {
			var err error
			if changed, err = changed.set(s.steps, s.value, s.place); err != nil {
				x.report(s.place.error(x.file, s.path, err.Error()), settings)
				continue next
			}
		}
		x.cells(changed, axes[1:], append(settings[:len(settings):len(settings)], record.Setting{Key: a.name, Value: p.label}))
	}
}

func (x *expansion) cell(root *node, settings record.Settings) {
	s, errs := x.decode(root)
	for _, e := range errs {
		x.report(e, settings)
	}
	x.done = append(x.done, Cell{Settings: settings, Scenario: s})
}

// report notes a mistake of a cell once. It says which cell it is unless the mistake stands in the sweep.
func (x *expansion) report(e *Error, settings record.Settings) {
	key := essence(e)
	if x.seen[key] {
		return
	}
	x.seen[key] = true
	if at := (place{e.Line, e.Col, e.From, e.order}); !x.places[at] && len(settings) > 0 {
		var with []string
		for _, s := range settings {
			with = append(with, s.Key+" = "+s.Value)
		}
		e.Msg += " (with " + wording.And(with) + ")"
	}
	x.errs = append(x.errs, e)
}

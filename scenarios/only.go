package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"poolwise/sim/wording"
)

// choices say which settings of a sweep to run: each names an axis and some of its values.
type choices []choice

type choice struct {
	place
	axis   string
	values string
}

// only reads choices among the settings of a sweep, nil if there is none; sets is how many overrides came before.
func (l *loader) only(sweep *node, texts []string, sets int) choices {
	var all choices
	for i, text := range texts {
		name, values, ok := strings.Cut(text, "=")
		if sweep != nil {
			for _, e := range sweep.keys { // whose names may have = in them
				if rest, is := strings.CutPrefix(text, e.name+"="); is && len(e.name) >= len(name) {
					name, values = e.name, rest
				}
			}
		}
		name = strings.TrimSpace(name)
		at := place{from: "--only " + short(name), order: sets + i + 1}
		switch {
		case sweep == nil:
			l.bad(at, "", "the scenario has no sweep to choose from")
		case !ok && sweep.get(name) == nil:
			l.bad(at, "", "want AXIS=VALUE,VALUE... of the sweep, which has %s", sweep.axisNames())
		case !ok:
			l.bad(at, "", "want a value of it, as in --only %s", sweep.example(name))
		case sweep.kind == mapping && sweep.get(name) == nil:
			l.bad(at, "", "the sweep has no axis of this name; it has %s", sweep.axisNames())
		default:
			all = append(all, choice{at, name, values})
		}
	}
	return all
}

func (n *node) axisNames() string {
	var names []string
	for _, e := range n.keys {
		names = append(names, e.name)
	}
	return few(names)
}

// example is a choice of an axis: the first of its settings.
func (n *node) example(name string) string {
	switch v := n.get(name); {
	case v.kind == list && len(v.items) > 0:
		return quoted(name + "=" + v.items[0].String())
	case v.kind == mapping && len(v.keys) > 0:
		return quoted(name + "=" + v.keys[0].name)
	}
	return quoted(name + "=VALUE")
}

// of returns the choices among the settings of an axis.
func (all choices) of(axis string) choices {
	var some choices
	for _, c := range all {
		if c.axis == axis {
			some = append(some, c)
		}
	}
	return some
}

// kept returns a sweep without the axes of which nothing was chosen, nil for none.
func (all choices) kept(sweep *node) *node {
	for _, e := range sweep.entries() {
		if all.of(e.name) == nil {
			sweep = sweep.without(e.name)
		}
	}
	return sweep
}

// and returns a sweep with further axes, which vary faster.
func (n *node) and(further *node) *node {
	c := *further
	c.keys = append(slices.Clip(n.entries()), further.keys...)
	return c.measured()
}

func (n *node) entries() []entry {
	if n == nil {
		return nil
	}
	return n.keys
}

// narrow leaves those settings of an axis that were chosen.
func (l *loader) narrow(a *axis, only choices) {
	only = only.of(a.name)
	if only == nil || len(a.points) == 0 {
		return
	}
	var labels []string
	for _, p := range a.points {
		labels = append(labels, p.label)
	}
	var picked []string
	for _, c := range only {
		some, err := pick(c.values, labels)
		if err != nil {
			l.bad(c.place, "", "%v", err)
		}
		picked = append(picked, some...)
	}
	a.points = slices.DeleteFunc(a.points, func(p point) bool { return !slices.Contains(picked, p.label) })
	a.chosen = true
}

// pick takes apart a list of labels, which may have commas in them, and ranges.
func pick(values string, labels []string) (picked []string, err error) {
	rest := strings.TrimSpace(values)
	if rest == "" {
		return nil, fmt.Errorf("want a value: %s", labelsOr(labels))
	}
	for rest != "" {
		best, after := "", ""
		for _, label := range labels {
			tail, ok := strings.CutPrefix(rest, label)
			if !ok {
				tail, ok = strings.CutPrefix(rest, unquoted(label))
			}
			tail = strings.TrimSpace(tail)
			if ok && len(label) > len(best) && (tail == "" || tail[0] == ',') {
				best, after = label, strings.TrimPrefix(tail, ",")
			}
		}
		if best != "" {
			picked, rest = append(picked, best), strings.TrimSpace(after)
			continue
		}
		part, after, _ := strings.Cut(rest, ",")
		inRange, err := within(part, labels)
		switch {
		case err != nil:
			return nil, err
		case inRange != nil:
			picked, rest = append(picked, inRange...), strings.TrimSpace(after)
			continue
		}
		if meant, ok := wording.Nearest(rest, labels); ok && strings.ContainsFunc(rest, unicode.IsLetter) {
			return nil, fmt.Errorf("there is no %s, did you mean %s?", quoted(short(rest)), quoted(meant))
		}
		return nil, fmt.Errorf("there is no %s; want %s", short(strings.TrimSpace(part)), labelsOr(labels))
	}
	return picked, nil
}

// within returns the labels in a range, nil if it is no range or there are none.
func within(part string, labels []string) ([]string, error) {
	all, err := ranges(part)
	if err != nil || all == part {
		return nil, err
	}
	numbers := strings.Split(all, ",")
	var some []string
	for _, label := range labels {
		if slices.Contains(numbers, label) {
			some = append(some, label)
		}
	}
	return some, nil
}

func labelsOr(labels []string) string {
	var all []string
	for _, l := range labels {
		all = append(all, quoted(short(l)))
	}
	return fewOr(all)
}

func unquoted(label string) string {
	if s, err := strconv.Unquote(label); err == nil {
		return s
	}
	return label
}

// quoted returns a word of a command line, in quotes if a shell would take it apart.
func quoted(word string) string {
	if strings.ContainsAny(word, " \t'\"`$&|;<>()[]{}*?!\\#~,") || word == "" {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// fix sets what was chosen, one setting of each axis, and returns the axes that are left.
func (l *loader) fix(root *node, axes []axis) (*node, []axis) {
	var left []axis
	for _, a := range axes {
		switch {
		case !a.chosen:
			left = append(left, a)
			continue
		case len(a.points) != 1:
			if len(a.points) > 1 {
				l.bad(place{from: "--only " + short(a.name)}, "", "want one setting of it here, have %d", len(a.points))
			}
			continue
		}
		for _, s := range a.points[0].set {
			changed, err := root.set(s.steps, s.value, s.place)
			if err != nil {
				l.bad(s.place, s.path, "%v", err)
				continue
			}
			root = changed
		}
	}
	return root, left
}

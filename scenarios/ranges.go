package scenarios

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// rangeLike is a range as others write it.
var rangeLike = regexp.MustCompile(`^\s*(\d+)\s*(?:-|:|\.\.\.|to)\s*(\d+)\s*$`)

var rangeForm = regexp.MustCompile(`^\s*(\d+)\.\.(\d+)(?::(\d+))?\s*$`)

// ranges writes out the ranges among the values of an axis: 1..4 is 1,2,3,4 and 2..10:4 is 2,6,10.
func ranges(values string) (string, error) {
	var all []string
	for part := range strings.SplitSeq(values, ",") {
		if m := rangeLike.FindStringSubmatch(part); m != nil {
			return "", fmt.Errorf("%s is no range; want %s..%s", strings.TrimSpace(short(part)), m[1], m[2])
		}
		m := rangeForm.FindStringSubmatch(part)
		if m == nil {
			all = append(all, part)
			continue
		}
		first, err1 := strconv.Atoi(m[1])
		last, err2 := strconv.Atoi(m[2])
		step, err3 := 1, error(nil)
		if m[3] != "" {
			step, err3 = strconv.Atoi(m[3])
		}
		switch {
		case err1 != nil || err2 != nil || err3 != nil || step < 1 || last < first:
			return "", fmt.Errorf("%s is no range, such as 1..40 or 2..64:2", strings.TrimSpace(short(part)))
		case (last-first)/step >= maxCells:
			return "", fmt.Errorf("%s has more than %d values", strings.TrimSpace(short(part)), maxCells)
		}
		for i := range (last-first)/step + 1 { // first + i*step does not overflow, the next one may
			all = append(all, strconv.Itoa(first+i*step))
		}
	}
	return strings.Join(all, ","), nil
}

// asRange returns the text of a value that is a range, or that is meant as one. In braces and brackets the parser takes 2..64:2
// for a mapping of 2..64 to 2.
func (n *node) asRange() (string, bool) {
	text := n.text
	if n.kind == mapping && len(n.keys) == 1 && n.keys[0].value.kind == scalar {
		text = n.keys[0].name + ":" + n.keys[0].value.text
	} else if n.kind != scalar {
		return "", false
	}
	return text, rangeForm.MatchString(text) || rangeLike.MatchString(text)
}

// ranged writes out the ranges among the values of an axis in a file: those of a list, or one alone.
func (n *node) ranged() (*node, error) {
	items := n.items
	if _, ok := n.asRange(); ok {
		items = []*node{n}
	} else if n.kind != list {
		return n, nil
	}
	l := &node{place: n.place, kind: list}
	for _, item := range items {
		text, ok := item.asRange()
		if !ok {
			l.items = append(l.items, item)
			continue
		}
		all, err := ranges(text)
		if err != nil {
			return nil, err
		}
		for text := range strings.SplitSeq(all, ",") {
			l.items = append(l.items, (&node{place: item.place, kind: scalar, text: text}).measured())
		}
	}
	return l.measured(), nil
}

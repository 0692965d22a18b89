package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"poolwise/sim/wording"
)

// step is one part of a path: a key, the name of an item of a list, or the number of an item.
type step struct {
	name  string
	index int // if name is empty
}

// steps splits a path such as services.api.workload.request[1].query.
func steps(path string) ([]step, error) {
	var all []step
	for part := range strings.SplitSeq(path, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name == "" && (len(all) == 0 || rest == "") {
			return nil, fmt.Errorf("%q is no path, such as pool.max or workload.request[1].query", short(path))
		}
		if name != "" {
			all = append(all, step{name: name})
		}
		for rest != "" {
			number, after, ok := strings.Cut(rest, "]")
			i, err := strconv.Atoi(number)
			if !ok || err != nil || i < 0 || after != "" && after[0] != '[' {
				return nil, fmt.Errorf("%q is no path, such as pool.max or workload.request[1].query", short(path))
			}
			all = append(all, step{index: i})
			rest = strings.TrimPrefix(after, "[")
		}
	}
	if len(all) > maxDepth {
		return nil, fmt.Errorf("%q is too long a path", short(path))
	}
	return all, nil
}

// set returns the tree root with the value at path replaced. Mappings are made where there are none, also in the place of a
// scalar, which is the short form of a mapping; keys that were not there are at the place at. A null that is written out unsets a
// key. Nothing is changed in place: what the two trees have in common they share.
func (n *node) set(path []step, value *node, at place) (*node, error) {
	if len(path) == 0 {
		if value.kind == null && value.text != "" {
			c := *value
			c.unset = true
			return &c, nil
		}
		return value, nil
	}
	s := path[0]
	if n != nil && n.kind == list {
		i, err := n.item(s)
		if err != nil {
			return nil, err
		}
		item, err := n.items[i].set(path[1:], value, at)
		if err != nil {
			return nil, err
		}
		c := *n
		c.items = slices.Clone(n.items)
		c.items[i] = item
		return c.measured(), nil
	}
	if s.name == "" {
		return nil, fmt.Errorf("there is no list to take item [%d] of", s.index)
	}
	c := &node{place: at, kind: mapping}
	if n != nil && n.kind == mapping {
		*c = *n
	}
	old := n.get(s.name)
	if s.name == "pool" && len(path) > 1 && path[1].name != "model" && old != nil && old.kind == scalar { // only its model
		old = (&node{place: old.place, kind: mapping, keys: []entry{{old.place, "model", old}}}).measured()
	}
	v, err := old.set(path[1:], value, at)
	if err != nil {
		return nil, err
	}
	c.keys = slices.Clone(c.keys)
	if i := slices.IndexFunc(c.keys, func(e entry) bool { return e.name == s.name }); i >= 0 {
		c.keys[i].value = v
	} else {
		c.keys = append(c.keys, entry{at, s.name, v})
	}
	return c.measured(), nil
}

// item returns the index of the item of a list that a step leads to.
func (n *node) item(s step) (int, error) {
	if s.name == "" {
		if s.index >= len(n.items) {
			return 0, fmt.Errorf("there is no item [%d]; the list has %d", s.index, len(n.items))
		}
		return s.index, nil
	}
	var names []string
	for i, item := range n.items {
		for _, key := range []string{"name", "id"} {
			if v := item.get(key); v != nil && v.kind == scalar {
				if v.text == s.name {
					return i, nil
				}
				names = append(names, v.text)
			}
		}
	}
	switch {
	case len(n.items) == 0:
		return 0, fmt.Errorf("there is no item %q; the list is empty", s.name)
	case len(names) == 0:
		return 0, fmt.Errorf("the list has no item called %q; its items are [0] to [%d]", s.name, len(n.items)-1)
	}
	return 0, fmt.Errorf("the list has no item called %q; it has %s", s.name, wording.And(names))
}

// astray says that a path of the one pool or workload was meant to be that of a service's, in a scenario with services.
func (n *node) astray(path string, to []step) error {
	services := n.get("services")
	if first := to[0].name; first != "pool" && first != "workload" || n.get(first) != nil || services == nil || services.kind != list || len(services.items) == 0 {
		return nil
	}
	var all []string
	for i, item := range services.items {
		name := item.get("name")
		if item.get(to[0].name) == nil { // it uses that of another
			continue
		}
		if name == nil || name.kind != scalar || strings.ContainsAny(name.text, ".[]= ") {
			all = append(all, fmt.Sprintf("services[%d].%s", i, path))
		} else {
			all = append(all, "services."+name.text+"."+path)
		}
	}
	if all == nil {
		return nil
	}
	return fmt.Errorf("the %s are those of services here; want %s", map[string]string{"pool": "pools", "workload": "workloads"}[to[0].name], fewOr(all))
}

// fewOr lists alternatives, but not hundreds.
func fewOr(all []string) string {
	if most := 6; len(all) > most {
		return strings.Join(all[:most-2], ", ") + " ... or " + all[len(all)-1]
	}
	return wording.Or(all)
}

// resolve returns path in one spelling, whichever of several led here: items of lists by their number.
func (n *node) resolve(path []step) []step {
	all := slices.Clone(path)
	for i, s := range path {
		switch {
		case n != nil && n.kind == list:
			at, err := n.item(s)
			if err != nil {
				return all
			}
			all[i] = step{index: at}
			n = n.items[at]
		case s.name == "":
			return all
		default:
			n = n.get(s.name) // nil for what is not there
		}
	}
	return all
}

// leads reports whether a path leads to what another is the path of, or to what that lies in.
func leads(path, other []step) bool {
	return len(path) <= len(other) && slices.Equal(path, other[:len(path)])
}

// find returns the place of the value at path, or else that of the key nearest around it.
func (n *node) find(path string) place {
	all, err := steps(path)
	if err != nil {
		return n.place
	}
	at := n.place // of the key of n, once there is one
	for _, s := range all {
		switch {
		case n.kind == mapping && s.name != "":
			i := slices.IndexFunc(n.keys, func(e entry) bool { return e.name == s.name })
			if i < 0 {
				return at
			}
			n, at = n.keys[i].value, n.keys[i].place
		case n.kind == list && s.name == "" && s.index < len(n.items):
			n = n.items[s.index]
			at = n.place
		case n.kind == scalar: // the short form of what is missing
			return n.place
		default:
			return at
		}
	}
	return n.place
}

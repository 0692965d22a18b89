package scenarios

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"poolwise/sim/dist"
)

type kind uint8

const (
	null kind = iota
	scalar
	list
	mapping
	broken // a mistake in its place has been reported
)

// place is where a value was written: in the file, or in an override.
type place struct {
	line, col int
	from      string // "--set pool.max"; empty for the file
	order     int    // of the override, from 1
}

func (p place) error(file, field, msg string) *Error {
	return &Error{File: file, Line: p.line, Col: p.col, From: p.from, order: p.order, Field: field, Msg: msg}
}

// node is a value of the YAML tree. Nodes are shared, by aliases and by the cells of a sweep, and never changed once built.
type node struct {
	place
	kind   kind
	text   string // of a scalar, and of a null that was written
	unset  bool   // a null that was set: as if its key were not there
	quoted bool   // the scalar was in quotes or is a block: it is text, whatever it looks like
	items  []*node
	keys   []entry
	size   int // nodes, itself included; more than maxNodes is not counted
	depth  int // nodes from it to the innermost
}

type entry struct {
	place // of the key
	name  string
	value *node
}

// get returns the value of a key of a mapping, nil if there is none.
func (n *node) get(name string) *node {
	if n == nil || n.kind != mapping {
		return nil
	}
	for _, e := range n.keys {
		if e.name == name && !e.value.unset {
			return e.value
		}
	}
	return nil
}

// without returns a mapping without a key.
func (n *node) without(name string) *node {
	c := *n
	c.keys = nil
	for _, e := range n.keys {
		if e.name != name {
			c.keys = append(c.keys, e)
		}
	}
	return c.measured()
}

// measured returns n with its size and depth filled in.
func (n *node) measured() *node {
	n.size, n.depth = 1, 1
	add := func(c *node) {
		n.size = min(n.size+c.size, maxNodes+1)
		n.depth = max(n.depth, c.depth+1)
	}
	for _, i := range n.items {
		add(i)
	}
	for _, e := range n.keys {
		add(e.value)
	}
	return n
}

// have describes a value in an error message.
func (n *node) have() string {
	switch {
	case n.kind == null:
		return "nothing"
	case n.kind == list:
		return "a list"
	case n.kind == mapping:
		return "a mapping"
	case n.quoted || n.text == "" || strings.ContainsAny(n.text, "\n\t ,"):
		return strconv.Quote(short(n.text))
	}
	return short(n.text)
}

func (n *node) isDuration() bool {
	_, err := dist.ParseDuration(n.text)
	return n.kind == scalar && err == nil
}

func short(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-3]) + "..."
}

// String renders n on one line, as YAML.
func (n *node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	switch n.kind {
	case null:
		b.WriteString("null")
	case scalar:
		if n.quoted || strings.ContainsAny(n.text, "\n,[]{}#:\"'") {
			b.WriteString(strconv.Quote(n.text))
		} else {
			b.WriteString(n.text)
		}
	case list:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteString(", ")
			}
			item.write(b)
		}
		b.WriteByte(']')
	case mapping:
		b.WriteByte('{')
		for i, e := range n.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(e.name + ": ")
			e.value.write(b)
		}
		b.WriteByte('}')
	}
}

package scenarios

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"poolwise/sim/dist"
	"poolwise/sim/wording"
	"poolwise/workload"
)

// decoder walks a tree along the fields of Go types and notes every mistake. What a type takes is in its definition alone:
//
//   - a struct takes a mapping whose keys are the `yaml` tags of its fields; those of a field tagged `yaml:",inline"` count as its
//     own; a field tagged `yaml:"-"` takes none;
//   - a type with UnmarshalText takes a scalar, a struct in addition to its mapping;
//   - time.Duration takes a duration with its unit; numbers, bool and string take scalars, a slice takes a list;
//   - a pointer takes what it points to, and null or none, for nil, if the `doc` of its field says "none by default", "default none"
//     or "null for none";
//   - a type with decode does it all by itself.
//
// Defaults are what a type has before: a type with setDefaults gets them there, any other begins as its zero value.
type decoder struct {
	file   string
	files  *files
	errs   Errors
	failed []string // paths whose values are not known because of a mistake
	steps  []string // paths of lists of steps of which one is not known: what is acquired where, nobody can tell
}

type selfDecoder interface {
	decode(d *decoder, n *node, path string)
}

type defaulter interface{ setDefaults() }

// bad notes a mistake in the value at path.
func (d *decoder) bad(at place, path, format string, args ...any) {
	d.errs = append(d.errs, at.error(d.file, path, fmt.Sprintf(format, args...)))
	d.failed = append(d.failed, path)
}

// into decodes a node into v, which is settable; doc is that of its field.
func (d *decoder) into(n *node, v reflect.Value, path, doc string) {
	if n.kind == broken {
		d.failed = append(d.failed, path)
		return
	}
	if self, ok := v.Addr().Interface().(selfDecoder); ok {
		self.decode(d, n, path)
		return
	}
	if v.Kind() == reflect.Pointer {
		if isNone(n) && allowsNone(doc) {
			v.SetZero()
			return
		}
		v.Set(reflect.New(v.Type().Elem())) // never what a default points to
		d.fresh(n, v.Elem(), path)
		return
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok && n.kind == scalar {
		switch err := t.UnmarshalText([]byte(n.text)); {
		case err != nil:
			d.bad(n.place, path, "%s", clip(err.Error()+stepMeant(v.Type(), n.text)))
		case v.CanFloat() && n.quoted && decimal.MatchString(n.text):
			d.bad(n.place, path, "want a number, have the text %q; leave out the quotes", short(n.text))
		}
		return
	}
	known := len(d.failed)
	switch k := v.Kind(); {
	case k == reflect.Struct && n.kind == mapping && len(n.keys) == 0 && isText(v.Type()):
		d.bad(n.place, path, "%s, have an empty mapping", want(v.Type()))
	case k == reflect.Struct && n.kind == mapping && len(fieldsOf(v.Type())) > 0:
		d.fields(n, v, path)
		d.read(n, v, path)
	case k == reflect.Slice && n.kind == list:
		s := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
		for i, item := range n.items {
			d.fresh(item, s.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
		v.Set(s)
		if _, ok := v.Interface().([]workload.Step); ok && len(d.failed) > known {
			d.steps = append(d.steps, path)
		}
	case n.kind == scalar && d.scalar(n, v, path):
	case v.Type() == reflect.TypeFor[workload.Acquire]() && n.isDuration():
		d.bad(n.place, path, "%s, have %s; did you mean {timeout: %s}?", want(v.Type()), n.have(), n.text)
	case v.Type() == reflect.TypeFor[workload.Arrivals]() && n.kind == scalar && takes(reflect.TypeFor[dist.Rate](), n.text):
		d.bad(n.place, path, "%s, have %s; did you mean {poisson: %s}?", want(v.Type()), n.have(), n.text)
	default:
		d.bad(n.place, path, "%s, have %s", want(v.Type()), n.have())
	}
}

// fresh decodes a node into a zero value, which gets its defaults first.
func (d *decoder) fresh(n *node, v reflect.Value, path string) {
	if def, ok := v.Addr().Interface().(defaulter); ok {
		def.setDefaults()
	}
	d.into(n, v, path, "")
}

// fields decodes the keys of a mapping into the fields of a struct; further keys are somebody else's.
func (d *decoder) fields(n *node, v reflect.Value, path string, further ...string) {
	all := fieldsOf(v.Type())
	for _, e := range n.keys {
		if slices.Contains(further, e.name) {
			continue
		}
		f := all.named(e.name)
		if f == nil {
			d.unknown(n, e, path, all, further)
			continue
		}
		if e.value.unset && !(f.typ.Kind() == reflect.Pointer && allowsNone(f.doc)) {
			continue // the default stays
		}
		d.into(e.value, v.FieldByIndex(f.index), join(path, e.name), f.doc)
	}
}

// otherName is the name that others have for a key, in its doc: (max_connections).
var otherName = regexp.MustCompile(`\(([a-z]+_[a-z_]+)\)`)

// unknown reports a key of n that is none of the fields and of further.
func (d *decoder) unknown(n *node, e entry, path string, all fieldList, further []string) {
	names := append(slices.Clone(further), all.names()...)
	meant, ok := synonym(e.name, names)
	if !ok {
		meant, ok = wording.Nearest(e.name, names)
	}
	for _, f := range all {
		if alias := otherName.FindStringSubmatch(f.doc); !ok && alias != nil {
			if _, ok = wording.Nearest(e.name, alias[1:]); ok {
				meant = f.name
			}
		}
	}
	if !ok {
		meant = e.name
	}
	if n.get(meant) == nil || !ok {
		d.failed = append(d.failed, join(path, meant))
	}
	hint := "; the keys here are " + wording.And(names)
	what := lacks(e.name)
	switch {
	case !ok && what != "" && slices.Contains(further, "model"):
		hint = "; this model has no " + what
	case ok:
		hint = ", did you mean " + meant + "?"
	case len(names) == 0:
		hint = "; there are no keys here"
	}
	d.errs = append(d.errs, e.place.error(d.file, path, fmt.Sprintf("unknown key %q%s", short(e.name), hint)))
}

// scalar decodes a scalar into a basic type and reports whether v is of one.
func (d *decoder) scalar(n *node, v reflect.Value, path string) bool {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		x, err := dist.ParseDuration(n.text)
		if err != nil {
			d.bad(n.place, path, "%s", clip(err.Error()))
		}
		v.SetInt(int64(x))
	case v.Kind() == reflect.String:
		v.SetString(n.text)
	case v.Kind() == reflect.Bool:
		if n.quoted || n.text != "true" && n.text != "false" {
			d.wrong(n, v, path)
		}
		v.SetBool(n.text == "true")
	case v.CanInt():
		x, err := strconv.ParseInt(n.text, 10, v.Type().Bits())
		d.number(n, v, path, err)
		v.SetInt(x)
	case v.CanUint():
		x, err := strconv.ParseUint(strings.TrimPrefix(n.text, "+"), 10, v.Type().Bits())
		d.number(n, v, path, err)
		v.SetUint(x)
	case v.CanFloat():
		x, err := strconv.ParseFloat(n.text, 64)
		d.number(n, v, path, err)
		v.SetFloat(x)
	default:
		return false
	}
	return true
}

// decimal is what numbers may look like: YAML's other notations, of infinities, octal numbers and the like, are not for scenarios.
var decimal = regexp.MustCompile(`^[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

// number reports a scalar that is no number, or none of v's type.
func (d *decoder) number(n *node, v reflect.Value, path string, err error) {
	switch {
	case !decimal.MatchString(n.text) || err != nil && !errors.Is(err, strconv.ErrRange):
		d.wrong(n, v, path)
	case n.quoted:
		d.bad(n.place, path, "%s, have the text %q; leave out the quotes", want(v.Type()), short(n.text))
	case err != nil:
		d.bad(n.place, path, "%s, have %s, which is out of range", want(v.Type()), n.have())
	}
}

// wrong reports a scalar that is not of v's type.
func (d *decoder) wrong(n *node, v reflect.Value, path string) {
	d.bad(n.place, path, "%s, have %s", want(v.Type()), n.have())
}

// want says what a type takes.
func want(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return want(t.Elem())
	}
	if u, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText(nil); err != nil { // which says what it takes
			what, _, _ := strings.Cut(err.Error(), ", have ")
			if t.Kind() == reflect.Struct && len(fieldsOf(t)) > 0 {
				what += ", or a mapping with " + wording.Or(fieldsOf(t).names())
			}
			return what
		}
	}
	switch k := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
		return "want a duration with its unit, such as 20ms or 1m30s"
	case k == reflect.Struct:
		return "want a mapping with " + wording.Or(fieldsOf(t).names())
	case k == reflect.Slice:
		return "want a list, such as [a, b]"
	case k == reflect.String:
		return "want a text"
	case k == reflect.Bool:
		return "want true or false"
	case k == reflect.Float64:
		return "want a number"
	case k == reflect.Int64 || k == reflect.Int:
		return "want a whole number"
	}
	if reflect.Zero(t).CanUint() {
		return fmt.Sprintf("want a whole number from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	}
	lim := int64(1) << (t.Bits() - 1)
	return fmt.Sprintf("want a whole number from %d to %d", -lim, lim-1)
}

// isNone reports whether a value is null or none.
func isNone(n *node) bool {
	return n.kind == null || n.kind == scalar && n.text == "none"
}

var noneWord = regexp.MustCompile(`\bnone by default\b|\bdefault none\b|\bfor none\b`)

// allowsNone reports whether a field with this doc can be set to none.
func allowsNone(doc string) bool { return noneWord.MatchString(doc) }

// clip shortens the quotation of a long text in an error of another package.
func clip(msg string) string {
	const most = 400
	if len(msg) <= most {
		return msg
	}
	return strings.ToValidUTF8(msg[:most], "") + "..."
}

// read fills in what a value takes from a file.
func (d *decoder) read(n *node, v reflect.Value, path string) {
	var err error
	switch x := v.Addr().Interface().(type) {
	case *workload.Trace:
		if x.File != "" {
			x.Times, err = d.files.trace(x.File)
		}
	case *dist.Empirical:
		if x.File != "" && len(x.Samples) == 0 {
			x.Samples, err = d.files.samples(x)
		}
	}
	if err != nil {
		at, key := n, "file"
		if v := n.get("file"); v != nil {
			at = v
		}
		var col *columnError
		if errors.As(err, &col) {
			if v := n.get("column"); v != nil {
				at, key = v, "column"
			}
		}
		d.bad(at.place, join(path, key), "%s", clip(err.Error()))
	}
}

// consequences tells which mistakes may merely follow from those of a decoder.
type consequences struct {
	failed map[string]bool     // paths whose values are not known
	leaves map[string][]string // the keys of those, by what they lie in
	steps  map[string]bool
}

func (d *decoder) consequences() consequences {
	c := consequences{map[string]bool{}, map[string][]string{}, map[string]bool{}}
	for _, f := range d.failed {
		parent, leaf := split(f)
		c.failed[f] = true
		c.leaves[parent] = append(c.leaves[parent], leaf)
	}
	for _, l := range d.steps {
		c.steps[l] = true
	}
	return c
}

// has reports whether a message about path may follow from a mistake that was reported already: in the value itself, around it,
// just below it, in a neighbour that the message speaks of, or in a step before.
func (c consequences) has(path, message string) bool {
	if len(c.leaves[path]) > 0 {
		return true
	}
	parent, _ := split(path)
	if slices.ContainsFunc(c.leaves[parent], func(leaf string) bool { return mentions(message, leaf) }) {
		return true
	}
	loans := aboutLoans.MatchString(message)
	for at := path; ; at, _ = split(at) {
		switch {
		case c.failed[at] || loans && c.steps[at]:
			return true
		case at == "":
			return false
		}
	}
}

// aboutLoans is what workload says of steps that acquire and return out of step.
var aboutLoans = regexp.MustCompile(`acquire without|without acquire|before any acquire|acquired outside|without begin|in a transaction|after a return`)

func mentions(message, name string) bool {
	ok, err := regexp.MatchString(`\b`+regexp.QuoteMeta(name)+`\b`, message)
	return ok && err == nil
}

// split returns the path of the value that path lies in, and its own key.
func split(path string) (parent, leaf string) {
	i := strings.LastIndexAny(path, ".[")
	if i < 0 {
		return "", path
	}
	return path[:i], strings.Trim(path[i:], ".[]")
}

// field is a key of a struct.
type field struct {
	name  string
	doc   string
	index []int
	typ   reflect.Type
}

type fieldList []field

// fieldsOf returns the keys that a struct takes, in order.
func fieldsOf(t reflect.Type) fieldList {
	var all fieldList
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			for _, g := range fieldsOf(f.Type) {
				g.index = append([]int{i}, g.index...)
				all = append(all, g)
			}
		case name != "-" && name != "":
			all = append(all, field{name, f.Tag.Get("doc"), []int{i}, f.Type})
		}
	}
	return all
}

func (l fieldList) named(name string) *field {
	for i := range l {
		if l[i].name == name {
			return &l[i]
		}
	}
	return nil
}

func (l fieldList) names() []string {
	var all []string
	for _, f := range l {
		all = append(all, f.name)
	}
	return all
}

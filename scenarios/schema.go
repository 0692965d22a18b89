package scenarios

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"strings"
	"time"

	"poolwise/pool/models"

	"github.com/invopop/jsonschema"
)

// Schema returns the JSON Schema (draft 2020-12) of scenario files. It is made from the types that the decoder fills, along the
// same rules, so that the two cannot disagree; what a type with a short form takes is asked of its UnmarshalText. What makes
// no sense although every value is of the right form, the schema cannot tell: Validate does.
func Schema() ([]byte, error) {
	b := schemaBuilder{defs: jsonschema.Definitions{}}
	root := b.object(reflect.TypeFor[Scenario]())
	root.Version = jsonschema.Version
	root.Title = "poolwise scenario"
	root.Required = []string{"until"}
	root.Definitions = b.defs
	text, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	for _, c := range []string{"<", ">", "&"} { // escaped for HTML, which this is not
		text = bytes.ReplaceAll(text, fmt.Appendf(nil, `\u%04x`, c[0]), []byte(c))
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// number is the form of a number that is not negative.
const number = `\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?`

// scalars are the forms of scalars that many values have, by name.
var scalars = map[string]*jsonschema.Schema{
	"duration":   {Type: "string", Pattern: `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`},
	"rate":       {Type: "string", Pattern: "^" + number + ` */ *(s|ms|us|m|min|h)$`},
	"percentage": {Type: "string", Pattern: "^" + number + ` *%$`},
	"share":      {Type: "number", Minimum: "0", Maximum: "1"},
	// YAML takes 12 and true for something else than text; the decoder does not.
	"text": {Extras: map[string]any{"type": []string{"string", "number", "boolean"}}},
}

// schemaBuilder makes schemas of types. Structs that can contain themselves are definitions.
type schemaBuilder struct{ defs jsonschema.Definitions }

// of returns the schema of what decoder.into takes for a type and the doc of its field.
func (b *schemaBuilder) of(t reflect.Type, doc string) *jsonschema.Schema {
	switch {
	case t == reflect.TypeFor[Pool]():
		return b.pool()
	case t == reflect.TypeFor[Sweep]():
		return sweepSchema()
	case t.Kind() == reflect.Pointer && allowsNone(doc):
		return anyOf(b.of(t.Elem(), doc), &jsonschema.Schema{Enum: []any{nil, "none"}})
	case t.Kind() == reflect.Pointer:
		return b.of(t.Elem(), doc)
	case t.Kind() == reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: b.of(t.Elem(), doc)}
	case t == reflect.TypeFor[time.Duration]():
		return b.scalar("duration")
	case t.Kind() == reflect.Struct && len(fieldsOf(t)) > 0:
		return b.ref(t)
	case isText(t):
		return anyOf(b.shortForms(t, doc)...)
	case t.Kind() == reflect.String:
		return b.scalar("text")
	}
	return basicSchema(t)
}

// ref returns a reference to the definition of a struct, which is made if need be.
func (b *schemaBuilder) ref(t reflect.Type) *jsonschema.Schema {
	name := t.String()
	if b.defs[name] == nil {
		b.defs[name] = &jsonschema.Schema{} // so that it can refer to itself
		object := b.object(t)
		if isText(t) {
			one := uint64(1)
			object.MinProperties = &one
			object = anyOf(append(b.shortForms(t, ""), object)...)
		}
		*b.defs[name] = *object
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

func (b *schemaBuilder) object(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for _, f := range fieldsOf(t) {
		p := *b.of(f.typ, f.doc)
		p.Description = f.doc
		s.Properties.Set(f.name, &p)
	}
	return s
}

// pool returns the schema of a pool: which keys there are depends on the model.
func (b *schemaBuilder) pool() *jsonschema.Schema {
	const name = "pool"
	if b.defs[name] == nil {
		var names []any
		for _, n := range modelNames() {
			names = append(names, n)
		}
		model := &jsonschema.Schema{Enum: names, Description: "the pool model"}
		s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: []string{"model"}}
		s.Properties.Set("model", model)
		for _, m := range models.Table {
			is := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
			is.Properties.Set("model", &jsonschema.Schema{Const: m.Name})
			options := b.object(reflect.TypeOf(m.Defaults()).Elem())
			options.Description = m.Models
			options.Properties.Set("model", jsonschema.TrueSchema)
			s.AllOf = append(s.AllOf, &jsonschema.Schema{If: is, Then: options})
		}
		b.defs[name] = anyOf(model, s)
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

// sweepSchema is that of a mapping of paths to lists, or of names to labelled settings.
func sweepSchema() *jsonschema.Schema {
	one := uint64(1)
	return &jsonschema.Schema{Type: "object", AdditionalProperties: anyOf(
		&jsonschema.Schema{Type: "array", MinItems: &one},
		&jsonschema.Schema{Type: "string", Pattern: `^[0-9]+\.\.[0-9]+(:[0-9]+)?$`},
		&jsonschema.Schema{Type: "object", MinProperties: &one, AdditionalProperties: &jsonschema.Schema{Type: "object"}},
	)}
}

// basicSchema is that of types without a short form.
func basicSchema(t reflect.Type) *jsonschema.Schema {
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Zero(t).CanInt():
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Zero(t).CanUint():
		return &jsonschema.Schema{Type: "integer", Minimum: "0"}
	case reflect.Zero(t).CanFloat():
		return &jsonschema.Schema{Type: "number"}
	case k == reflect.Struct:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.FalseSchema}
	}
	panic("scenarios: no schema for " + t.String())
}

func anyOf(all ...*jsonschema.Schema) *jsonschema.Schema {
	if len(all) == 1 {
		return all[0]
	}
	return &jsonschema.Schema{AnyOf: all}
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// takes reports whether a type takes a scalar.
func takes(t reflect.Type, text string) bool {
	return reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) == nil
}

// scalar returns a reference to one of scalars.
func (b *schemaBuilder) scalar(name string) *jsonschema.Schema {
	b.defs[name] = scalars[name]
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

// shortForms returns the scalars that a type with UnmarshalText takes, found by asking it.
func (b *schemaBuilder) shortForms(t reflect.Type, doc string) []*jsonschema.Schema {
	if takes(t, "whatever: it is") {
		return []*jsonschema.Schema{b.scalar("text")}
	}
	var all []*jsonschema.Schema
	if words := wordsOf(t, doc); len(words) > 0 {
		var enum []any
		for _, w := range words {
			enum = append(enum, w)
			if n := (&node{kind: scalar, text: w}).json(); n != any(w) { // unquoted, it is something else to YAML
				enum = append(enum, n)
			}
		}
		all = append(all, &jsonschema.Schema{Enum: enum})
	}
	for _, form := range []struct{ example, name string }{{"5ms", "duration"}, {"200/s", "rate"}, {"10%", "percentage"}, {"0.5", "share"}} {
		if takes(t, form.example) {
			all = append(all, b.scalar(form.name))
		}
	}
	return all
}

var candidate = regexp.MustCompile(`[a-z_][a-z_0-9]*`)

// wordsOf returns the words that a type takes: those of an enumeration, and of the words in its doc and the names of its fields
// those that it takes.
func wordsOf(t reflect.Type, doc string) []string {
	words := enumeration(t)
	try := candidate.FindAllString(doc, -1)
	if t.Kind() == reflect.Struct {
		for _, f := range fieldsOf(t) {
			try = append(try, f.name)
			for f.typ.Kind() == reflect.Pointer {
				f.typ = f.typ.Elem()
			}
			try = append(try, enumeration(f.typ)...)
		}
	}
	for _, w := range try {
		if !slices.Contains(words, w) && takes(t, w) {
			words = append(words, w)
		}
	}
	return words
}

// enumeration returns the words of an enumeration: a small number whose String and UnmarshalText are each other's inverse.
func enumeration(t reflect.Type) []string {
	if t.Kind() != reflect.Uint8 || !isText(t) {
		return nil
	}
	var words []string
	for i := range uint64(256) {
		v := reflect.New(t).Elem()
		v.SetUint(i)
		word, ok := wordOf(v)
		back := reflect.New(t)
		if ok && back.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(word)) == nil && back.Elem().Uint() == i {
			words = append(words, word)
		}
	}
	return words
}

// wordOf returns v.String(), which panics beyond the last word.
func wordOf(v reflect.Value) (word string, ok bool) {
	defer func() { ok = recover() == nil && ok }()
	s, ok := v.Interface().(interface{ String() string })
	if !ok {
		return "", false
	}
	return s.String(), true
}

// json returns a scalar as the value that other readers of YAML take it for.
func (n *node) json() any {
	switch {
	case n.kind == null:
		return nil
	case n.quoted:
		return n.text
	case n.text == "true" || n.text == "false":
		return n.text == "true"
	case decimal.MatchString(n.text):
		return json.Number(strings.TrimPrefix(n.text, "+"))
	}
	return n.text
}

package scenarios

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"poolwise/pool/models"

	"pgregory.net/rapid"
)

// object is a JSON object; a schema is one, or true or false.
type object = map[string]any

func readSchema(t interface{ Fatal(...any) }) object {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s object
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// validator checks values against the part of JSON Schema that Schema uses, and panics on anything else.
type validator struct{ defs object }

// mistake returns what is wrong with a value, empty if nothing is.
func (v validator) mistake(schema any, n *node, path string) string {
	if b, ok := schema.(bool); ok {
		if b {
			return ""
		}
		return path + ": not allowed"
	}
	s := schema.(object)
	for key, arg := range s {
		bad := ""
		switch key {
		case "$schema", "$defs", "title", "description", "then":
		case "$ref":
			bad = v.mistake(v.definition(arg), n, path)
		case "anyOf":
			for _, a := range arg.([]any) {
				if bad = v.mistake(a, n, path); bad == "" {
					break
				}
			}
		case "allOf":
			for _, a := range arg.([]any) {
				if bad == "" {
					bad = v.mistake(a, n, path)
				}
			}
		case "if":
			if v.mistake(arg, n, path) == "" {
				bad = v.mistake(s["then"], n, path)
			}
		case "type":
			if !hasType(arg, n) {
				bad = fmt.Sprintf("%s: want type %v", path, arg)
			}
		case "enum":
			if !slices.ContainsFunc(arg.([]any), func(a any) bool { return n.isJSON(a) }) {
				bad = fmt.Sprintf("%s: want one of %v", path, arg)
			}
		case "const":
			if !n.isJSON(arg) {
				bad = fmt.Sprintf("%s: want %v", path, arg)
			}
		case "pattern":
			if n.kind == scalar && !pattern(arg).MatchString(n.text) {
				bad = fmt.Sprintf("%s: %q does not match %v", path, n.text, arg)
			}
		case "minimum", "maximum":
			var x float64
			if _, err := fmt.Sscan(n.text, &x); err == nil && (key == "minimum" && x < arg.(float64) || key == "maximum" && x > arg.(float64)) {
				bad = fmt.Sprintf("%s: %v beyond %s %v", path, x, key, arg)
			}
		case "minItems":
			if n.kind == list && len(n.items) < int(arg.(float64)) {
				bad = path + ": too few items"
			}
		case "minProperties":
			if n.kind == mapping && len(n.keys) < int(arg.(float64)) {
				bad = path + ": too few keys"
			}
		case "items":
			for i, item := range n.items {
				if bad == "" {
					bad = v.mistake(arg, item, fmt.Sprintf("%s[%d]", path, i))
				}
			}
		case "required":
			for _, k := range arg.([]any) {
				if n.kind == mapping && n.get(k.(string)) == nil {
					bad = path + ": no " + k.(string)
				}
			}
		case "properties", "additionalProperties":
			if key == "additionalProperties" && s["properties"] != nil {
				continue // done with properties
			}
			props, _ := s["properties"].(object)
			for _, e := range n.keys {
				sub, ok := props[e.name]
				if !ok {
					if sub, ok = s["additionalProperties"]; !ok {
						sub = true
					}
				}
				if bad == "" {
					bad = v.mistake(sub, e.value, join(path, e.name))
				}
			}
		default:
			panic("unknown keyword " + key)
		}
		if bad != "" {
			return bad
		}
	}
	return ""
}

var patterns = map[any]*regexp.Regexp{}

func pattern(text any) *regexp.Regexp {
	if patterns[text] == nil {
		patterns[text] = regexp.MustCompile(text.(string))
	}
	return patterns[text]
}

func (v validator) definition(ref any) object {
	d, ok := v.defs[strings.TrimPrefix(ref.(string), "#/$defs/")].(object)
	if !ok {
		panic(fmt.Sprintf("no definition %v", ref))
	}
	return d
}

var integer = regexp.MustCompile(`^[-+]?[0-9]+$`)

func hasType(want any, n *node) bool {
	if all, ok := want.([]any); ok {
		return slices.ContainsFunc(all, func(w any) bool { return hasType(w, n) })
	}
	switch n.kind {
	case mapping:
		return want == "object"
	case list:
		return want == "array"
	case null:
		return want == "null"
	}
	switch x := n.json().(type) {
	case bool:
		return want == "boolean"
	case json.Number:
		return want == "number" || want == "integer" && integer.MatchString(x.String())
	}
	return want == "string"
}

// isJSON reports whether a scalar is the JSON value x.
func (n *node) isJSON(x any) bool {
	if n.kind != scalar && n.kind != null {
		return false
	}
	if f, ok := x.(float64); ok {
		return n.json() == any(json.Number(fmt.Sprint(f)))
	}
	return n.json() == x
}

func TestSchemaOfBuiltIn(t *testing.T) {
	s := readSchema(t)
	v := validator{s["$defs"].(object)}
	texts := map[string]string{"starter": Starter()}
	for _, name := range builtinNames() {
		src, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(src)
	}
	for name, text := range texts {
		root, errs := parse(name, []byte(text), place{})
		if errs != nil {
			t.Fatal(errs)
		}
		if bad := v.mistake(s, root, ""); bad != "" {
			t.Errorf("%s: %s", name, bad)
		}
	}
	for _, text := range []string{"until: drained\nseed: -1", "seed: 1", "until: 5", "until: 5s\nsever: {}", "until: 5s\npool: {max: 3}",
		"until: 5s\npool: {model: none, max: 3}", "until: 5s\nsweep: {seed: []}", "until: 5s\nworkload: {request: [aquire]}"} {
		root, _ := parse("", []byte(text), place{})
		if v.mistake(s, root, "") == "" {
			t.Errorf("the schema allows %q", text)
		}
	}
}

// keyDepth is how deep paths are followed: values can contain their like.
const keyDepth = 7

// schemaKeys lists every key that a schema allows, as paths.
func schemaKeys(v validator, schema any, path string, found map[string]bool) {
	s, ok := schema.(object)
	if !ok || strings.Count(path, ".") == keyDepth {
		return
	}
	if s["$ref"] != nil {
		schemaKeys(v, v.definition(s["$ref"]), path, found)
	}
	for _, key := range []string{"anyOf", "allOf"} {
		all, _ := s[key].([]any)
		for _, a := range all {
			schemaKeys(v, a, path, found)
		}
	}
	for _, key := range []string{"items", "then"} {
		schemaKeys(v, s[key], path, found)
	}
	props, _ := s["properties"].(object)
	for name, sub := range props {
		found[join(path, name)] = true
		schemaKeys(v, sub, join(path, name), found)
	}
}

// typeKeys lists every key that the Go types have, by their tags.
func typeKeys(t reflect.Type, path string, found map[string]bool) {
	if strings.Count(path, ".") == keyDepth {
		return
	}
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t != reflect.TypeFor[Sweep]():
		typeKeys(t.Elem(), path, found)
	case t == reflect.TypeFor[Pool]():
		found[join(path, "model")] = true
		for _, m := range models.Table {
			typeKeys(reflect.TypeOf(m.Defaults()).Elem(), path, found)
		}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			switch tag := f.Tag.Get("yaml"); tag {
			case "-":
			case ",inline":
				typeKeys(f.Type, path, found)
			case "":
				if isText(t) { // all of it is a scalar
					return
				}
				panic(fmt.Sprintf("%v.%s has no yaml tag", t, f.Name))
			default:
				if f.Tag.Get("doc") == "" {
					panic(fmt.Sprintf("%v.%s has no doc", t, f.Name))
				}
				found[join(path, tag)] = true
				typeKeys(f.Type, join(path, tag), found)
			}
		}
	}
}

// Every key of the types is in the schema, every key of the schema in the types, and the decoder knows it.
func TestSchemaKeys(t *testing.T) {
	s := readSchema(t)
	inSchema, inTypes := map[string]bool{}, map[string]bool{}
	schemaKeys(validator{s["$defs"].(object)}, s, "", inSchema)
	typeKeys(reflect.TypeFor[Scenario](), "", inTypes)
	if len(inTypes) < 200 {
		t.Fatalf("only %d keys found", len(inTypes))
	}
	for k := range inTypes {
		if !inSchema[k] {
			t.Errorf("%s is not in the schema", k)
		}
	}
	for k := range inSchema {
		if !inTypes[k] {
			t.Errorf("%s is in the schema alone", k)
		}
	}
}

// form generates values, mostly such as a schema allows.
type form struct {
	validator
	t *rapid.T
}

// junk is scalars of all forms. Numbers beyond 64 bits are not among them: the schema does not bound them.
var junk = []string{"", "x", "5ms", "1m30s", "10%", "200/s", "3", "0", "-1", "1.5", "true", "no", "null", "none", "1e3", "0x10", ".5", "+2",
	"010", "acquire", "drained", "1040", "false", "5 ms", "-0.5", "semaphore", "1e3/s", "1e1%"}

func (f form) value(schema any, depth int) *node {
	if f.chance(20) {
		return f.junk()
	}
	s, ok := schema.(object)
	if !ok {
		return f.junk()
	}
	n := &node{}
	switch {
	case s["$ref"] != nil:
		return f.value(f.definition(s["$ref"]), depth)
	case s["anyOf"] != nil:
		return f.value(rapid.SampledFrom(s["anyOf"].([]any)).Draw(f.t, "any"), depth)
	case s["enum"] != nil:
		switch x := rapid.SampledFrom(s["enum"].([]any)).Draw(f.t, "enum").(type) {
		case nil:
		case string:
			n.kind, n.text, n.quoted = scalar, x, f.chance(3)
		default:
			n.kind, n.text = scalar, fmt.Sprint(x)
		}
	case s["pattern"] != nil:
		var fit []string
		for _, j := range junk {
			if pattern(s["pattern"]).MatchString(j) {
				fit = append(fit, j)
			}
		}
		n.kind, n.text = scalar, rapid.SampledFrom(fit).Draw(f.t, "fit")
	case s["type"] == "object":
		n.kind = mapping
		props, _ := s["properties"].(object)
		all, _ := s["allOf"].([]any)
		if len(all) > 0 {
			then := rapid.SampledFrom(all).Draw(f.t, "model").(object)
			name := then["if"].(object)["properties"].(object)["model"].(object)["const"].(string)
			n.keys = append(n.keys, entry{name: "model", value: (&node{kind: scalar, text: name}).measured()})
			props = then["then"].(object)["properties"].(object)
		}
		names := []string{"unknown"}
		for name := range props {
			if name != "model" && name != "file" && name != "checks" && name != "sweep" { // those take more than a form
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for range rapid.IntRange(0, 3).Draw(f.t, "keys") {
			name := rapid.SampledFrom(names).Draw(f.t, "key")
			if n.get(name) == nil && depth < 8 && (name != "unknown" || f.chance(10)) {
				n.keys = append(n.keys, entry{name: name, value: f.value(props[name], depth+1)})
			}
		}
	case s["type"] == "array":
		n.kind = list
		for range rapid.IntRange(0, 2).Draw(f.t, "items") {
			n.items = append(n.items, f.value(s["items"], depth+1))
		}
	default:
		return f.junk()
	}
	return n.measured()
}

func (f form) chance(of int) bool { return rapid.IntRange(1, of).Draw(f.t, "chance") == 1 }

func (f form) junk() *node {
	n := &node{}
	switch rapid.IntRange(0, 9).Draw(f.t, "kind") {
	case 0:
		n.kind = null
	case 1:
		n.kind = list
	case 2:
		n.kind = mapping
	default:
		n.kind, n.text = scalar, rapid.SampledFrom(junk).Draw(f.t, "text")
		n.quoted = n.text == "" || f.chance(5)
		if n.text == "null" && !n.quoted {
			n = &node{kind: null}
		}
	}
	return n.measured()
}

// What the schema takes, the decoder takes, and the other way round, of well-formed and of spoilt values alike.
func TestSchemaAgreesWithDecoder(t *testing.T) {
	s := readSchema(t)
	delete(s, "required") // a matter of meaning to the decoder
	v := validator{s["$defs"].(object)}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 30 {
			root := form{v, t}.value(s, 0)
			if root.kind != mapping {
				continue
			}
			d := &decoder{file: "f", files: newFiles(nil)}
			d.fresh(root, reflect.ValueOf(&Scenario{}).Elem(), "")
			bad := v.mistake(s, root, "")
			if (bad == "") != (d.errs == nil) {
				t.Fatalf("%s\nschema: %s\ndecoder: %v", root, bad, d.errs)
			}
			if bad == "" {
				accepted++
			}
		}
	})
	if accepted < 300 {
		t.Errorf("only %d values were right", accepted)
	}
}

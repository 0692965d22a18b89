package main

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"

	"poolwise/sim/dist"
)

// option is one option of a pool model, as it stands in a scenario.
type option struct {
	Name    string `json:"name"` // path below pool
	Type    string `json:"type"`
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

// optionsOf lists the options in a struct of defaults, those of structs within it after it. The tags of the fields say what
// they are called and what they mean.
func optionsOf(defaults any) []option {
	all := []option{}
	eachField(reflect.ValueOf(defaults), "", func(path string, f reflect.StructField, v reflect.Value) {
		all = append(all, option{path, typeName(f.Type), valueText(v), f.Tag.Get("doc")})
	})
	return all
}

// eachField calls f for every field of a struct that a scenario can set, and for those of the structs in it. Fields below a nil
// pointer or in a list have no value of their own and are shown as they would begin.
func eachField(v reflect.Value, prefix string, f func(path string, field reflect.StructField, v reflect.Value)) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v = reflect.Zero(v.Type().Elem())
			continue
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, how, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case how == "inline":
			eachField(v.Field(i), prefix, f)
		case name != "" && name != "-":
			f(prefix+name, field, v.Field(i))
			if opensUp(field.Type) {
				eachField(v.Field(i), prefix+name+".", f)
			}
		}
	}
}

// opensUp reports whether the fields of a type are options of their own.
func opensUp(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[dist.Distribution]()
}

// typeName says what a scenario has in the place of a type.
func typeName(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t == reflect.TypeFor[dist.Distribution]():
		return "distribution"
	case t == reflect.TypeFor[dist.Rate]():
		return "rate"
	case t == reflect.TypeFor[dist.Probability]():
		return "probability"
	case t.Kind() == reflect.Slice:
		return "list of " + typeName(t.Elem())
	case t.Kind() == reflect.Struct:
		return "mapping"
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "word"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "text"
	case reflect.Zero(t).CanFloat():
		return "number"
	}
	return "count"
}

// valueText writes a default as a scenario would.
func valueText(v reflect.Value) string {
	if v.Kind() == reflect.Pointer && v.IsNil() || v.Kind() == reflect.Slice && v.Len() == 0 || v.Kind() == reflect.String && v.Len() == 0 {
		return "none"
	}
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return durationText(x)
	case dist.Distribution:
		if x.Constant == nil {
			return "0s"
		}
		return durationText(*x.Constant)
	}
	if v.Kind() == reflect.Struct {
		return ""
	}
	return fmt.Sprint(v.Interface())
}

// durationText writes a duration without the units that are zero: 30m and not 30m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

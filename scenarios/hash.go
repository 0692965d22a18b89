package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/workload"
)

// Hash names all of s that decides the result, its sweep and checks included: 16 hexadecimal digits. Short forms count as what
// they stand for, defaults as if they were written, and data files as their contents. Name, about and source do not count.
func (s *Scenario) Hash() string {
	c := *s
	c.Name, c.About, c.Source = "", "", ""
	h := sha256.New()
	canonical(h, "", reflect.ValueOf(c), "")
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// canonical writes every value below v, a line each, in the order of the fields; doc is that of its field. Values that are zero
// or the default are left out, so that an option that is added later changes no hash while nobody sets it.
func canonical(w io.Writer, path string, v reflect.Value, doc string) {
	switch x := v.Interface().(type) {
	case dist.Distribution:
		if c, fixed := x.Constant, x.AtMost == nil; fixed && c != nil && *c == 0 {
			return // the zero value is a constant 0
		}
	case dist.Empirical:
		if x.File != "" {
			v = reflect.ValueOf(dist.Empirical{Samples: x.Samples})
		}
	case workload.Trace:
		v = reflect.ValueOf(workload.Trace{Times: x.Times})
	case Check:
		x.Line = 0
		if e, err := record.ParseCheck(x.Expr); err == nil {
			x.Expr = e.String()
		}
		v = reflect.ValueOf(x)
	}
	switch v.Kind() {
	case reflect.Pointer:
		byDefault, ok := documented(v.Type().Elem(), doc)
		switch {
		case v.IsNil() && ok && allowsNone(doc):
			fmt.Fprintf(w, "%s none\n", path)
		case v.IsNil():
		case ok && !allowsNone(doc) && reflect.DeepEqual(byDefault.Interface(), v.Elem().Interface()):
		default:
			fmt.Fprintf(w, "%s set\n", path)
			canonical(w, path, v.Elem(), "")
		}
	case reflect.Interface:
		canonical(w, path, reflect.Indirect(v.Elem()), "")
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				canonical(w, path+"."+f.Name, v.Field(i), f.Tag.Get("doc"))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			at := path + "[" + strconv.Itoa(i) + "]"
			fmt.Fprintln(w, at)
			canonical(w, at, v.Index(i), "")
		}
	default:
		if !v.IsZero() {
			fmt.Fprintf(w, "%s=%s\n", path, basic(v))
		}
	}
}

// basic writes a value of a basic type.
func basic(v reflect.Value) string {
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	}
	return strconv.Quote(v.String())
}

var defaultWord = regexp.MustCompile(`\bdefault ([^;,]+)`)

// documented returns the default that the doc of a pointer's field promises, if it is a value.
func documented(t reflect.Type, doc string) (reflect.Value, bool) {
	m := defaultWord.FindStringSubmatch(doc)
	if m == nil {
		return reflect.Value{}, false
	}
	d := decoder{}
	v := reflect.New(t).Elem()
	d.into((&node{kind: scalar, text: strings.TrimSpace(m[1])}).measured(), v, "", "")
	return v, d.errs == nil
}

// Package simtest has what tests of several packages share: options written as words, as conversations in testdata have them.
package simtest

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Set sets a field of the struct that options points to, by its `yaml` name or by a path of such names (failover.hang). It
// reports whether there is that field, and what is wrong with the value. A flag without a value is true, a pointer to a struct
// then points to one; a pointer may be "none"; a list takes all values, anything else one.
func Set(options any, path string, values ...string) (known bool, err error) {
	v, known := field(reflect.ValueOf(options).Elem(), path)
	if !known {
		return false, nil
	}
	if err := set(v, values); err != nil {
		return true, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// SetAll does so with every word "name=value" or "flag" of a line.
func SetAll(options any, line string) error {
	for _, word := range strings.Fields(line) {
		path, value, given := strings.Cut(word, "=")
		var values []string
		if given {
			values = []string{value}
		}
		switch known, err := Set(options, path, values...); {
		case err != nil:
			return err
		case !known:
			return fmt.Errorf("there is no %s", path)
		}
	}
	return nil
}

// SetLines does so with every line; one such as "fault at=1s refuse" adds an item of these words to the list `faults`.
func SetLines(options any, lines string) error {
	for line := range strings.Lines(lines) {
		to, words := options, line
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		list, found := field(reflect.ValueOf(options).Elem(), word+"s")
		if found && list.Kind() == reflect.Slice && list.Type().Elem().Kind() == reflect.Struct {
			list.Set(reflect.Append(list, reflect.Zero(list.Type().Elem())))
			to, words = list.Index(list.Len()-1).Addr().Interface(), rest
		}
		if err := SetAll(to, words); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
	}
	return nil
}

// field finds the field of a path, and makes the structs on the way.
func field(v reflect.Value, path string) (reflect.Value, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("yaml"); tag == "" || tag != name {
			continue
		}
		f := v.Field(i)
		if !deeper {
			return f, true
		}
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				f.Set(reflect.New(f.Type().Elem()))
			}
			f = f.Elem()
		}
		if f.Kind() != reflect.Struct {
			return v, false
		}
		return field(f, rest)
	}
	return v, false
}

func set(v reflect.Value, values []string) error {
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(values), len(values)))
		for i, value := range values {
			if err := setOne(v.Index(i), value); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case len(values) == 1:
	case len(values) == 0 && v.Kind() == reflect.Bool:
		values = []string{"true"}
	case len(values) == 0 && v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct:
		v.Set(reflect.New(v.Type().Elem()))
		return nil
	default:
		return fmt.Errorf("want one value, have %d", len(values))
	}
	return setOne(v, values[0])
}

func setOne(v reflect.Value, value string) (err error) {
	switch to := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		err = to.UnmarshalText([]byte(value))
	case *time.Duration:
		*to, err = time.ParseDuration(value)
	case *int:
		*to, err = strconv.Atoi(value)
	case *float64:
		*to, err = strconv.ParseFloat(value, 64)
	case *bool:
		*to, err = strconv.ParseBool(value)
	case *string:
		*to = value
	default:
		if v.Kind() != reflect.Pointer {
			return fmt.Errorf("a %v is not a word", v.Type())
		}
		v.SetZero()
		if value != "none" {
			v.Set(reflect.New(v.Type().Elem()))
			err = setOne(v.Elem(), value)
		}
	}
	return err
}

package models

import (
	"reflect"
	"testing"
)

// TestSizeIsAnOption: the option that is the size of a pool is a count that is at least 1 by default.
func TestSizeIsAnOption(t *testing.T) {
	for _, m := range Table {
		if m.Size == "" {
			continue
		}
		o := reflect.ValueOf(m.Defaults()).Elem()
		found := false
		for i := range o.NumField() {
			if o.Type().Field(i).Tag.Get("yaml") == m.Size {
				found = true
				if f := o.Field(i); !f.CanInt() || f.Int() < 1 {
					t.Errorf("%s: %s is %v by default", m.Name, m.Size, f)
				}
			}
		}
		if !found {
			t.Errorf("%s: there is no option %s", m.Name, m.Size)
		}
	}
}

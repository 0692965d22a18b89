package models

import (
	"reflect"
	"testing"
)

// TestSizeIsAnOption: the option that is the size of a pool is a count that is at least 1 by default.
func TestSizeIsAnOption(t *testing.T) {
	for _, m := range Table {
		if m.Size == "" {
			if n := m.Capacity(m.Defaults()); n != 0 {
				t.Errorf("%s: a capacity of %d without a limit", m.Name, n)
			}
			continue
		}
		o := reflect.ValueOf(m.Defaults()).Elem()
		found := false
		for i := range o.NumField() {
			if o.Type().Field(i).Tag.Get("yaml") == m.Size {
				found = true
				if f := o.Field(i); !f.CanInt() || f.Int() < 1 || m.Capacity(m.Defaults()) != int(f.Int()) {
					t.Errorf("%s: %s is %v by default, its capacity %d", m.Name, m.Size, f, m.Capacity(m.Defaults()))
				}
			}
		}
		if !found {
			t.Errorf("%s: there is no option %s", m.Name, m.Size)
		}
	}
}

func TestWhatPoolsTell(t *testing.T) {
	for name, want := range map[string][2]bool{"sqlx": {false, true}, "semaphore": {}, "handoff": {true, true}, "asyncio": {false, true}, "none": {}} {
		if m, ok := Named(name); !ok || m.Stateful != want[0] || m.Lessor != want[1] {
			t.Errorf("%s: stateful %v, lessor %v", name, m.Stateful, m.Lessor)
		}
	}
}

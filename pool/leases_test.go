package pool

import (
	"testing"

	"pgregory.net/rapid"
)

// A loan under way is known by its name, and one that has ended never again.
func TestLeases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{1, 2, 3, 10, 1000, 1 << 20}).Draw(t, "limit")
		l := NewLeases(limit)
		loans := map[Conn]Conn{} // under way: the name of each
		var spent []Conn
		conn := func(t *rapid.T) Conn {
			c := Conn(rapid.IntRange(0, min(limit, 5)-1).Draw(t, "conn"))
			if rapid.Bool().Draw(t, "high") {
				c = Conn(limit - 1) // the highest name
			}
			return c
		}
		if limit == 1<<20 {
			conn = func(t *rapid.T) Conn { return Conn(rapid.IntRange(0, 5).Draw(t, "conn")) } // memory follows the highest
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				c := conn(t)
				if _, lent := loans[c]; !lent {
					loans[c] = l.Begin(c)
					if loans[c] < 0 {
						t.Fatalf("name %d would be taken for a failure", loans[c])
					}
				}
			},
			"end": func(t *rapid.T) {
				c := conn(t)
				if name, lent := loans[c]; lent {
					l.End(c)
					delete(loans, c)
					spent = append(spent, name)
				}
			},
			"": func(t *rapid.T) {
				for c, name := range loans {
					if got, ok := l.Conn(name); !ok || got != c || !l.Lent(c) {
						t.Fatalf("loan %d is of %d, %v; want %d", name, got, ok, c)
					}
				}
				for _, name := range append(spent, -1, NoConn, 1<<31-1) {
					if c, ok := l.Conn(name); ok {
						t.Fatalf("loan %d, which has ended, is of %d", name, c)
					}
				}
				if l.Len() != len(loans) {
					t.Fatalf("%d loans, want %d", l.Len(), len(loans))
				}
			},
		})
	})
}

// Lease numbers may be more than fit into a name: names stay valid and neighbours differ.
func TestLeasesWrapAround(t *testing.T) {
	l := NewLeases(1 << 20)
	before := NoConn
	for range 10_000 { // a name has 11 bits of the number
		name := l.Begin(3)
		if c, ok := l.Conn(name); name < 0 || name == before || !ok || c != 3 {
			t.Fatalf("loan %d after %d is of %d, %v", name, before, c, ok)
		}
		if _, ok := l.Conn(before); ok {
			t.Fatalf("loan %d has ended", before)
		}
		before = name
		l.End(3)
	}
}

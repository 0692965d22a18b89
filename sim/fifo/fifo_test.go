package fifo

import (
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstASlice drives the ring and a slice through the same random history.
func TestAgainstASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Ring[int]
		var twin []int
		first := uint64(0) // position of twin[0]
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				v := rapid.Int().Draw(t, "v")
				if pos := r.Push(v); pos != first+uint64(len(twin)) {
					t.Fatalf("position %d, want %d", pos, first+uint64(len(twin)))
				}
				twin = append(twin, v)
			},
			"pop": func(t *rapid.T) {
				if len(twin) == 0 {
					t.Skip("empty")
				}
				if got := r.Pop(); got != twin[0] {
					t.Fatalf("popped %d, want %d", got, twin[0])
				}
				twin = twin[1:]
				first++
			},
			"pop back": func(t *rapid.T) {
				if len(twin) == 0 {
					t.Skip("empty")
				}
				if got := r.PopBack(); got != twin[len(twin)-1] {
					t.Fatalf("popped %d", got)
				}
				twin = twin[:len(twin)-1]
			},
			"": func(t *rapid.T) {
				if r.Len() != len(twin) || r.Head() != first {
					t.Fatalf("length %d head %d, want %d %d", r.Len(), r.Head(), len(twin), first)
				}
				for i, v := range twin {
					if got := r.At(first + uint64(i)); got == nil || *got != v {
						t.Fatalf("at %d: %v, want %d", i, got, v)
					}
				}
				if r.At(first+uint64(len(twin))) != nil || first > 0 && r.At(first-1) != nil {
					t.Fatal("a position outside the queue has an element")
				}
			},
		})
	})
}

func TestEmptyPanics(t *testing.T) {
	for name, f := range map[string]func(*Ring[int]){
		"Pop":     func(r *Ring[int]) { r.Pop() },
		"PopBack": func(r *Ring[int]) { r.PopBack() },
		"Front":   func(r *Ring[int]) { r.Front() },
		"Drop":    func(r *Ring[int]) { r.Drop() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of an empty queue: no panic", name)
				}
			}()
			f(new(Ring[int]))
		}()
	}
}

package run

import (
	"testing"
	"time"
)

func BenchmarkBare(b *testing.B) {
	for b.Loop() {
		t0 := time.Now()
		r := bareMMc(1, 1_000_000, 8, 781250, 5e6, 0)
		t1 := time.Now()
		r3 := bareMMc(1, 1_000_000, 8, 781250, 5e6, time.Second)
		r5 := bareMMc(1, 1_000_000, 8, 781250, 5e6, 5*time.Millisecond)
		t2 := time.Now()
		r2 := bareClosed(1_000_000, 100, 8, 4, 5*time.Millisecond)
		t3 := time.Now()
		b.Log(t1.Sub(t0), t2.Sub(t1)/2, t3.Sub(t2))
		b.Log(float64(r.waited)/float64(r.served), r.waits.ValueAtQuantile(99), r3.left, float64(r5.left)/1e6, float64(r5.waited)/float64(r5.served), float64(r2.served)/float64(r2.end)*1e9)
	}
}

package run

import (
	"context"
	"os"
	"testing"
	"time"

	"poolwise/scenarios"
)

func BenchmarkX(b *testing.B) {
	for _, f := range []string{"m1", "m2", "m3"} {
		src, _ := os.ReadFile("/tmp/pw/" + f + ".yaml")
		base, cells, err := scenarios.Load(f, src, scenarios.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(f, func(b *testing.B) {
			for b.Loop() {
				var tb time.Duration
				t0 := time.Now()
				switch f {
				case "m1":
					bareMMc(1, 1_000_000, 8, 781250, 5e6, 0)
				case "m2":
					bareClosed(1_000_000, 100, 8, 4, 5*time.Millisecond)
				case "m3":
					bareMMc(1, 1_000_000, 8, 781250, 5e6, time.Second)
				}
				tb = time.Since(t0)
				t0 = time.Now()
				r, err := Run(context.Background(), base, cells, Options{Workers: 1})
				d := time.Since(t0)
				if err != nil {
					b.Fatal(err)
				}
				b.Logf("%v bare %v ratio %.2f: wait %v ok %d", d, tb, float64(d)/float64(tb), r.Cells[0].Wait.Mean.Value, r.Cells[0].Requests.OK)
			}
		})
	}
}

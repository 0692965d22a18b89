package reports

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"poolwise/sim/record"
)

// A fleet is shown instance by instance up to 12 pools, with the total of each service; beyond, by the total, the worst instance and
// the best.
func TestPoolRows(t *testing.T) {
	fleet := func(instances int) *record.Cell {
		c := &record.Cell{Services: []record.PoolCell{{Name: "api", Instances: instances}}}
		for i := range instances {
			c.Pools = append(c.Pools, record.PoolCell{
				Name: fmt.Sprint("api-", i+1), Service: "api", FailedRate: record.ExactFloat(float64(i*5%instances) / 100),
			})
		}
		c.Pools = append(c.Pools, record.PoolCell{Name: "jobs"})
		return c
	}
	for instances, want := range map[int][]string{
		2: {"api-1", "api-2", "api (all 2)", "jobs", "total"},
		// Of 13, instance 1 has the least failures, 0 %, and number 6 the most: 5 x 5 modulo 13 is 12.
		13: {"api-6 (worst)", "api-1 (best)", "api (all 13)", "jobs", "total"},
	} {
		var got []string
		for _, row := range poolRows(fleet(instances)) {
			got = append(got, row.name)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d instances (-want +got):\n%s", instances, d)
		}
	}
	r := &record.Result{Cells: []record.Cell{*fleet(2), *fleet(13), *fleet(12)}}
	if n := hidden(r); n != 11 {
		t.Errorf("%d instances hidden, want 13 less 2", n)
	}
}

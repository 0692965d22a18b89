package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"poolwise/pool/models"
	"poolwise/scenarios"
	"poolwise/sim/wording"
	"poolwise/workload"
)

// mostSizes is the largest size that is tried when nobody says which.
const mostSizes = 256

// Sizes returns the sizes to try, as an axis for scenarios.Options.Over: those of the scenario's own sweep, if it is one over the size of
// a pool or of the pooler; or else, for a scenario with one pool, all from 1 to what the server's limit allows each instance, and two
// more to show what is past it. Without a limit the cores and the clients say where it makes no sense to go on.
func Sizes(s *scenarios.Scenario) (axis string, err error) {
	all := s.All()
	for _, axis := range s.Sweep {
		if isSize(s, axis.Name) {
			var values []string
			for _, p := range axis.Points {
				values = append(values, p.Label)
			}
			return axis.Name + "=" + strings.Join(values, ","), nil
		}
	}
	of := 0 // the service that has the pool
	for i := range all {
		if all[i].PoolOf == "" {
			of = i
		}
	}
	if !slices.ContainsFunc(all, func(v scenarios.Service) bool { return v.Owner() != all[of].Name }) {
		all = all[of : of+1]
	}
	if len(all) != 1 {
		var keys []string
		for i := range all {
			if key := sizeKey(s, i); key != "" {
				keys = append(keys, key)
			}
		}
		if keys == nil {
			return "", fmt.Errorf("there are %d services, and none has a pool with a size", len(all))
		}
		return "", fmt.Errorf("there are %d services: say which pool to size with --over, as in --over %s=1..20 (there are %s)", len(all), keys[0], wording.And(keys))
	}
	v := &all[0]
	key := sizeKey(s, of)
	if key == "" {
		return "", fmt.Errorf("the model %s has no size to choose: set another with --set pool=MODEL", v.Pool.Model)
	}
	var values []string
	for size := range lastSize(s, v) {
		values = append(values, strconv.Itoa(size+1))
	}
	return key + "=" + strings.Join(values, ","), nil
}

// isSize reports whether a path is that of the size of a pool, or of the pooler.
func isSize(s *scenarios.Scenario, path string) bool {
	if path == "pooler.default_pool_size" {
		return true
	}
	for i := range s.All() {
		key := sizeKey(s, i)
		byNumber := fmt.Sprintf("services[%d]%s", i, strings.TrimPrefix(key, "services."+s.All()[i].Name))
		if key != "" && (path == key || path == byNumber) {
			return true
		}
	}
	return false
}

// sizeKey returns the path of the size of service i, empty if its pool has none.
func sizeKey(s *scenarios.Scenario, i int) string {
	v := s.All()[i]
	if v.PoolOf != "" {
		return ""
	}
	m, ok := models.Named(v.Pool.Model)
	if !ok {
		panic(fmt.Sprintf("run: no model %q in a valid scenario", v.Pool.Model))
	}
	switch {
	case m.Size == "":
		return ""
	case s.Services == nil:
		return "pool." + m.Size
	case strings.ContainsAny(v.Name, ".[]= "):
		return fmt.Sprintf("services[%d].pool.%s", i, m.Size)
	}
	return "services." + v.Name + ".pool." + m.Size
}

// lastSize returns the largest size to try.
func lastSize(s *scenarios.Scenario, v *scenarios.Service) int {
	l := limitOf(s, v)
	n := 64
	switch {
	case l.Limit > 0:
		n = l.Left/v.Instances + 2
	case s.Server.Cores > 0:
		n = max(16, 4*s.Server.Cores/v.Instances)
	}
	d := 0
	for _, u := range s.Users(v.Name) {
		one := demand(u.WorkloadOf(0))
		if one == 0 {
			return max(min(n, mostSizes), 2)
		}
		d += one
	}
	return max(min(n, d+1, mostSizes), 2)
}

// demand returns how many connections the requests of a workload can hold at once, 0 for any number.
func demand(w *workload.Options) int {
	switch {
	case w.Clients != nil:
		return *w.Clients * max(acquires(w.Request), 1)
	case w.Script != nil:
		return len(w.Script)
	}
	return 0
}

// acquires counts the acquires of a request.
func acquires(steps []workload.Step) int {
	n := 0
	for i := range steps {
		if steps[i].Acquire != nil {
			n++
		}
		n += acquires(steps[i].Do)
	}
	return n
}

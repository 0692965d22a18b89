package run

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/record"
)

// saturated is the least share of the connections that must be lent, on the average, for the pool to be what limits throughput.
const saturated = 0.9

// limits reports whether a pool of n connections in all is what limits the throughput of a cell, and no request fails.
func limits(c *record.Cell, n int) bool {
	q := c.Requests
	return q.Failed == 0 && q.OK > 0 && c.Levels.InUse.Mean.Value >= saturated*float64(n) && len(c.Each) > 1
}

// hasLaw reports whether the law is fitted to the sizes of a service.
func hasLaw(s *scenarios.Scenario, v *scenarios.Service) bool {
	k := s.Server.Contention
	return v != nil && (k.Sigma > 0 || k.Kappa > 0) && len(s.All()) == 1 && (s.Pooler == nil || v.Direct)
}

// usl fits the universal scalability law to the sizes at which the pool limits the throughput and no request fails; nil if the
// server has no contention, or if others stand between the pool and the server or beside it.
func usl(s *scenarios.Scenario, v *scenarios.Service, sizes []record.Sized) *record.USL {
	if !hasLaw(s, v) {
		return nil
	}
	u := &record.USL{Sizes: []int{}, Cores: s.Server.Cores, Set: [2]float64{s.Server.Contention.Sigma, s.Server.Contention.Kappa}}
	x := mustFigure("throughput")
	var data []loadPoint
	for i := range sizes {
		n := sizes[i].Size * v.Instances
		if !limits(&sizes[i].Cell, n) || s.Server.Cores > 0 && n > s.Server.Cores {
			continue
		}
		data = append(data, loadPoint{n: float64(n), x: x.Sample(&sizes[i].Cell)})
		u.Sizes = append(u.Sizes, sizes[i].Size)
	}
	if len(data) < 4 {
		u.Why = fmt.Sprintf("it takes four sizes at which the pool, and not the cores or the clients, limits the throughput and no request fails, and %d were run", len(data))
		return u
	}
	fitUSL(u, data, s.Seed)
	return u
}

// loadPoint is the throughput at n connections, in each replication.
type loadPoint struct {
	n float64
	x []float64
}

// draws is how many times the replications are drawn anew.
const draws = 5000

// fitUSL fits the law to data and takes the intervals from a bootstrap. Replications had the same luck at all sizes, so only those
// count that all sizes have, and they are drawn together.
func fitUSL(u *record.USL, data []loadPoint, seed uint64) {
	m := math.MaxInt
	for _, d := range data {
		m = min(m, len(d.x))
	}
	mean := func(x []float64) float64 { return record.MeanAt(x[:m], 0.05).Value }
	law := fit(data, mean)
	u.Fitted = true
	for _, d := range data {
		x := mean(d.x)
		u.Off = record.ExactFloat(max(u.Off.Value, math.Abs(law.at(d.n)-x)/x))
	}
	stream := sim.NewStream(seed, "bootstrap of the universal scalability law")
	again := make([]law5, draws)
	for i := range again {
		r := stream.At(int64(i))
		drawn := make([]int, m)
		for j := range drawn {
			drawn[j] = r.Below(m)
		}
		again[i] = five(fit(data, func(x []float64) float64 {
			sum := 0.0
			for _, j := range drawn {
				sum += x[j]
			}
			return sum / float64(m)
		}), u.Cores)
	}
	tail := expandedTail(m)
	point := five(law, u.Cores)
	for i, to := range []*record.Float{&u.Lambda, &u.Sigma, &u.Kappa, &u.Peak, &u.AtPeak} {
		values := make([]float64, draws)
		for j := range again {
			values[j] = again[j][i]
		}
		slices.SortFunc(values, cmp.Compare[float64])
		at := int(math.Floor(tail * draws))
		lo, hi := values[at], values[draws-1-at]
		*to = record.Float{Value: point[i], Known: !math.IsInf(point[i], 0)}
		if to.Known && !math.IsInf(hi, 0) {
			to.Lo, to.Hi, to.Interval = min(lo, point[i]), max(hi, point[i]), true
		}
	}
}

// law5 are lambda, sigma, kappa, the connections at the peak and the throughput there; the last two are infinite if throughput
// grows without end.
type law5 [5]float64

func five(l law, cores int) law5 {
	peak := math.Inf(1)
	if l.kappa > 0 {
		peak = math.Sqrt(max((1-l.sigma)/l.kappa, 0))
	}
	if c := float64(cores); c > 0 {
		peak = min(peak, c)
	}
	peak = max(peak, 1)
	if math.IsInf(peak, 0) {
		return law5{l.lambda, l.sigma, l.kappa, peak, math.Inf(1)}
	}
	return law5{l.lambda, l.sigma, l.kappa, peak, l.at(peak)}
}

// expandedTail is the share that is left out at each end of the bootstrap distribution: less than 2.5 %, since a bootstrap of few
// values is too narrow (Hesterberg, What Teachers Should Know About the Bootstrap, 2015, 4.1).
func expandedTail(m int) float64 {
	t := distuv.StudentsT{Sigma: 1, Nu: float64(m - 1)}.Quantile(0.025)
	return distuv.UnitNormal.CDF(t * math.Sqrt(float64(m)/float64(m-1)))
}

// law is a universal scalability law.
type law struct{ lambda, sigma, kappa float64 }

// at returns the throughput at n connections.
func (l law) at(n float64) float64 {
	return float64(l.lambda*n) / (1 + float64(l.sigma*(n-1)) + float64(l.kappa*n*(n-1)))
}

// fit fits n/X = a + b(n-1) + c n(n-1) by least squares of the relative errors, with b and c not below 0, which is linear:
// lambda = 1/a, sigma = b/a, kappa = c/a. mean gives the X of a point.
func fit(data []loadPoint, mean func(x []float64) float64) law {
	rows := make([][4]float64, len(data)) // weighted: 1, n-1, n(n-1) and 1
	for i, d := range data {
		w := mean(d.x) / d.n
		rows[i] = [4]float64{w, w * (d.n - 1), float64(w*d.n) * (d.n - 1), 1}
	}
	best, least := law{}, math.Inf(1)
	for _, use := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}} { // where one is 0, the best fit has it at 0
		p, ok := leastSquares(rows, use)
		if !ok || p[0] <= 0 || p[1] < 0 || p[2] < 0 {
			continue
		}
		sum := 0.0
		for _, r := range rows {
			e := r[3] - float64(r[0]*p[0]) - float64(r[1]*p[1]) - float64(r[2]*p[2])
			sum += float64(e * e)
		}
		if sum < least {
			best, least = law{1 / p[0], p[1] / p[0], p[2] / p[0]}, sum
		}
	}
	return best
}

// leastSquares solves the normal equations for the columns in use; the other parameters are 0.
func leastSquares(rows [][4]float64, use []int) (p [3]float64, ok bool) {
	n := len(use)
	var m [3][4]float64
	for _, r := range rows {
		for i, a := range use {
			for j, b := range use {
				m[i][j] += float64(r[a] * r[b])
			}
			m[i][n] += float64(r[a] * r[3])
		}
	}
	for k := range n { // Gauss-Jordan with pivots
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(m[i][k]) > math.Abs(m[pivot][k]) {
				pivot = i
			}
		}
		m[k], m[pivot] = m[pivot], m[k]
		if math.Abs(m[k][k]) < 1e-12 {
			return p, false
		}
		for i := range n {
			if i == k {
				continue
			}
			f := m[i][k] / m[k][k]
			for j := k; j <= n; j++ {
				m[i][j] -= float64(f * m[k][j])
			}
		}
	}
	for i, a := range use {
		p[a] = m[i][n] / m[i][i]
	}
	return p, true
}

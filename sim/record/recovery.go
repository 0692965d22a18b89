package record

import (
	"math"
	"time"
)

// Recovery is what became of a disturbance that ended before the run did, such as a peak of the load, by how requests fared before it
// and in the last quarter of what followed.
type Recovery struct {
	Harmed      bool          // more requests failed or waited than before
	Recovered   bool          // at the end hardly more do than before
	Persists    bool          // at the end clearly more do
	After       time.Duration // if it recovered: from the end of the disturbance to when that was so
	Before      float64       // share of requests that failed before
	AtTheEnd    float64       // the same, in the last quarter of what followed
	WaitAtEnd   float64       // requests that waited for a connection then, in the mean
	UntilTheEnd time.Duration // from the end of the disturbance to the end of the run
}

// Recovery judges how a run went on after a disturbance. It is not ok if there is too little before or after to go by.
func (s *Series) Recovery(from, to time.Duration) (r Recovery, ok bool) {
	n := len(s.Ended)
	if s.Bin <= 0 || len(s.Mean) <= seriesWaiting || len(s.Mean[seriesWaiting]) < n {
		return r, false
	}
	bin := func(at time.Duration, up bool) int {
		b := int(at / s.Bin)
		if up && at%s.Bin > 0 {
			b++
		}
		return min(b, n)
	}
	const fewBefore, fewAfter = 2, 12 // bins
	start, begin, over := bin(s.WarmUp, true), bin(from, false), bin(to, true)
	if begin-start < fewBefore || n-over < fewAfter {
		return r, false
	}
	before, waited := s.fared(start, begin)
	if math.IsNaN(before) {
		return r, false
	}
	worse := func(a, b int, failed, wait, factor float64) bool {
		share, waits := s.fared(a, b)
		return share > before+failed || waits > factor*waited+wait
	}
	tail := n - (n-over)/4
	for b := begin; b < n && !r.Harmed; b++ {
		r.Harmed = worse(b, b+1, 0.05, 5, 2)
	}
	r.Before = before
	r.AtTheEnd, r.WaitAtEnd = s.fared(tail, n)
	r.UntilTheEnd = s.End - to
	if math.IsNaN(r.AtTheEnd) { // nothing ends any more
		r.AtTheEnd = 1
	}
	r.Persists = r.AtTheEnd > before+0.05 || r.WaitAtEnd > 2*waited+5
	r.Recovered = !worse(tail, n, 0.005, 1, 2) && r.AtTheEnd <= before+0.005
	for b := over; b < n; b++ {
		if worse(b, b+1, 0.05, 5, 2) {
			r.After = time.Duration(b+1)*s.Bin - to
		}
	}
	return r, true
}

// fared returns the share of the requests that ended in some bins which failed, NaN if none ended, and how many waited for a connection.
func (s *Series) fared(from, to int) (failed, waited float64) {
	var e Ends
	for b := from; b < to; b++ {
		e.OK += s.Ended[b].OK
		e.Failed += s.Ended[b].Failed
		waited += s.Mean[seriesWaiting][b] / float64(to-from)
	}
	return float64(e.Failed) / float64(e.OK+e.Failed), waited
}

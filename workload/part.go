package workload

import (
	"poolwise/sim"
	"poolwise/sim/dist"
)

// Part returns the workload of one of n instances, counted from 0: the whole of it or, if the instances share it, its part.
//
// Rates are divided, so that the requests of an instance come in the same order and with the same draws however many instances
// there are, only thinner. What is regular is dealt in turn: of arrivals at constant spacing, of bursts and of a trace, every nth.
// Clients and the limit are divided as evenly as whole numbers can be, and the first instances have one more.
func (o *Options) Part(instance, n int) *Options {
	if !o.Shared || n < 2 {
		return o
	}
	p := *o
	if o.Clients != nil {
		clients := int(portion(int64(*o.Clients), instance, n))
		p.Clients = &clients
	}
	if o.Limit != nil {
		limit := portion(*o.Limit, instance, n)
		p.Limit = &limit
	}
	if o.Arrivals != nil {
		p.Arrivals = o.Arrivals.of(part{instance, n})
	}
	return &p
}

// portion is the share of an instance in a count.
func portion(all int64, instance, n int) int64 {
	each := all / int64(n)
	if int64(instance) < all%int64(n) {
		each++
	}
	return each
}

// part is the share of one instance of several; the zero value is all.
type part struct{ instance, n int }

// share is how much of the time from one of its arrivals to the next passes before the first.
func (p part) share() float64 {
	if p.n == 0 {
		return 0
	}
	return float64(p.instance) / float64(p.n)
}

// Shares returns how many instances share the bursts and the trace, 1 if none do.
func (a *Arrivals) Shares() int { return max(a.part.n, 1) }

// of returns the arrivals of a part.
func (a *Arrivals) of(p part) *Arrivals {
	rate := func(r dist.Rate) dist.Rate { return r / dist.Rate(p.n) }
	divided := func(r *dist.Rate) *dist.Rate {
		if r == nil {
			return nil
		}
		d := rate(*r)
		return &d
	}
	b := *a
	b.part = p
	b.Poisson, b.Constant, b.Phases = divided(a.Poisson), divided(a.Constant), nil
	for _, ph := range a.Phases {
		ph.Rate, ph.To = rate(ph.Rate), divided(ph.To)
		b.Phases = append(b.Phases, ph)
	}
	if a.Modulated != nil {
		m := *a.Modulated
		m.States = nil
		for _, s := range a.Modulated.States {
			s.Rate = rate(s.Rate)
			m.States = append(m.States, s)
		}
		b.Modulated = &m
	}
	return &b
}

// dealt returns the part of arrivals that are dealt in turn.
func (p part) dealt(s source) source {
	if p.n == 0 {
		return s
	}
	return &dealer{of: s, skip: p.instance, n: p.n}
}

// dealer is every nth arrival of a source.
type dealer struct {
	of   source
	skip int // before the next
	n    int
}

func (d *dealer) next() (sim.Time, bool) {
	for range d.skip {
		if _, ok := d.of.next(); !ok {
			return 0, false
		}
	}
	d.skip = d.n - 1
	return d.of.next()
}

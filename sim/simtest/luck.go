package simtest

import "poolwise/sim"

// Shuffle returns a Chooser that runs what is ready in an order drawn from the seed.
func Shuffle(seed uint64) sim.Chooser { return &shuffler{sim.NewStream(seed, "ties").At(0)} }

type shuffler struct{ luck sim.Rand }

func (s *shuffler) Choose(ready []sim.Event) int { return s.luck.Below(len(ready)) }

// ErlangC returns the probability that a customer of M/M/c waits, for the offered load a (Erlang, 1917).
func ErlangC(c int, a float64) float64 {
	b := ErlangB(c, a)
	return b / (1 - a/float64(c)*(1-b))
}

// ErlangB returns the probability that a customer of M/M/c/c finds all servers busy, by its recursion.
func ErlangB(c int, a float64) float64 {
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b
}

// Package dist has the distributions of durations. A Distribution is plain data, as written in a scenario file; Sampler
// compiles it. Everything is computed so that the same draws give the same nanoseconds on every processor: the logarithms and
// exponentials are our own, with every product rounded before it is added.
package dist

import (
	"time"

	"poolwise/sim"
)

// Distribution is one of the distributions; exactly one field is set. The zero value is a constant 0. In a scenario file a
// bare duration (20ms) is a constant.
type Distribution struct {
	Constant *time.Duration `yaml:"constant" doc:"always this long"`
}

// Sampler compiles d, which must be valid.
func (d Distribution) Sampler() sim.Sampler { return Constant(*d.Constant) }

// Constant is the distribution of one value.
type Constant time.Duration

// Sample implements sim.Sampler.
func (c Constant) Sample(*sim.Rand) time.Duration { return time.Duration(c) }

package sim

import (
	"math/bits"
	"time"
)

// Stream is a family of random numbers that are a function of (seed, purpose, number, draw) and of nothing else: who draws
// when, or draws more, moves nobody's numbers. So two pool sizes under one seed meet the same arrivals, service times and
// luck, request by request (common random numbers). The mixing function is that of SplitMix64 (Steele, Lea and Flood 2014,
// with Stafford's constants), applied to a key, a counter and a second counter.
type Stream struct{ key uint64 }

// NewStream returns the stream of a purpose, such as "service" or "arrivals".
func NewStream(seed uint64, purpose string) Stream {
	h := uint64(14695981039346656037) // FNV-1a
	for i := 0; i < len(purpose); i++ {
		h = (h ^ uint64(purpose[i])) * 1099511628211
	}
	return Stream{mix(mix(seed+golden) ^ h)}
}

// At returns the numbers that belong to one request, connection or whatever is counted by number.
func (s Stream) At(number int64) Rand { return Rand{key: mix(s.key + uint64(number)*golden)} }

// Rand gives the draws 0, 1, 2 ... of one number of a Stream. It is a value: a copy repeats the draws.
type Rand struct {
	key  uint64
	draw uint64
}

// Bits returns 64 random bits.
func (r *Rand) Bits() uint64 {
	r.draw++
	return mix(r.key + r.draw*golden)
}

// Unit returns a number in the open interval (0, 1), an odd multiple of 2^-53: never 0 and never 1, so that its
// logarithm exists.
func (r *Rand) Unit() float64 {
	return float64(r.Bits()>>12)*0x1p-52 + 0x1p-53
}

// Below returns an integer in [0, n), n > 0, without modulo bias (Lemire 2019).
func (r *Rand) Below(n int) int {
	hi, lo := bits.Mul64(r.Bits(), uint64(n))
	if lo < uint64(n) {
		for low := -uint64(n) % uint64(n); lo < low; {
			hi, lo = bits.Mul64(r.Bits(), uint64(n))
		}
	}
	return int(hi)
}

// Sampler draws a duration, never negative, from a distribution. The draws that it takes are those of r alone.
type Sampler interface {
	Sample(r *Rand) time.Duration
}

const golden = 0x9e3779b97f4a7c15

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// Samples are the values of figures in each replication, in order of seed: what two results need to be compared pair by pair.
type Samples []Sample

// Sample is one figure in each replication, NaN where it was not measured.
type Sample struct {
	Figure string // as ParseFigure reads it
	Values []float64
}

// Compared are the figures that every result keeps samples of.
var Compared = []string{
	"throughput", "failed_rate", "avg", "p(50)", "p(95)", "p(99)", "avg{wait}", "p(95){wait}", "p(99){wait}", "makespan", "waiting.mean",
}

// KeepSamples keeps the samples of the figures compared and of further ones.
func (c *Cell) KeepSamples(further []Figure) {
	c.Samples = nil
	if len(c.Each) < 2 {
		return
	}
	add := func(f Figure) {
		name := f.String()
		for _, s := range c.Samples {
			if s.Figure == name {
				return
			}
		}
		c.Samples = append(c.Samples, Sample{name, f.Sample(c)})
	}
	for _, name := range Compared {
		f, err := ParseFigure(name)
		if err != nil {
			panic("record: a figure that cannot be read: " + name)
		}
		add(f)
	}
	for _, f := range further {
		add(f)
	}
}

// Sample returns the figure in each replication of the cell, from the replications themselves or from the samples that were
// kept; nil if there are neither.
func (f Figure) Sample(c *Cell) []float64 {
	if len(c.Each) == 0 {
		for _, s := range c.Samples {
			if s.Figure == f.String() {
				return s.Values
			}
		}
		return nil
	}
	v := make([]float64, len(c.Each))
	for i := range c.Each {
		m := f.measure(&c.Each[i])
		v[i] = m.Value
		if !m.Known {
			v[i] = math.NaN()
		}
	}
	return v
}

// Difference estimates the mean of a - factor x b, pair by pair: under common random numbers most of the luck cancels out. Pairs
// of which one was not measured are left out; without two pairs there is no interval, and samples of different lengths are no
// pairs.
func Difference(a, b []float64, factor float64) Float {
	if len(a) != len(b) {
		return Float{}
	}
	var d []float64
	for i := range a {
		if x := a[i] - float64(factor*b[i]); !math.IsNaN(x) {
			d = append(d, x)
		}
	}
	if len(d) < 2 {
		return Float{}
	}
	mean, half, _ := studentT(d)
	return Float{Value: mean, Lo: mean - half, Hi: mean + half, Known: true, Interval: true}
}

// known returns the values that were measured.
func known(v []float64) []float64 {
	var k []float64
	for _, x := range v {
		if !math.IsNaN(x) {
			k = append(k, x)
		}
	}
	return k
}

// MarshalJSON writes an object with an array for each figure, in order; what was not measured is null.
func (s Samples) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, sample := range s {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(sample.Figure)
		if err != nil {
			return nil, err
		}
		b = append(append(b, name...), ":["...)
		for j, v := range sample.Values {
			if j > 0 {
				b = append(b, ',')
			}
			if math.IsNaN(v) {
				b = append(b, "null"...)
			} else {
				b = appendFloat(b, v)
			}
		}
		b = append(b, ']')
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Samples) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("samples: want an object, have %.20s", b)
	}
	*s = nil
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var values []*float64
		if err := d.Decode(&values); err != nil {
			return err
		}
		sample := Sample{Figure: fmt.Sprint(name)}
		for _, v := range values {
			if v == nil {
				sample.Values = append(sample.Values, math.NaN())
			} else {
				sample.Values = append(sample.Values, *v)
			}
		}
		*s = append(*s, sample)
	}
	return nil
}

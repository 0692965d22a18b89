package record

// Fan is the Sink that hands each fact to those of several sinks that want its kind, in order.
type Fan struct{ to [numFactKinds][]Sink }

// NewFan returns a fan of sinks.
func NewFan(sinks ...Sink) *Fan {
	f := &Fan{}
	for k := range numFactKinds {
		for _, s := range sinks {
			if Wants(s, k) {
				f.to[k] = append(f.to[k], s)
			}
		}
	}
	return f
}

// Note implements Sink.
func (n *Fan) Note(f Fact) {
	for _, s := range n.to[f.Kind] {
		s.Note(f)
	}
}

// Wants reports whether one of the sinks wants facts of a kind.
func (n *Fan) Wants(k FactKind) bool { return len(n.to[k]) > 0 }

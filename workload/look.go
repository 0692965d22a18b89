package workload

// each calls f for every step, those of a do after it.
func each(steps []Step, f func(*Step)) {
	for i := range steps {
		f(&steps[i])
		each(steps[i].Do, f)
	}
}

// Nesting returns the most connections that a request holds while it waits for another.
func (o *Options) Nesting() int {
	held, most := 0, 0
	each(o.Request, func(s *Step) {
		switch {
		case s.Acquire != nil:
			if !s.Acquire.Try {
				most = max(most, held)
			}
			held++
		case s.Return != nil:
			held--
		}
	})
	return most
}

// LeavesState reports whether requests leave something in sessions by intent, for pools that know.
func (o *Options) LeavesState() bool {
	found := false
	each(o.Request, func(s *Step) { found = found || s.Dirty != nil })
	return found
}

// ReturnsAgain reports whether requests return a connection twice.
func (o *Options) ReturnsAgain() bool { return o.acts(ReturnAgain) }

// SwitchesThreads reports whether requests that hold a connection wait for another thread.
func (o *Options) SwitchesThreads() bool {
	held, found := 0, false
	each(o.Request, func(s *Step) {
		switch {
		case s.Acquire != nil:
			held++
		case s.Return != nil:
			held--
		case s.Act != nil && *s.Act == SwitchThread:
			found = found || held > 0
		}
	})
	return found
}

func (o *Options) acts(a Act) bool {
	found := false
	each(o.Request, func(s *Step) { found = found || s.Act != nil && *s.Act == a })
	return found
}

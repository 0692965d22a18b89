package server

// Settle implements Settler. An operation whose answer is not due now, because it has more to do or a partition holds it back,
// is left alone.
func (s *Server) Settle(o Op) bool {
	p := s.op(o)
	if now := s.sim.Now(); p.due != now || s.Due(o) != now {
		return false
	}
	s.wake(p)
	s.slept(o)
	return p.kind == opFree
}

package server

import (
	"time"

	"poolwise/sim"
)

// Stats are what a server has counted.
type Stats struct {
	Attempts  int64         // connects begun
	Opened    int64         // connects that succeeded
	Refused   int64         // connects that failed, for whatever reason
	GivenUp   int64         // connects that the pool gave up
	Closed    int64         // sessions that ended, in whatever way
	Killed    int64         // of them, by the server
	IdleEnded int64         // of those, for a transaction that was idle for too long
	Queries   int64         // queries begun
	Open      int           // sessions open now
	PeakOpen  int           // the most that were open at once
	Emptied   sim.Time      // when a session ended last and none was left
	Running   int           // cores at work now
	Queued    int           // queries and logins that wait for a core now
	Busy      time.Duration // core time used; divided by cores and time it is the utilisation
}

// Stats returns the counts up to now.
func (s *Server) Stats() Stats {
	s.cores.count(s.sim.Now(), 0)
	st := s.stats
	st.Running, st.Queued, st.Busy = s.cores.busy, s.cores.queued, s.cores.area
	return st
}

// Cores returns how many cores the server has, 0 for no limit.
func (s *Server) Cores() int { return s.opts.Cores }

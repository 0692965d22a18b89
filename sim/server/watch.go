package server

import "poolwise/sim/record"

// Watcher is a Backend that tells what an owner sees who watches the sockets of all its sessions, without using them.
type Watcher interface {
	// Ended reports whether the server has said that the session is over (57P01). One that was lost without a word is not.
	Ended(s Session) bool
}

// Ended implements Watcher. Behind a partition nothing is heard.
func (s *Server) Ended(ses Session) bool {
	se := s.session(ses)
	return se.dead && se.verdict == record.AdminShutdown && s.openNow(partition) == nil
}

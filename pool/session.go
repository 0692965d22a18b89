package pool

// SessionState is a set of things that a borrower can leave behind in a session.
type SessionState uint8

// What can be left behind.
const (
	OpenTransaction  SessionState = 1 << iota // a transaction that was neither committed nor rolled back
	ChangedParameter                          // a session parameter such as statement_timeout
)

// Stateful is a Pool that knows what its borrowers leave behind in the sessions. Lending a connection with anything in it is
// noted as a PoolNote with the outcome SessionStateLeaked. Neither method does anything for a loan that has ended.
type Stateful interface {
	// Dirty says that the borrower of c has left something in its session that will be there at its return.
	Dirty(c Conn, what SessionState)
	// State returns what is in the session of c.
	State(c Conn) SessionState
}

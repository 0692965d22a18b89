package pool

import "math/bits"

// Lessor is a Pool that tells the return of a loan that has ended from that of a loan under way. What it does with the first is
// its own affair, but it is none of the second.
type Lessor interface {
	// Lent reports whether a loan is under way.
	Lent(loan Conn) bool
}

// Leases gives every loan a name of its own, for models whose pool tells the return of a loan that has ended from that of the
// loan under way. A name is the Conn that the borrower is told: it holds the connection and the lowest bits of a number that
// rises with every loan of the pool. So a name comes back only after some 2^31/limit further loans.
type Leases struct {
	shift uint
	last  int64  // lease number
	loans []Conn // by connection: the name of its loan, NoConn for none
	n     int
}

// NewLeases returns the leases of a pool whose connections have names below limit, which is at most 1<<20.
func NewLeases(limit int) Leases { return Leases{shift: uint(bits.Len(uint(limit - 1)))} }

// Begin starts a loan of c, which is not lent, and returns its name.
func (l *Leases) Begin(c Conn) Conn {
	for int(c) >= len(l.loans) {
		l.loans = append(l.loans, NoConn)
	}
	if l.loans[c] != NoConn {
		panic("pool: a connection is lent twice")
	}
	l.last++
	l.n++
	l.loans[c] = Conn(int32(l.last<<l.shift)&maxConn | int32(c))
	return l.loans[c]
}

// Conn returns the connection of a loan under way; false if there is no such loan, or if it has ended.
func (l *Leases) Conn(loan Conn) (Conn, bool) {
	c := loan & (1<<l.shift - 1)
	ok := loan >= 0 && int(c) < len(l.loans) && l.loans[c] == loan
	return c, ok
}

// End ends the loan of a connection.
func (l *Leases) End(c Conn) {
	if !l.Lent(c) {
		panic("pool: the end of a loan that is over")
	}
	l.loans[c] = NoConn
	l.n--
}

// Lent reports whether c is lent.
func (l *Leases) Lent(c Conn) bool { return int(c) < len(l.loans) && l.loans[c] != NoConn }

// Len returns how many loans are under way.
func (l *Leases) Len() int { return l.n }

const maxConn = 1<<31 - 1

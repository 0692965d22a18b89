package pool

// Bounded are the options of a pool that has at most so many connections.
type Bounded interface {
	// Capacity returns the most connections that the pool lends at once.
	Capacity() int
}

package pool

// Child is a pool that may take what it lends from another pool, its parent. Its options name the service whose pool that is.
type Child interface {
	Pool
	// ParentName returns the name of the parent's service, "" for none.
	ParentName() string
	// SetParent gives the pool its parent, before it is started.
	SetParent(parent Pool)
}

// ChildOptions are the options of such a pool.
type ChildOptions interface {
	ParentName() string
	// ValidateChild reports what keeps a pool with the options parent (as the model's own type) from being the parent.
	ValidateChild(parent any, bad func(path, message string))
}

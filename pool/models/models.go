// Package models is the table of pool models: for each name its option defaults and its constructor.
package models

import (
	"reflect"

	"poolwise/pool"
	"poolwise/pool/asyncio"
	"poolwise/pool/handoff"
	"poolwise/pool/none"
	"poolwise/pool/semaphore"
	"poolwise/pool/sqlx"
)

// Model is one entry of the table. Its options are plain data: a struct whose fields carry `yaml` names, which are the
// modelled pool's own option names, and `doc` texts.
type Model struct {
	Name     string
	Models   string   // what is modelled, with its version
	About    string   // a sentence or two for the user
	States   []string // the state machine of a connection, "idle -> in_use: acquire", an edge a line
	Size     string   // the option that limits the connections of the pool; empty if there is none
	Stateful bool     // its pools know what borrowers leave in their sessions (pool.Stateful)
	Lessor   bool     // its pools tell a second return from a first (pool.Lessor)
	// Defaults returns a pointer to a new struct of options with the default values.
	Defaults func() any
	// Validate reports every mistake in the options (a pointer as Defaults returns it): the path of the field, and what is
	// wrong and what would be right.
	Validate func(options any, bad func(path, message string))
	// New makes the pool with valid options.
	New func(env pool.Env, options any) pool.Pool
}

// Table lists the models in the order in which they are shown.
var Table = []Model{
	model("sqlx", "max_connections", "sqlx::Pool of "+sqlx.Version,
		"Permits and size apart, a fair queue of waiters, oldest idle connection first, one deadline for waiting and connecting, a ping at every return.",
		sqlx.States, sqlx.DefaultOptions, sqlx.New),
	model("semaphore", "max", "the teaching pool of a Rust lab: a semaphore and a list of idle connections",
		"Permits bound the connections; the most recently returned connection is lent first; only the wait for a permit has a timeout.",
		semaphore.States, semaphore.DefaultOptions, semaphore.New),
	model("handoff", "max_total", "a lock-based pool of a published Java 21 study: a ledger, a queue of waiters and direct hand-off",
		"What becomes free goes to the longest waiter and to nobody else; deadlines, interrupts, double returns and close are all accounted for.",
		handoff.States, handoff.DefaultOptions, handoff.New),
	model("asyncio", "max_size", "the counting semaphore of a published asyncio starvation simulator",
		"No connections, only slots; a leaked slot is never released, and a release too many adds one.",
		asyncio.States, asyncio.DefaultOptions, asyncio.New),
	model("none", "", "no pool: a connection for every loan",
		"Each acquire connects and each return closes. What the others are compared with.",
		none.States, none.DefaultOptions, none.New),
}

// Capacity returns the value of the option Size: the most connections of a pool with these options. It is 0 if there is no limit.
func (m Model) Capacity(options any) int {
	o := reflect.Indirect(reflect.ValueOf(options))
	for i := range o.NumField() {
		if o.Type().Field(i).Tag.Get("yaml") == m.Size && m.Size != "" {
			return int(o.Field(i).Int())
		}
	}
	return 0
}

// Named returns the model of a name.
func Named(name string) (Model, bool) {
	for _, m := range Table {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}

// options is what every model's options can do.
type options interface {
	Validate(bad func(path, message string))
}

// model makes an entry of a model's own, typed functions.
func model[O options, P pool.Pool](name, size, models, about string, states []string, defaults func() O, build func(pool.Env, O) P) Model {
	_, stateful := any(*new(P)).(pool.Stateful)
	_, lessor := any(*new(P)).(pool.Lessor)
	return Model{
		Name: name, Models: models, About: about, States: states, Size: size, Stateful: stateful, Lessor: lessor,
		Defaults: func() any { o := defaults(); return &o },
		Validate: func(o any, bad func(path, message string)) { (*o.(*O)).Validate(bad) },
		New:      func(env pool.Env, o any) pool.Pool { return build(env, *o.(*O)) },
	}
}

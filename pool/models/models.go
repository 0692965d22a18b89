// Package models is the table of pool models: for each name its option defaults and its constructor.
package models

import (
	"poolwise/pool"
)

// Model is one entry of the table. Options are plain data: a struct whose fields carry `yaml` names, which are the modelled
// pool's own option names, and `doc` texts.
type Model struct {
	Name    string
	Models  string   // what is modelled, with its version
	About   string   // one paragraph for the user
	States  []string // the state machine as "idle -> in_use: acquire", an edge a line; empty if there is none
	Options any      // a pointer to a new struct with the defaults is made by copying this value
	// Validate reports every mistake in the options with the path of the field ("max_connections") and what would be right.
	Validate func(options any, bad func(path, message string))
	New      func(env pool.Env, options any) pool.Pool
}

// Table lists the models by name.
var Table []Model

// Named returns the model of a name.
func Named(name string) (Model, bool) {
	for _, m := range Table {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}

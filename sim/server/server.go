// Package server is the synthetic database server.
package server

// Query is a compiled query.
type Query struct{}

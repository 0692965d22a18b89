// Package pooler is a connection pooler between the pools of programs and their database server, such as PgBouncer, whose names,
// defaults and rules it has (version 1.25: src/objects.c, src/janitor.c, src/server.c and its manual of the settings).
//
// Programs connect to the pooler; it has server connections of its own, which it lends to its clients: for the time of a
// transaction, which each query is that is in none, or from the first query of a client to its end (see Mode). A client that
// finds no server connection free waits, first come first served. The most recently used free one is lent first
// (server_round_robin=0).
//
//	client   connecting -> open: connect              open -> closed: close, drop
//	         connecting -> refused: no client slot is free, or the server does not let the pooler in
//	         open -> cut off: waited too long, lost its server connection, or there is none to be had
//	server   none -> opening: a client waits          opening -> idle or in use: connected
//	         idle -> in use: a client has a query     in use -> idle: the query, or the client, has ended
//	         idle -> checking -> idle: used after a long time      in use -> returning -> idle: reset, mode session
//	         any -> none: idle or open for too long, lost, or its client left in the middle of a query
//
// Server connections are opened when clients wait, one at a time, and by role: clients of different roles of the server share
// nothing but the client slots. A connect of the pooler that fails is not repeated before server_login_retry. Clients that wait
// keep waiting meanwhile, up to query_wait_timeout, with two exceptions that hold while there is no other server connection:
// what the server says of a failed login (but not that it cannot be reached) is told at once to all that wait, and who comes
// after a failure is turned away. The very first clients of a role wait in their connect for the first server connection.
//
// A connect ends with TooManyConnections when no client slot is free (see LimitError), with OtherError when it is turned away after
// a failed login, as PgBouncer gives that the code 08P01, with the server's own outcome when that is told, and with QueueTimeout. A
// client that is cut off learns it with the answer to its query: QueueTimeout after query_wait_timeout, the outcome of the failed
// login if there is no server connection to be had, what the server connection ended with if that was lost. Its next use is a
// ConnectionReset.
//
// Server connections that the server has ended (57P01) are lent to nobody. The real pooler closes them at once; here they count as
// idle until one would be lent. One that was lost without a word is found out by a client, or by the check after
// server_check_delay.
//
// A ping goes to the server, on a server connection, as a query does: PgBouncer answers nothing by itself, not even an empty
// query. Number and facts of a pool are about its sessions at the pooler; the facts of the server (ConnectEnded, SessionEnded,
// QueryEnded and so on) are about those of the pooler, with Pool -1. What happens at the pooler is noted by facts of its own
// (record.PoolerConnected and those that follow it).
//
// Times are sim.Time and time.Duration, in nanoseconds. How an operation ends is a record.Outcome in its answer; there are no
// errors at run time. A panic is a bug of the caller, as in package server, or, from Verify, one of ours. Limits of time act
// when they are reached, while the real pooler looks at them three times a second. Not modelled: limits by database or user
// (max_db_connections), client_login_timeout, client_idle_timeout and query_timeout, the pooler's own use of its one core for
// queries; that mode statement refuses transactions.
package pooler

// Package sqlx models the connection pool of sqlx (Rust): sqlx-core 0.8.6, src/pool/{inner,connection,options}.rs, on a
// current-thread runtime of tokio 1.43. It follows that source function by function and names the functions in its comments;
// what it does is pinned by recordings of the real pool on a virtual clock (pool/pooltest).
//
// # State
//
// The pool has a semaphore of max_connections permits and, apart from it, a size; a bounded first-in first-out queue of idle
// connections with a counter beside it (num_idle); a closed flag and an event that tells of it.
//
//	            permit  size
//	idle          -      1    in the queue
//	lent          1      1    at a client (Live)
//	floating      1      1    in the hand of a task, with a guard that gives both back when it is dropped, unless it is
//	                          cancelled: being opened, checked, returned or closed
//
// The states of a connection, as reports see them (States lists the edges one by one):
//
//	opening --------- connected, for an acquire ---------> in_use ---- detach ---> none
//	   |                                                   ^  ^  |
//	   | connected, for the queue                          |  |  |
//	   v                                                   |  |  |
//	 idle ------------ no check, try_acquire --------------+  |  |
//	 ^   |                                                    |  |
//	 |   +---- check ---> checking ---- alive, accepted ------+  | drop
//	 |                                                           v
//	 +------------------ alive, accepted ------------------- returning
//
//	opening    ---> closing   after_connect failed
//	idle       ---> closing   a scan found it idle or alive for too long; close()
//	checking   ---> closing   dead, or rejected by before_acquire
//	in_use     ---> closing   close() of the connection, close_on_drop
//	returning  ---> closing   the pool is closed, it is too old, dead, or rejected by after_release
//	closing    ---> none      and a new one opening with the same guard, if the acquire goes on
//	any        ---> none      dropped, with whoever had it in hand
//
// # Tasks
//
// What runs is what runs in the real one, each as a small state machine (task.go) whose states have names and whose edges are
// one function each: the future of an acquire, in its caller's task; the return that a drop spawns; the maintenance task; the
// future of close(); the refill of min_connections. A poll is one event. Who is woken queues behind all that is ready, as in the
// runtime's run queue; timers that fire together are served in the order in which they were armed; in one poll a future is
// looked at before the timeout around it; who yields runs after all that is ready and all that this makes ready.
//
//	acquire      waiting --- idle ---> pinging ---> inHook ---> lent
//	                |                     | dead       | false, error
//	                |                     +-> ending <-+
//	                |                            | closed
//	                |                            v
//	                +--- nothing idle ------> connecting ---> inAfterConnect ---> lent
//	                |                          ^  | refused,     | error
//	                |                          |  v transient    v
//	                +--- no room ---> yielding backingOff <--- endingFresh
//
//	return       spawned ---> inHook ---> pinging ---> idle
//	                 |           |           | dead
//	                 +-----------+-----------+--> ending ---> refill
//	maintenance  sleeping ---> ending ---> refill ---> ... ---> sleeping, or yielding if it took longer than the period
//	close        ending ---> ... ---> waiting (for as many permits as the round has) ---> the next round
//	refill       connecting, inAfterConnect, endingFresh, backingOff, as above, for each connection that is missing
//
// # Surprises of the real pool, kept
//
// An acquire that has begun to connect never takes a connection that becomes idle meanwhile. A refused or transiently failing
// server is retried with a backoff during which permit and size slot are held. A scan puts a connection that it keeps back with a
// new idle_since, so idle_timeout counts from the last scan. min_connections does not warm a lazy pool. Every connection that
// close() closes gives back a permit that nobody had taken, so it waits for one return less for each; it does not count num_idle
// down; and a return that was under way when it began may leave its connection behind, open. A child's permits stay in the
// child, even when its connections are closed; one that has closed idle connections gives its parent more than it had taken, and
// an acquire with such a permit goes in circles until a connection is back.
//
// # What is different
//
// Two things are beside the real pool: Options.TimerLateness, because on an exact clock a scan that comes exactly at an
// idle_timeout would keep the connection for ever, and a timeout of a single acquire (pool.Request), which stands for one that
// the caller puts around the future. One thing is simpler: the runtime polls the program's own future ahead of all tasks, which
// would show if an eager start and the maintenance task had timers at one instant; here their order is that of all others. Not
// modelled: a runtime with several threads, its cooperative budget, transactions.
//
// Times are sim.Time and time.Duration, in nanoseconds; the timers fire on whole milliseconds, rounded up. How an acquire ends is
// a record.Outcome; a panic is a bug of this package.
package sqlx

// Version is what is modelled.
const Version = "sqlx-core 0.8.6, tokio 1.43"

// States are the edges between the states of a connection, with what takes it along them.
var States = []string{
	"none -> opening: acquire or refill, with a permit and room below max_connections",
	"opening -> in_use: acquire, connected",
	"opening -> idle: refill or eager start, connected",
	"opening -> closing: after_connect failed",
	"opening -> none: connect failed for good, timed out or given up",
	"idle -> checking: acquire, with test_before_acquire or before_acquire",
	"idle -> in_use: acquire without a check, or try_acquire",
	"idle -> closing: scan, past idle_timeout or max_lifetime; close()",
	"idle -> none: the last handle of the pool was dropped",
	"checking -> in_use: alive and accepted",
	"checking -> closing: dead or rejected; the acquire then connects with the same permit",
	"checking -> none: the acquire timed out or was given up",
	"checking -> idle: eager start, accepted",
	"in_use -> returning: dropped by its holder",
	"in_use -> closing: close() of the connection, or close_on_drop",
	"in_use -> none: detached",
	"returning -> idle: alive, after the ping",
	"returning -> closing: pool closed, past max_lifetime, rejected by after_release, or dead",
	"closing -> none: closed, or given up after 5s of close_on_drop",
}

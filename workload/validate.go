package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"poolwise/sim/dist"
	"poolwise/sim/record"
)

// Bounds that keep a run within a machine's memory and every number within 64 bits.
const (
	maxClients  = 1_000_000
	maxBurst    = 1_000_000
	maxRequests = 1_000_000_000_000_000
)

// Validate reports every mistake in o: the path of the field below the workload section and what would be right.
func (o *Options) Validate(bad func(path, message string)) {
	var sources []string
	for _, s := range []struct {
		name string
		set  bool
	}{{"clients", o.Clients != nil}, {"arrivals", o.Arrivals != nil}, {"script", o.Script != nil}} {
		if s.set {
			sources = append(sources, s.name)
		}
	}
	if len(sources) != 1 {
		bad("", "want one of clients, arrivals and script, have "+listed(sources))
	}
	o.validateClients(bad)
	if o.Arrivals != nil {
		o.Arrivals.validate(under(bad, "arrivals"))
	}
	if o.Limit != nil {
		within(bad, "limit", *o.Limit, 1, maxRequests)
		if o.Arrivals == nil && len(sources) > 0 {
			bad("limit", "limits arrivals, and there are none; clients end by repeat")
		}
	}
	if o.Deadline != nil {
		positive(bad, "deadline", *o.Deadline)
	}
	if o.Threads != nil {
		within(bad, "threads", *o.Threads, 1, maxClients)
	}
	if o.Shared && o.Script != nil {
		bad("shared", "is about clients and arrivals; a script is that of each instance")
	}
	if o.Script != nil {
		validateScript(o.Script, under(bad, "script"))
		for _, f := range []struct {
			name string
			set  bool
		}{{"request", o.Request != nil}, {"deadline", o.Deadline != nil}, {"retry", o.Retry != nil}, {"threads", o.Threads != nil}} {
			if f.set {
				bad(f.name, "each entry of a script says what it does; there is no "+f.name+" beside it")
			}
		}
		return
	}
	queries := validateRequest(o.Request, o.Threads != nil, bad)
	if o.Retry != nil {
		o.Retry.validate(queries, under(bad, "retry"))
	}
}

func (o *Options) validateClients(bad func(path, message string)) {
	if o.Clients != nil {
		within(bad, "clients", *o.Clients, 1, maxClients)
	}
	if o.Repeat != nil {
		most := int64(maxRequests)
		if o.Clients != nil && *o.Clients > 0 {
			most /= int64(*o.Clients)
		}
		within(bad, "repeat", *o.Repeat, 1, most)
	}
	o.Think.Validate(under(bad, "think"))
	o.Stagger.Validate(under(bad, "stagger"))
	if o.Clients != nil || o.Arrivals == nil && o.Script == nil {
		return
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"repeat", o.Repeat != nil}, {"think", !o.Think.IsZero()}, {"stagger", !o.Stagger.IsZero()}} {
		if f.set {
			bad(f.name, "is about clients, and there are none")
		}
	}
}

// Endless reports whether requests never stop coming: the run then needs a horizon.
func (o *Options) Endless() bool {
	switch a := o.Arrivals; {
	case o.Clients != nil:
		return o.Repeat == nil
	case a == nil || o.Limit != nil:
		return false
	case a.Poisson != nil, a.Constant != nil, a.Modulated != nil, a.Bursts != nil && a.Bursts.Count == nil:
		return true
	default:
		n := len(a.Phases)
		return n > 0 && a.Phases[n-1].For == nil
	}
}

func (a *Arrivals) validate(bad func(path, message string)) {
	var set []string
	add := func(name string, isSet bool) {
		if isSet {
			set = append(set, name)
		}
	}
	add("poisson", a.Poisson != nil)
	add("constant", a.Constant != nil)
	add("phases", a.Phases != nil)
	add("modulated", a.Modulated != nil)
	add("trace", a.Trace != nil)
	switch {
	case len(set) > 1:
		bad("", "want one of poisson, constant, phases, modulated and trace, have "+listed(set))
	case len(set) == 0 && a.Bursts == nil:
		bad("", "want one of poisson, constant, phases, modulated, trace and bursts, have none")
	}
	if a.Poisson != nil {
		rate(bad, "poisson", *a.Poisson, false)
	}
	if a.Constant != nil {
		rate(bad, "constant", *a.Constant, false)
	}
	if a.Phases != nil {
		validatePhases(a.Phases, under(bad, "phases"))
	}
	if a.Modulated != nil {
		a.Modulated.validate(under(bad, "modulated"))
	}
	if a.Trace != nil {
		a.Trace.validate(under(bad, "trace"))
	}
	if a.Bursts != nil {
		a.Bursts.validate(len(set) == 0, under(bad, "bursts"))
	}
}

func validatePhases(phases []Phase, bad func(path, message string)) {
	if len(phases) == 0 {
		bad("", "want at least one phase, such as {for: 10s, rate: 100/s}")
		return
	}
	arrive := false
	for i, p := range phases {
		at, last := fmt.Sprintf("[%d]", i), i == len(phases)-1
		arrive = arrive || (p.For == nil || *p.For > 0) && (p.Rate > 0 || p.To != nil && *p.To > 0)
		rate(bad, at+".rate", p.Rate, !(last && p.For == nil))
		if p.To != nil {
			rate(bad, at+".to", *p.To, true)
		}
		switch {
		case p.For != nil:
			notNegative(bad, at+".for", *p.For)
		case !last:
			bad(at+".for", "want a duration: only the last phase may go on for ever")
		case p.To != nil:
			bad(at+".to", "a phase that goes on for ever has one rate; give it a for")
		}
	}
	if !arrive {
		bad("", "no request ever arrives: all phases have a rate of 0/s, or last 0s")
	}
}

// minArrivals is the least mean number of arrivals in one round through the states of a modulated process. With fewer the run
// would be spent on changes of state.
const minArrivals = 1e-6

func (m *Modulated) validate(bad func(path, message string)) {
	if len(m.States) < 2 {
		bad("states", "want at least two states, such as [{rate: 50/s, mean_stay: 2s}, {rate: 500/s, mean_stay: 200ms}]")
	}
	mean := 0.0
	for i, s := range m.States {
		at := fmt.Sprintf("states[%d]", i)
		rate(bad, at+".rate", s.Rate, true)
		positive(bad, at+".mean_stay", s.MeanStay)
		mean += float64(s.Rate.PerSecond() * s.MeanStay.Seconds())
	}
	if len(m.States) >= 2 && mean < minArrivals {
		bad("states", fmt.Sprintf("want at least %v arrivals in the mean of one round through the states, have %v", minArrivals, mean))
	}
}

func (t *Trace) validate(bad func(path, message string)) {
	if t.File == "" && t.Times == nil {
		bad("file", "want the path of a file")
	}
	for i := range t.Times {
		if t.Times[i] < 0 || i > 0 && t.Times[i] < t.Times[i-1] {
			bad("file", fmt.Sprintf("want times in rising order from 0 on, have %v as number %d", t.Times[i], i+1))
			return
		}
	}
}

func (b *Bursts) validate(alone bool, bad func(path, message string)) {
	within(bad, "size", b.Size, 1, maxBurst)
	if b.Count != nil {
		least := int64(0)
		if alone {
			least = 1
		}
		within(bad, "count", *b.Count, least, maxRequests)
	}
	if b.Every != 0 || b.Count == nil || *b.Count != 1 {
		positive(bad, "every", b.Every)
	}
	notNegative(bad, "offset", b.Offset)
}

func validateScript(script []Scripted, bad func(path, message string)) {
	if len(script) == 0 {
		bad("", "want at least one entry, such as {at: 0ms, hold: 10ms}")
	}
	ids := map[string]bool{}
	for i, s := range script {
		bad := under(bad, fmt.Sprintf("[%d]", i))
		if s.ID != "" && ids[s.ID] {
			bad("id", fmt.Sprintf("there are two entries %q", s.ID))
		}
		ids[s.ID] = true
		notNegative(bad, "at", s.At)
		notNegative(bad, "hold", s.Hold)
		validateTimeout(s.Timeout, s.Op == TryAcquireOp, bad)
		if s.CancelAt != nil && *s.CancelAt < s.At {
			bad("cancel_at", fmt.Sprintf("want a time not before at (%v), have %v", s.At, *s.CancelAt))
		}
	}
}

// validateTimeout checks the limit of one acquire.
func validateTimeout(timeout *time.Duration, try bool, bad func(path, message string)) {
	switch {
	case timeout == nil:
	case try:
		bad("timeout", "a try does not wait: leave out the timeout or the try")
	case *timeout <= 0:
		bad("timeout", fmt.Sprintf("want a duration above 0, have %v; without one the pool's default holds, and a try does not wait", *timeout))
	}
}

func (r *Retry) validate(queries int, bad func(path, message string)) {
	within(bad, "attempts", r.Attempts, 1, maxAttempts)
	if queries <= maxQueries && r.Attempts <= maxAttempts && r.Attempts*queries > maxQueries {
		bad("attempts", fmt.Sprintf("want at most %d queries in all attempts of a request, have %d x %d", maxQueries, r.Attempts, queries))
	}
	notNegative(bad, "backoff", r.Backoff)
	if r.Factor != nil && !(*r.Factor >= 1 && *r.Factor <= 1e6) {
		bad("factor", fmt.Sprintf("want a number from 1 to 1e6, have %v", *r.Factor))
	}
	if r.MaxBackoff != nil {
		positive(bad, "max_backoff", *r.MaxBackoff)
	}
	if !(r.Jitter >= 0 && r.Jitter <= 1) {
		bad("jitter", fmt.Sprintf("want a share from 0%% to 100%%, have %v%%", float64(r.Jitter)*100))
	}
	if r.On != nil && len(r.On) == 0 {
		bad("on", "want at least one outcome; without on every failure is worth another attempt")
	}
	for i, f := range r.On {
		if !mayRetry(record.Outcome(f)) {
			bad(fmt.Sprintf("on[%d]", i), fmt.Sprintf("no attempt follows a request that ended %v", f))
		}
	}
}

// stepChecker goes through the steps of a request as the request itself will.
type stepChecker struct {
	bad     func(path, message string)
	held    []string // paths of the acquires whose connections are held
	begun   []bool   // whether they are in a transaction
	open    []string // paths of releases within a transaction, unless dirty says that it is meant
	meant   bool
	threads bool
	queries int
}

// validateRequest returns how many queries the request makes.
func validateRequest(steps []Step, threads bool, bad func(path, message string)) int {
	if len(steps) == 0 {
		bad("request", "want at least one step, such as [acquire, query: 5ms, release]")
		return 0
	}
	c := stepChecker{bad: bad, threads: threads}
	c.steps("request", steps)
	if c.queries > maxQueries {
		bad("request", fmt.Sprintf("want at most %d queries, have %d", maxQueries, c.queries))
	}
	return c.queries
}

// LeavesTransactions returns the paths of the steps that release a connection within a transaction, without a step dirty that says it
// is meant.
func (o *Options) LeavesTransactions() []string {
	c := stepChecker{bad: func(string, string) {}, threads: o.Threads != nil}
	c.steps("request", o.Request)
	return c.open
}

// steps checks a sequence that returns what it acquires.
func (c *stepChecker) steps(path string, steps []Step) {
	base, before := len(c.held), slices.Clone(c.begun)
	for i := range steps {
		c.step(fmt.Sprintf("%s[%d]", path, i), &steps[i], base)
		if a := steps[i].Act; a != nil && *a == ReturnAgain && (i == 0 || steps[i-1].Return == nil) {
			c.bad(fmt.Sprintf("%s[%d]", path, i), "return_again is for the step after a return")
		}
	}
	for _, acquire := range c.held[base:] {
		c.bad(acquire, "acquire without release, discard, detach or leak")
	}
	c.held, c.begun = c.held[:base], c.begun[:base]
	if !slices.Equal(c.begun, before) {
		c.bad(path, "a transaction of a connection that was acquired outside this do must begin and end on one side")
	}
}

// act checks a step that is only a name.
func (c *stepChecker) act(path string, a Act) {
	last := len(c.held) - 1
	switch {
	case a == SwitchThread:
		if !c.threads {
			c.bad(path, "switch_thread where there are no threads")
		}
	case a == ReturnAgain:
	case last < 0:
		c.bad(path, fmt.Sprintf("%v before any acquire", a))
	case a == BeginTx && c.begun[last]:
		c.bad(path, "begin in a transaction")
	case a != BeginTx && !c.begun[last]:
		c.bad(path, fmt.Sprintf("%v without begin", a))
	default:
		c.begun[last] = a == BeginTx
	}
	if a <= RollbackTx {
		c.queries++
	}
}

// step checks one step; the first base of the connections held are not its sequence's to give back.
func (c *stepChecker) step(path string, s *Step, base int) {
	var set []string
	add := func(name string, isSet bool, check func(path string)) {
		if isSet {
			set = append(set, name)
			check(path + "." + name)
		}
	}
	add("acquire", s.Acquire != nil, func(path string) {
		validateTimeout(s.Acquire.Timeout, s.Acquire.Try, under(c.bad, path))
		c.held, c.begun = append(c.held, path), append(c.begun, false)
		if len(c.held) == maxDepth+1 {
			c.bad(path, fmt.Sprintf("want at most %d connections held at once", maxDepth))
		}
	})
	add("query", s.Query != nil, func(path string) {
		c.queries++
		s.Query.Validate(under(c.bad, path))
		if len(c.held) == 0 {
			c.bad(path, "query before any acquire")
		}
	})
	add("call", s.Call != nil, func(path string) { s.Call.Validate(under(c.bad, path)) })
	add("return", s.Return != nil, func(string) {
		switch {
		case len(c.held) > base:
			if *s.Return == Release && c.begun[len(c.held)-1] && !c.meant {
				c.open = append(c.open, path)
			}
			c.meant = false
			c.held, c.begun = c.held[:len(c.held)-1], c.begun[:len(c.held)-1]
		case base > 0:
			c.bad(path, fmt.Sprintf("%v of a connection that was acquired outside this do", *s.Return))
		default:
			c.bad(path, fmt.Sprintf("%v without acquire", *s.Return))
		}
	})
	add("dirty", s.Dirty != nil, func(string) {
		c.meant = c.meant || *s.Dirty == Transaction
		if len(c.held) == 0 {
			c.bad(path, "dirty before any acquire")
		}
	})
	add("act", s.Act != nil, func(string) { c.act(path, *s.Act) })
	add("leak", s.Leak != nil, func(path string) {
		s.Leak.Validate(under(c.bad, path))
		if len(c.held) == 0 {
			c.bad(path, "leak before any acquire")
		}
	})
	add("fail", s.Fail != nil, func(path string) { s.Fail.Validate(under(c.bad, path)) })
	add("cancel", s.Cancel != nil, func(path string) {
		s.Cancel.After.Validate(under(c.bad, path+".after"))
		if s.Cancel.After.IsZero() {
			c.bad(path+".after", "want a duration: how long the caller waits from here on")
		}
	})
	add("do", s.Do != nil, func(path string) {
		c.steps(path, s.Do)
		if len(s.Do) == 0 {
			c.bad(path, "want at least one step")
		}
	})
	if len(set) != 1 {
		c.bad(path, "want one of acquire, query, call, return, dirty, act, leak, fail, cancel and do, have "+listed(set))
	}
	if s.CancelAfter != nil {
		s.CancelAfter.Validate(under(c.bad, path+".cancel_after"))
		if s.Query == nil {
			c.bad(path+".cancel_after", "is for query")
		}
	}
	if s.Chance != nil {
		s.Chance.Validate(under(c.bad, path+".chance"))
		if s.Query == nil && s.Call == nil && s.Cancel == nil && s.Do == nil {
			c.bad(path+".chance", "is for query, call, cancel and do: whether a connection is held must not hang on chance")
		}
	}
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " and ")
}

// under returns a bad for what lies below path.
func under(bad func(path, message string), path string) func(string, string) {
	return func(p, message string) {
		if p != "" && p[0] != '[' && path != "" {
			p = "." + p
		}
		bad(path+p, message)
	}
}

func within[T int | int64](bad func(path, message string), path string, v, least, most T) {
	if v < least || v > most {
		bad(path, fmt.Sprintf("want %d to %d, have %d", least, most, v))
	}
}

func positive(bad func(path, message string), path string, d time.Duration) {
	if d <= 0 {
		bad(path, fmt.Sprintf("want a duration above 0, have %v", d))
	}
}

func notNegative(bad func(path, message string), path string, d time.Duration) {
	if d < 0 {
		bad(path, fmt.Sprintf("want a duration that is not negative, have %v", d))
	}
}

func rate(bad func(path, message string), path string, r dist.Rate, zero bool) {
	v := r.PerSecond()
	switch {
	case math.IsNaN(v) || v < 0 || v > 1e9:
		bad(path, fmt.Sprintf("want a rate from 0/s to 1e9/s, have %v", r))
	case v == 0 && !zero:
		bad(path, "want a rate above 0/s")
	}
}

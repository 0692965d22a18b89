package record

import "strconv"

// SizingSchema names the form of Sizing in JSON.
const SizingSchema = "poolwise.size/v1"

// Sizing says which size to give a pool. Only the sizes in Sizes were run; of others nothing is claimed but what Search says.
type Sizing struct {
	Schema   string    `json:"schema"`
	Scenario Scenario  `json:"scenario"`
	Key      string    `json:"key"`     // path of the size
	Verdict  Status    `json:"verdict"` // passed: there is a size to use; failed: none meets the checks; inconclusive: it cannot be told
	Use      *int      `json:"use"`     // the size; null if there is none
	Basis    SizeBasis `json:"basis"`

	Below       *Miss  `json:"below"`     // the next smaller size that was run and misses a check
	Above       *Miss  `json:"above"`     // the smallest larger size from which on all that were run miss a check
	Closest     *Miss  `json:"closest"`   // if no size meets the checks: the one that comes nearest, and what it misses most
	Undecided   []int  `json:"undecided"` // sizes whose checks are too close to call, but for those larger than Use
	Alike       []int  `json:"alike"`     // Use, and the sizes that cannot be told apart from it
	Unsettled   []int  `json:"unsettled"` // those of Alike that are not shown to be within the zone of indifference either
	Clean       *Clean `json:"clean,omitempty"`
	RefusedFrom *int   `json:"refused_from"` // from this size on, at all that were run, the server refuses connections
	Knee        *Knee  `json:"knee"`

	Indifference float64    `json:"indifference"` // half the width of the zone, as a share of the figure at Use
	Figures      []string   `json:"figures"`      // by which sizes are told apart
	Search       Search     `json:"search"`
	Confidence   Confidence `json:"confidence"`
	// Guard is a check that the search adds: where there are checks and none is about failures, that no size looks good because few
	// requests are served; without checks, that there is no deadlock, if there are any.
	Guard     string     `json:"guard,omitempty"`
	Sizes     []Sized    `json:"sizes"` // ascending
	USL       *USL       `json:"usl"`
	Instances *Instances `json:"instances"`
	ErlangC   *ErlangC   `json:"erlang_c"`
	Warnings  []string   `json:"warnings"`
}

// SizeBasis is what a size was chosen by.
type SizeBasis string

// The bases.
const (
	ByChecks SizeBasis = "checks" // the smallest size that meets them
	ByKnee   SizeBasis = "knee"   // without checks: the knee of the curve
)

// Miss is a size that misses a check, or comes nearest to meeting it.
type Miss struct {
	Size  int   `json:"size"`
	Check Check `json:"check"`
}

// Clean is where requests cease to fail: of two sizes of which none between was run, they do at Below and not at Size (see Cell.Clean).
// It is the smallest such size.
type Clean struct {
	Size       int   `json:"size"`
	Below      int   `json:"below"`
	FailedRate Float `json:"failed_rate"` // below
	Deadlock   bool  `json:"deadlock"`    // below, requests deadlock
}

// Knee is the knee of the curve: the smallest size whose throughput is at most the zone of indifference below the best, and whose
// p(99) at most that above the lowest p(99) of the sizes with such a throughput. Only sizes at which no request fails count (see
// Cell.Clean), if there are any. It goes by the means of the replications that two sizes have in common.
type Knee struct {
	Size       int   `json:"size"`
	Best       int   `json:"best"`       // the size of the highest throughput, the smallest of equals
	Fastest    int   `json:"fastest"`    // the size of the lowest p(99) among those with such a throughput
	Throughput Float `json:"throughput"` // of the knee as a share of the best
	Below      int   `json:"below"`      // the next smaller size that was run; 0 if there is none
	BelowShare Float `json:"below_share"`
}

// Search says how the sizes that were run were chosen.
type Search struct {
	From         int          `json:"from"`   // the smallest size that could be run
	To           int          `json:"to"`     // the largest
	Sizes        int          `json:"sizes"`  // how many there were between them, these included
	Method       SearchMethod `json:"method"` // all, bisection or scan
	Why          string       `json:"why"`    // the method; a sentence
	Replications int          `json:"replications"`
	Budget       int          `json:"budget"` // of replications, of all sizes together
	Most         int          `json:"most"`   // replications of one size
	Spent        bool         `json:"spent"`  // the budget ended the search
}

// SearchMethod is how the sizes that were run were chosen.
type SearchMethod string

// The methods.
const (
	SearchAll       SearchMethod = "all"       // every size was run
	SearchBisection SearchMethod = "bisection" // a coarse grid, then halving where the curve turns
	SearchScan      SearchMethod = "scan"      // a coarse grid, then every size below the first that meets the checks
)

// Confidence says how often the intervals that verdicts were taken on miss. Together, all verdicts on checks are right with a
// probability of Level at least, and so are all comparisons with Use (Bonferroni over sizes, checks or figures, and looks).
type Confidence struct {
	Level       float64 `json:"level"`
	Checks      float64 `json:"checks"`      // chance that the interval of one check misses, at one look
	Comparisons float64 `json:"comparisons"` // the same, of one comparison
	Looks       int     `json:"looks"`
}

// Sized is one size that was run.
type Sized struct {
	Size     int          `json:"size"`
	Verdict  Status       `json:"verdict"` // of its checks
	Relation SizeRelation `json:"relation"`
	Checks   []Check      `json:"checks"`
	Versus   []Versus     `json:"versus"` // Use; empty for Use itself, and where there is none
	Cell     Cell         `json:"cell"`   // with the usual intervals at 95 %
}

// SizeRelation is how a size stands to the one to use.
type SizeRelation string

// The relations.
const (
	SizeUsed      SizeRelation = "use"
	SizeMisses    SizeRelation = "misses"    // a check
	SizeUndecided SizeRelation = "undecided" // its checks are too close to call
	SizeRefused   SizeRelation = "refused"   // the server refuses connections, though no check minds
	SizeAlike     SizeRelation = "alike"     // shown to be within the zone of indifference in all figures
	SizeUnsettled SizeRelation = "unsettled" // not shown to be within the zone, nor outside
	SizeBetter    SizeRelation = "better"    // outside the zone, always to its advantage
	SizeWorse     SizeRelation = "worse"     // outside the zone, always to its disadvantage
	SizeDifferent SizeRelation = "different" // better in one figure and worse in another
	SizeUnrelated SizeRelation = ""          // there is no size to use
)

// Versus compares a figure of a size with that of the size to use, pair by pair.
type Versus struct {
	Figure     string `json:"figure"`
	Base       Float  `json:"base"`       // the figure of the size to use, in the replications that both have
	Difference Float  `json:"difference"` // from it, with its interval (see Confidence)
	Relative   Float  `json:"relative"`   // the difference as a share of Base; unknown if that is 0
	Verdict    Zone   `json:"verdict"`
}

// Zone is where an interval lies.
type Zone string

// The zones.
const (
	ZoneWithin  Zone = "within"     // the zone of indifference
	ZoneBetter  Zone = "better"     // outside
	ZoneWorse   Zone = "worse"      // outside
	ZoneEdge    Zone = "unsettled"  // on an edge of the zone
	ZoneUnknown Zone = "unmeasured" // there are no two pairs
)

// USL is the universal scalability law (Gunther 1993) fitted to the throughput X at n connections, of all instances together:
//
//	X(n) = Lambda * n / (1 + Sigma*(n-1) + Kappa*n*(n-1))
//
// It is a least-squares fit of n/X, each with the weight of a relative error, to the sizes at which the pool limits the throughput
// and no request fails, up to the number of cores, beyond which the cores do. The intervals at 95 % are expanded percentile intervals
// (Hesterberg 2015) of a bootstrap over the replications. Without a fit, Why says why.
type USL struct {
	Fitted bool   `json:"fitted"`
	Why    string `json:"why,omitempty"`
	Sizes  []int  `json:"sizes"`  // fitted to
	Cores  int    `json:"cores"`  // 0 for no limit
	Lambda Float  `json:"lambda"` // throughput of one connection, per second
	Sigma  Float  `json:"sigma"`
	Kappa  Float  `json:"kappa"`
	Peak   Float  `json:"peak"` // connections of the highest throughput, at most the cores; unknown if it grows without end, its interval if it may
	AtPeak Float  `json:"at_peak"`
	Off    Float  `json:"off"` // the largest deviation of the curve from a mean, as a share of it

	Set [2]float64 `json:"set"` // sigma and kappa of the scenario's server
}

// Instances is what the server's limit leaves to each of several instances.
type Instances struct {
	Limit     int    `json:"limit"`     // connections
	Of        string `json:"of"`        // whose limit: server, role or pooler
	Superuser int    `json:"superuser"` // of them reserved for superusers
	Reserved  int    `json:"reserved"`
	Others    int    `json:"others"` // connections that other services may open
	Left      int    `json:"left"`
	Instances int    `json:"instances"`
	Surge     int    `json:"surge"` // instances more at the peak, as during a release
	Each      int    `json:"each"`  // connections of each instance that fit at the peak
	Without   int    `json:"without_surge"`
}

// ErlangC compares the mean wait at the size to use with that of an M/M/c queue of as many servers, offered the same load.
type ErlangC struct {
	Servers   int      `json:"servers"`
	Arrivals  Float    `json:"arrivals"` // acquires per second and pool
	Hold      Duration `json:"hold"`     // mean
	Load      Float    `json:"load"`     // offered, in erlangs
	Wait      Duration `json:"wait"`     // mean, by Erlang C; null if the load is too much for so many servers
	Simulated Duration `json:"simulated"`
	Wrong     bool     `json:"wrong"` // outside the interval of the simulated wait, and off by more than a fifth of it
	Reasons   []string `json:"reasons"`
}

// Result returns the sizes that were run as the result of a sweep.
func (s *Sizing) Result() *Result {
	r := &Result{Schema: Schema, Scenario: s.Scenario, Cells: []Cell{}, Checks: []Check{}, Verdict: s.Verdict}
	for i := range s.Sizes {
		r.Cells = append(r.Cells, s.Sizes[i].Cell)
		for _, k := range s.Sizes[i].Checks {
			k.Cell = i
			r.Checks = append(r.Checks, k)
		}
	}
	return r
}

// Of returns what was run of a size, nil if it was not.
func (s *Sizing) Of(size int) *Sized {
	for i := range s.Sizes {
		if s.Sizes[i].Size == size {
			return &s.Sizes[i]
		}
	}
	return nil
}

// SizeOf reads a size from the settings of a cell.
func SizeOf(s Settings, key string) (int, bool) {
	for _, kv := range s {
		if kv.Key == key {
			n, err := strconv.Atoi(kv.Value)
			return n, err == nil && n > 0
		}
	}
	return 0, false
}

package workload

import (
	"fmt"
	"slices"
	"strings"

	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

var (
	spacings  = []string{"poisson", "constant"}
	scriptOps = []string{"acquire", "try_acquire"}
	returns   = []string{"release", "discard", "close_on_drop", "detach", "leak"}
	acts      = []string{"begin", "commit", "rollback", "return_again", "switch_thread"}
	dirts     = []string{"transaction", "parameter"}
)

// String returns the word for s in a scenario file.
func (s Spacing) String() string { return spacings[s] }

// UnmarshalText reads poisson or constant.
func (s *Spacing) UnmarshalText(text []byte) error { return wording.Number(s, spacings, text) }

// String returns the word for o in a scenario file.
func (o ScriptOp) String() string { return scriptOps[o] }

// UnmarshalText reads acquire or try_acquire.
func (o *ScriptOp) UnmarshalText(text []byte) error { return wording.Number(o, scriptOps, text) }

// String returns the word for r in a scenario file.
func (r Return) String() string { return returns[r] }

// UnmarshalText reads release, discard, close_on_drop, detach or leak.
func (r *Return) UnmarshalText(text []byte) error { return wording.Number(r, returns, text) }

// String returns the word for a in a scenario file.
func (a Act) String() string { return acts[a] }

// UnmarshalText reads begin, commit, rollback, return_again or switch_thread.
func (a *Act) UnmarshalText(text []byte) error { return wording.Number(a, acts, text) }

// String returns the word for d in a scenario file.
func (d Dirt) String() string { return dirts[d] }

// UnmarshalText reads transaction or parameter.
func (d *Dirt) UnmarshalText(text []byte) error { return wording.Number(d, dirts, text) }

// UnmarshalText reads full or a percentage.
func (j *Jitter) UnmarshalText(text []byte) error {
	if string(text) == "full" {
		*j = 1
		return nil
	}
	var p dist.Probability
	if err := p.UnmarshalText(text); err != nil {
		return fmt.Errorf(`want "full" or a percentage such as 50%%, have %q`, text)
	}
	*j = Jitter(p)
	return nil
}

// mayRetry reports whether another attempt can follow a failure: it must be one of a request's own, and not the end of its time
// or of its caller's patience.
func mayRetry(o record.Outcome) bool {
	return o > record.OK && o <= record.Rejected && o != record.Cancelled && o != record.RequestTimeout
}

// String returns the name of the outcome.
func (f Failure) String() string { return record.Outcome(f).String() }

// UnmarshalText reads the name of an outcome.
func (f *Failure) UnmarshalText(text []byte) error {
	o, ok := record.OutcomeNamed(string(text))
	if ok && mayRetry(o) {
		*f = Failure(o)
		return nil
	}
	var names []string
	for o := range record.NumOutcomes {
		if mayRetry(o) {
			names = append(names, o.String())
		}
	}
	return fmt.Errorf("want %s, have %q", wording.Or(names), text)
}

// UnmarshalText reads a step that is only a name.
func (s *Step) UnmarshalText(text []byte) error {
	if string(text) == "acquire" {
		*s = Step{Acquire: &Acquire{}}
		return nil
	}
	var r Return
	if r.UnmarshalText(text) == nil {
		*s = Step{Return: &r}
		return nil
	}
	var a Act
	if a.UnmarshalText(text) == nil {
		*s = Step{Act: &a}
		return nil
	}
	words := slices.Concat([]string{"acquire"}, returns, acts)
	return fmt.Errorf("want %s, or a step with a value such as {query: 5ms}, have %q", strings.Join(words, ", "), text)
}

package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is one mistake in a scenario. It prints as
//
//	burst.yaml:14:22: pool.idle_timeout: want a duration with its unit, such as 20ms or 1m30s, have "30"
//
// or, if the mistake came in with an override, with that in the place of the file.
type Error struct {
	File  string // as given to Decode
	Line  int    // from 1; 0 if From is set
	Col   int    // from 1, in bytes; 0 if From is set
	From  string // the override that brought the mistake in: "--set pool.max"
	Field string // dotted path; empty for a syntax error
	Msg   string // what is wrong and what would be right

	order int // of From among the overrides, from 1
}

// Error returns the one line that shows e.
func (e *Error) Error() string {
	var b strings.Builder
	field := e.Field
	if e.From == "" {
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Col)
	} else {
		b.WriteString(strings.TrimSpace(e.From) + ": ")
		flag, path, _ := strings.Cut(e.From, " ")
		if flag == "--over" {
			field = strings.TrimPrefix(field, "sweep.")
		}
		if rest, ok := below(field, path); ok { // the override has named it already
			field = rest
		}
	}
	if field != "" {
		b.WriteString(field + ": ")
	}
	b.WriteString(e.Msg)
	return oneLine(b.String())
}

// oneLine returns s with what would spoil a line or a terminal escaped, and not endless: keys and names are the user's.
func oneLine(s string) string {
	const most = 2000
	if len(s) > most {
		s = s[:most-3] + "..."
	}
	if !strings.ContainsFunc(s, spoils) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if spoils(c) {
			b.WriteString(strings.Trim(strconv.QuoteRune(c), "'"))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func spoils(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }

// Errors are all mistakes in a scenario, the first hundred of them, in the order of their places: the file's, then those of the
// overrides.
type Errors []*Error

// Error returns a line for each mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, x := range e {
		lines[i] = x.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes one by one.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, x := range e {
		all[i] = x
	}
	return all
}

// maxErrors is how many mistakes are shown.
const maxErrors = 100

// err returns e sorted and without repetitions, nil if there are none.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	e = slices.Clone(e)
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	seen := map[Error]bool{}
	e = slices.DeleteFunc(e, func(x *Error) bool {
		key := *x
		key.Field = "" // one value may be reached on several paths: aliases, cells of a sweep
		was := seen[key]
		seen[key] = true
		return was
	})
	if n := len(e) - maxErrors; n > 0 {
		more := *e[maxErrors]
		more.Field, more.Msg = "", fmt.Sprintf("here begin %d more mistakes", n)
		e = append(e[:maxErrors], &more)
	}
	return e
}

// below reports whether path is ancestor or lies below it, and returns what is left of it then.
func below(path, ancestor string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, ancestor)
	switch {
	case !ok || ancestor == "":
		return rest, ok
	case rest == "" || rest[0] == '[':
		return rest, true
	case rest[0] == '.':
		return rest[1:], true
	}
	return "", false
}

// join returns the path of name below path.
func join(path, name string) string {
	switch {
	case path == "":
		return name
	case name == "" || name[0] == '[':
		return path + name
	}
	return path + "." + name
}

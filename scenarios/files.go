package scenarios

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/workload"
)

// maxData is the size of the largest data file.
const maxData = 64 << 20

// files reads the data files that a scenario names, each once for all cells.
type files struct {
	open    func(name string) (fs.File, error)
	texts   map[string]*read[[]byte]
	traces  map[string]*read[[]sim.Time]
	columns map[columnOf]*read[[]time.Duration]
}

type columnOf struct{ file, column, unit string }

// read is what came of reading something.
type read[T any] struct {
	value T
	err   error
}

func newFiles(open func(name string) (fs.File, error)) *files {
	return &files{open, map[string]*read[[]byte]{}, map[string]*read[[]sim.Time]{}, map[columnOf]*read[[]time.Duration]{}}
}

// once returns what is in the cache, or else puts there what get returns.
func once[K comparable, T any](cache map[K]*read[T], key K, get func() (T, error)) (T, error) {
	if cache[key] == nil {
		v, err := get()
		cache[key] = &read[T]{v, err}
	}
	return cache[key].value, cache[key].err
}

// text returns the contents of a file without a byte order mark.
func (f *files) text(name string) ([]byte, error) {
	return once(f.texts, name, func() ([]byte, error) {
		if f.open == nil {
			return nil, fmt.Errorf("%s: files cannot be read here", name)
		}
		file, err := f.open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, reason(err))
		}
		defer file.Close()
		b, err := io.ReadAll(io.LimitReader(file, maxData+1))
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, reason(err))
		case len(b) > maxData:
			return nil, fmt.Errorf("%s: it has more than %d MiB", name, maxData>>20)
		case !utf8.Valid(b):
			return nil, fmt.Errorf("%s: it is not UTF-8 text", name)
		}
		return bytes.TrimPrefix(b, []byte("\ufeff")), nil
	})
}

// reason leaves out what an error says of the path, which depends on the machine.
func reason(err error) error {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file")
	case errors.As(err, &p):
		return p.Err
	}
	return err
}

// trace returns the arrival times in a file.
func (f *files) trace(name string) ([]sim.Time, error) {
	return once(f.traces, name, func() ([]sim.Time, error) {
		b, err := f.text(name)
		if err != nil {
			return nil, err
		}
		times, err := workload.ParseTrace(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return times, nil
	})
}

// columnError is a mistake in which column is meant.
type columnError struct{ msg string }

func (e *columnError) Error() string { return e.msg }

// samples returns the samples of an empirical distribution from its file.
func (f *files) samples(e *dist.Empirical) ([]time.Duration, error) {
	key := columnOf{e.File, e.Column, e.Unit}
	return once(f.columns, key, func() ([]time.Duration, error) {
		b, err := f.text(e.File)
		if err != nil {
			return nil, err
		}
		return parseColumn(key, b)
	})
}

// parseColumn reads a column of a CSV file as durations. Bare numbers are in the unit. If the first row has no duration there it
// holds the names of the columns. Lines that begin with # are comments.
func parseColumn(c columnOf, text []byte) ([]time.Duration, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment, r.FieldsPerRecord, r.TrimLeadingSpace, r.ReuseRecord = '#', -1, true, true
	var all []time.Duration
	at := 0
	for first := true; ; first = false {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			var p *csv.ParseError
			if errors.As(err, &p) {
				return nil, fmt.Errorf("%s:%d:%d: %w", c.file, p.Line, p.Column, p.Err)
			}
			return nil, fmt.Errorf("%s: %w", c.file, err)
		}
		if first {
			var named bool
			if at, named, err = c.find(row); err != nil {
				return nil, err
			}
			if named {
				continue
			}
		}
		if at >= len(row) {
			line, col := r.FieldPos(len(row) - 1)
			return nil, fmt.Errorf("%s:%d:%d: want at least %d columns, have %d", c.file, line, col, at+1, len(row))
		}
		d, err := c.parse(row[at])
		if err != nil {
			line, col := r.FieldPos(at)
			return nil, fmt.Errorf("%s:%d:%d: %w", c.file, line, col, err)
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: there are no samples in it", c.file)
	}
	return all, nil
}

// find returns the index of the column in the first row, and whether that row holds names.
func (c columnOf) find(row []string) (at int, named bool, err error) {
	for i, name := range row {
		if c.column != "" && strings.TrimSpace(name) == c.column {
			return i, true, nil
		}
	}
	if c.column != "" {
		n, err := strconv.Atoi(c.column)
		switch {
		case err != nil:
			return 0, false, &columnError{fmt.Sprintf("%s has no column %q; it has %s", c.file, c.column, short(strings.Join(row, ", ")))}
		case n < 1 || n > len(row):
			return 0, false, &columnError{fmt.Sprintf("%s has columns 1 to %d, no %d", c.file, len(row), n)}
		}
		at = n - 1
	}
	_, err = c.parse(row[at])
	return at, err != nil && !startsNumber(row[at]), nil
}

// startsNumber reports whether a field can only be meant as a number.
func startsNumber(s string) bool {
	s = strings.TrimSpace(s)
	return s == "" || strings.ContainsRune("+-.0123456789", rune(s[0]))
}

func (c columnOf) parse(field string) (time.Duration, error) {
	s := strings.TrimSpace(field)
	if !decimal.MatchString(s) {
		d, err := dist.ParseDuration(s)
		if err != nil {
			return 0, errors.New(clip(err.Error()))
		}
		return d, nil
	}
	unit, ok := map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[c.unit]
	if !ok {
		return 0, fmt.Errorf("want a duration with its unit, have %s; if all have one unit, say so beside file: unit: ms", short(s))
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 || float64(v*unit) >= float64(dist.Max) {
		return 0, fmt.Errorf("want a duration from 0 to 292 years, have %s%s", short(s), c.unit)
	}
	return time.Duration(float64(v*unit) + 0.5), nil
}

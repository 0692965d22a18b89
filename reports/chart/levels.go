package chart

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// LevelsOverTime draws how one cell's pools fared over time, in its first replication: connections by state below their maximum,
// those who wait, and how many requests ended well or not. Several services have their panels one below the other, after one
// of all their connections. Areas are means of a short while, lines the most in it; faults, actions and the warm-up are marked.
func LevelsOverTime(r *record.Result, cell int, format string) ([]byte, error) {
	if cell < 0 || cell >= len(r.Cells) {
		return nil, errors.New("levels: there is no such cell")
	}
	c := &r.Cells[cell]
	if !hasLevels(&c.Curves.Levels) {
		return nil, errors.New("levels: the result has no levels over time; one that was read from JSON has figures only")
	}
	o := newOvertime(r, c)
	return renderHigh(format, o.height(), o.draw)
}

func hasLevels(s *record.Series) bool { return s.Bin > 0 && bins(s) > 0 }

func bins(s *record.Series) (n int) {
	for _, mean := range s.Mean {
		n = max(n, len(mean))
	}
	return n
}

// overtime is a chart of levels over time.
type overtime struct {
	r      *record.Result
	cell   *record.Cell
	window time.Duration // that is one step
	end    time.Duration
	all    course // of all pools
	each   []course
	marks  []moment
}

// course is what is drawn of some pools.
type course struct {
	name             string
	borrows          bool // it has no pool of its own
	slots            int
	instances        int
	size, inUse      level
	connecting, idle level
	other            level // checked, returned or closed
	waiting          level
	ok, failed       []float64 // requests that ended, per second
	full, failures   string    // when that was
}

// level is the course of one level.
type level struct{ mean, max []float64 }

func (l level) most() float64 { return slices.Max(append([]float64{0}, l.max...)) }

// mostWindows is how many steps there are at the most.
const mostWindows = 160

func newOvertime(r *record.Result, c *record.Cell) *overtime {
	s := &c.Curves.Levels
	o := &overtime{r: r, cell: c}
	per := (bins(s) + mostWindows - 1) / mostWindows
	windows := (bins(s) + per - 1) / per
	o.window = s.Bin * time.Duration(per)
	if o.window/time.Duration(per) != s.Bin || o.window > math.MaxInt64/mostWindows {
		o.window = math.MaxInt64 / mostWindows
	}
	// The last step may be short, but not too short to be seen.
	last := o.window * time.Duration(windows-1)
	o.end = last + o.window
	if s.End > 0 {
		o.end = last + min(max(s.End-last, o.window/2, 1), o.window)
	}
	o.all = o.newCourse(&s.Course, per, windows)
	for i := range s.Services {
		e := o.newCourse(&s.Services[i], per, windows)
		e.name = digest.Printable(c.Name(&s.Services[i]))
		e.borrows = s.Services[i].First < len(c.Pools) && c.Pools[s.Services[i].First].PoolOf != ""
		o.each = append(o.each, e)
	}
	if len(o.each) == 0 {
		o.each = []course{o.all}
	}
	if s.Pooler != nil {
		e := o.newCourse(s.Pooler, per, windows)
		e.name = "pooler"
		o.each = append(o.each, e)
		if len(o.each) == 2 {
			o.each[0].name = "clients of the pooler"
		}
	}
	o.marks = moments(c)
	return o
}

// newCourse makes windows of the bins of a course.
func (o *overtime) newCourse(of *record.Course, per, windows int) course {
	s := &o.cell.Curves.Levels
	c := course{slots: of.Slots, instances: of.N, ok: make([]float64, windows), failed: make([]float64, windows)}
	for _, l := range []struct {
		name string
		to   *level
	}{{"size", &c.size}, {"idle", &c.idle}, {"in_use", &c.inUse}, {"waiting", &c.waiting}, {"connecting", &c.connecting}} {
		to := l.to
		*to = level{make([]float64, windows), make([]float64, windows)}
		i := slices.Index(s.Names, l.name)
		if i < 0 || i >= len(of.Mean) || i >= len(of.Max) {
			continue
		}
		for w := range windows {
			to.mean[w], to.max[w] = windowOf(of.Mean[i], of.Max[i], w*per, per)
		}
	}
	c.other = level{make([]float64, windows), make([]float64, windows)}
	for w := range windows {
		rest := c.size.mean[w] - c.idle.mean[w] - c.inUse.mean[w] - c.connecting.mean[w]
		if rest > 0.005*c.size.mean[w] { // else it is the error of the last bits, or cannot be seen
			c.other.mean[w], c.other.max[w] = rest, rest
		}
	}
	for i, e := range of.Ended {
		if w := i / per; w < windows {
			c.ok[w] += float64(e.OK) / o.length(w).Seconds()
			c.failed[w] += float64(e.Failed) / o.length(w).Seconds()
		}
	}
	c.full, c.failures = whenFull(s, of), whenFailed(s, of)
	return c
}

// length is how long a step lasts; what happens in next to no time at the end counts as if it took a little.
func (o *overtime) length(w int) time.Duration {
	if end := o.cell.Curves.Levels.End; end > 0 {
		return min(max(end-o.window*time.Duration(w), o.window/4, 1), o.window)
	}
	return o.window
}

// windowOf returns the mean and the maximum of some bins.
func windowOf(means []float64, highest []int64, from, n int) (mean, most float64) {
	k := 0
	for i := from; i < min(from+n, len(means)); i++ {
		m := means[i]
		if math.IsNaN(m) || math.IsInf(m, 0) {
			m = 0
		}
		mean += m
		k++
		if most = max(most, m); i < len(highest) {
			most = max(most, float64(highest[i]))
		}
	}
	return mean / float64(max(k, 1)), most
}

// whenFull says when the pools were full for the first time.
func whenFull(s *record.Series, of *record.Course) string {
	i := slices.Index(s.Names, "in_use")
	if of.Slots == 0 || i < 0 || i >= len(of.Max) {
		return ""
	}
	full := slices.IndexFunc(of.Max[i], func(n int64) bool { return n >= int64(of.Slots) })
	switch {
	case full < 0:
		return ""
	case full == 0:
		return "all in use right at the start"
	}
	return "first all in use at " + digest.Duration(s.Bin*time.Duration(full))
}

// whenFailed says when requests failed.
func whenFailed(s *record.Series, of *record.Course) string {
	first, last := -1, -1
	for i, e := range of.Ended {
		if e.Failed > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	note := "failures from the start"
	switch {
	case first < 0:
		return ""
	case first > 0:
		note = "failures from " + digest.Duration(s.Bin*time.Duration(first))
	}
	if last > first {
		end := s.Bin * time.Duration(last+1)
		if s.End > 0 {
			end = min(end, s.End)
		}
		note += " to " + digest.Duration(end)
	}
	return note
}

// moment is something to mark in time.
type moment struct {
	at, length time.Duration
	name       string
	tint       color.Color
}

// instances names whom an action is about.
func instances(d record.Deed) string {
	if d.Instance == 0 {
		return d.Service
	}
	return fmt.Sprintf("%s-%d", d.Service, d.Instance)
}

// moments are the warm-up, the faults and the actions of a cell, those of one instant together.
func moments(c *record.Cell) []moment {
	s := &c.Curves.Levels
	var all []moment
	if s.WarmUp > 0 {
		all = append(all, moment{0, s.WarmUp, "warm-up", rgb(0xe6e8eb)})
	}
	for _, f := range s.Faults {
		all = append(all, moment{f.At, f.For, digest.Printable(f.What), rgb(0xfbe8dd)})
	}
	for i := 0; i < len(c.Actions); {
		a := c.Actions[i].Deed
		who := instances(a)
		last := a
		n := 0 // others that do the same
		for i++; i < len(c.Actions); i++ {
			b := c.Actions[i].Deed
			if b.At != a.At || b.Do != a.Do || b.To != a.To || b.Service != a.Service || b.Instance != last.Instance+1 {
				break
			}
			last = b
			n++
		}
		if n > 0 {
			who += fmt.Sprintf(" to %d", last.Instance)
		}
		what := strings.ReplaceAll(a.Do, "_", " ")
		for _, word := range []string{a.To, who} {
			if word != "" {
				what += " " + word
			}
		}
		all = append(all, moment{at: a.At, name: digest.Printable(what)})
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	var marks []moment
	for _, m := range all {
		if n := len(marks); n > 0 && m.length == 0 && marks[n-1].length == 0 && marks[n-1].at == m.at {
			marks[n-1].name += ", " + m.name
			continue
		}
		marks = append(marks, m)
	}
	return marks
}

// The heights of panels where there are several services, and of what stands above a panel.
const (
	highConnections = 66
	highWaiting     = 30
	highRequests    = 34
	overHead        = 20
	overFoot        = 30
)

// several reports whether there is a panel of all services: if several have pools.
func (o *overtime) several() bool {
	n := 0
	for i := range o.cell.Curves.Levels.Services {
		if !o.each[i].borrows {
			n++
		}
	}
	return n > 1
}

// panels returns how high the panels of a course are, 0 for those that have nothing to show.
func (o *overtime) panels(c *course) (connections, waiting, requests vg.Length) {
	if !c.borrows {
		connections = highConnections
	}
	if c.waiting.most() > 0 {
		waiting = highWaiting
	}
	if slices.Max(c.ok) > 0 || slices.Max(c.failed) > 0 {
		requests = highRequests
	}
	return connections, waiting, requests
}

// height is that of the sheet: the usual one, or what the services need.
func (o *overtime) height() vg.Length {
	return max(height, 2*margin+100+o.needed())
}

// needed is the height of all panels.
func (o *overtime) needed() vg.Length {
	sum := vg.Length(0)
	if o.several() {
		sum = highConnections + overHead
	}
	for i := range o.each {
		a, b, c := o.panels(&o.each[i])
		for _, h := range []vg.Length{a, b, c} {
			if h > 0 {
				sum += h + overHead
			}
		}
	}
	return sum
}

// The inks of levels over time. Dark to pale, so that they differ in grey, too.
var (
	inUseInk      = blue
	otherInk      = rgb(0x7a3e9d)
	connectingInk = orange
	idleInk       = rgb(0xcfe3dc)
	waitingInk    = rgb(0xf0b48c)
	servedInk     = rgb(0x9ecbe8)
	failedInk     = red
	mostInk       = rgb(0x00365a)

	mostConnectInk = rgb(0x9a5b00)
	mostWaitInk    = rgb(0x9c4500)

	serviceInks = [record.MaxCourses]color.Color{rgb(0x5b3a8c), rgb(0xd8b365), rgb(0x3f7f7a), purple, rgb(0x8c6d31), rgb(0xb9bdc3)}
)

func (o *overtime) draw(s *sheet) {
	remark := fmt.Sprintf("Areas: mean of %s each. Thin lines: the most in it.", digest.Duration(o.window))
	if o.cell.Replications > 1 {
		remark += " First of the replications."
	}
	what := "connections over time"
	if label := digest.Label(o.cell.Settings); label != "" {
		what += " at " + label
	}
	top := s.title(o.r, what, remark)
	top = s.legend(margin, width-margin, top-8, o.legend()) - 4

	x := scale{hi: float64(o.end), from: 64, to: width - margin - 10}
	bottom := vg.Length(margin + overFoot)
	top = o.mark(s, x, bottom, top)
	// What the usual sheet has to spare makes all panels higher.
	stretch := (top - bottom - o.heads()) / (o.needed() - o.heads())
	var last *panel
	place := func(y scale, high vg.Length) *panel {
		top -= overHead
		last = s.newPanel(x, y, top-high*stretch, top)
		top = last.y.from
		return last
	}
	if o.several() {
		o.together(place(o.roomTogether(), highConnections))
		o.moments(last)
	}
	for i := range o.each {
		c := &o.each[i]
		connections, waiting, requests := o.panels(c)
		if connections > 0 {
			o.connections(place(c.room(), connections), c)
			last.note(c.full)
			o.moments(last)
		}
		if waiting > 0 {
			p := place(countsUpTo(c.waiting.max), waiting)
			p.grid(p.y.ticks(trimmed))
			p.area(waitingInk, nil, c.waiting.mean, o.window)
			p.line(mostWaitInk, 0.8, false, p.steps(c.waiting.max, o.window)...)
			p.head(c.titled("waiting for a connection, at the most " + digest.Number(c.waiting.most())))
			o.moments(p)
		}
		if requests > 0 {
			p := place(o.roomRequests(c), requests)
			p.grid(p.y.ticks(digest.Rate))
			p.area(servedInk, nil, c.ok, o.window)
			p.area(failedInk, c.ok, sumOf(c.ok, c.failed), o.window)
			p.head(c.titled("requests that ended, per second"))
			p.note(c.failures)
			o.moments(p)
		}
	}
	last.foot(last.x.durations(), "time")
}

// heads is the height of what stands above the panels.
func (o *overtime) heads() vg.Length {
	n := 0
	if o.several() {
		n++
	}
	for i := range o.each {
		a, b, c := o.panels(&o.each[i])
		for _, h := range []vg.Length{a, b, c} {
			if h > 0 {
				n++
			}
		}
	}
	return vg.Length(n) * overHead
}

// legend has what is drawn of some course.
func (o *overtime) legend() []entry {
	some := func(of func(*course) bool) bool {
		for i := range o.each {
			if of(&o.each[i]) {
				return true
			}
		}
		return false
	}
	all := []entry{{name: "in use", color: inUseInk, patch: true}, {name: "most in use", color: mostInk}}
	add := func(e entry, of func(*course) bool) {
		if some(of) {
			all = append(all, e)
		}
	}
	add(entry{name: "connecting", color: connectingInk, patch: true}, func(c *course) bool { return c.connecting.most() > 0 })
	add(entry{name: "most connecting", color: mostConnectInk}, (*course).herds)
	add(entry{name: "checked, returned, closed", color: otherInk, patch: true}, func(c *course) bool { return c.other.most() > 0 })
	add(entry{name: "idle", color: idleInk, patch: true}, func(c *course) bool { return c.idle.most() > 0 })
	add(entry{name: "waiting", color: waitingInk, patch: true}, func(c *course) bool { return c.waiting.most() > 0 })
	add(entry{name: "served", color: servedInk, patch: true}, func(c *course) bool { return slices.Max(c.ok) > 0 })
	add(entry{name: "failed", color: failedInk, patch: true}, func(c *course) bool { return slices.Max(c.failed) > 0 })
	return all
}

// mark tints the times that are marked, writes the names of all that have room, in two rows, and returns the room below.
func (o *overtime) mark(s *sheet, x scale, bottom, top vg.Length) vg.Length {
	const rowHeight = 11
	type named struct {
		name string
		at   vg.Length
		row  int
	}
	var rows [2]row
	var all []named
	used := 0
	for _, m := range o.marks {
		if m.at > o.end {
			continue
		}
		from, to := x.at(float64(m.at)), x.at(float64(m.at)+float64(m.length))
		if m.length == 0 {
			to = from
		}
		name := labelInk.fit(m.name, 200)
		half := labelInk.width(name) / 2
		at := min(max((from+to)/2, x.from+half), x.to-half)
		for i := range rows {
			if rows[i].fits(at, 2*half+2*space) {
				all = append(all, named{name, at, i})
				used = max(used, i+1)
				break
			}
		}
	}
	if used == 0 {
		return top
	}
	top -= vg.Length(used)*rowHeight + 3
	for _, n := range all {
		s.text(n.at, top+2+rowHeight*vg.Length(n.row), middle, n.name, labelInk)
	}
	for _, m := range o.marks {
		if from := x.at(float64(m.at)); m.length > 0 && m.at <= o.end {
			s.rectangle(m.tint, from, bottom, max(x.at(float64(m.at)+float64(m.length)), from+1), top)
		}
	}
	return top
}

// moments draws a line over a panel for everything that happened at one time, or began.
func (o *overtime) moments(p *panel) {
	for _, m := range o.marks {
		if m.at > 0 && m.at <= o.end || m.at == 0 && m.length == 0 {
			at := p.x.at(float64(m.at))
			p.line(black, 0.7, true, vg.Point{X: at, Y: p.y.from}, vg.Point{X: at, Y: p.y.to + 3})
		}
	}
}

// titled puts the name of the service before what a panel shows.
func (c *course) titled(what string) string {
	if c.name == "" {
		return upper(what)
	}
	return labelInk.fit(c.name, 200) + ": " + what
}

// upper begins a text with a capital.
func upper(s string) string {
	r := []rune(s)
	if len(r) > 0 && r[0] >= 'a' && r[0] <= 'z' {
		r[0] -= 'a' - 'A'
	}
	return string(r)
}

// bounded reports whether the maximum of the pools is near enough to be drawn.
func (c *course) bounded() bool {
	return c.slots > 0 && float64(c.slots) <= 4*max(c.size.most(), c.inUse.most(), 1)
}

// room is a scale for the connections, and for their maximum.
func (c *course) room() scale {
	v := slices.Concat(c.size.max, c.inUse.max)
	if c.bounded() {
		v = append(v, float64(c.slots))
	}
	return countsUpTo(v)
}

// countsUpTo is a scale from 0 for numbers of things.
func countsUpTo(v []float64) scale {
	s := upTo(v, math.Inf(1), 0.1)
	s.whole, s.parts = true, 4
	return s
}

func (o *overtime) roomRequests(c *course) scale {
	s := upTo(sumOf(c.ok, c.failed), math.Inf(1), 0.1)
	s.parts = 3
	return s
}

// connections draws the states of the connections of a course on each other, and their maximum.
func (o *overtime) connections(p *panel, c *course) {
	p.grid(p.y.ticks(trimmed))
	low := make([]float64, len(c.size.mean))
	for _, l := range []struct {
		color color.Color
		of    level
	}{{inUseInk, c.inUse}, {connectingInk, c.connecting}, {otherInk, c.other}, {idleInk, c.idle}} {
		high := sumOf(low, l.of.mean)
		p.area(l.color, low, high, o.window)
		low = high
	}
	if c.herds() {
		p.line(mostConnectInk, 0.8, false, p.steps(c.connecting.max, o.window)...)
	}
	p.line(mostInk, 0.8, false, p.steps(c.inUse.max, o.window)...)
	maximum := ""
	if c.slots > 0 {
		maximum = ", maximum " + digest.Count(int64(c.slots))
		if c.instances > 1 && c.slots%c.instances == 0 {
			maximum += fmt.Sprintf(" (%d × %d)", c.instances, c.slots/c.instances)
		}
		if c.bounded() {
			p.ceiling(float64(c.slots))
		}
	}
	what := "connections"
	if c.name == "pooler" {
		what = "server connections"
	}
	p.head(c.titled(what + maximum))
}

// herds reports whether, after the start, many more connects go on at once at times than the mean of a step can show.
func (c *course) herds() bool {
	for i, most := range c.connecting.max {
		if i > 0 && most >= 0.3*c.size.most() && most >= 5 && most > 5*c.connecting.mean[i] {
			return true
		}
	}
	return false
}

// ceiling draws a maximum across the panel.
func (p *panel) ceiling(v float64) {
	y := p.y.at(v)
	p.line(black, 1, false, vg.Point{X: p.x.from, Y: y}, vg.Point{X: p.x.to, Y: y})
}

// note writes a remark at the right end above a panel.
func (p *panel) note(s string) {
	p.text(p.x.to, p.y.to+6, end, s, labelInk)
}

// limit returns what the server allows the services, if they all are on one.
func (o *overtime) limit() int {
	b := o.cell.Budget
	if b == nil || len(b.Rows) == 0 || len(o.cell.Servers) > 0 || o.cell.Pooler != nil {
		return 0
	}
	return max(b.Limit-b.Reserved, 0)
}

func (o *overtime) roomTogether() scale {
	v := slices.Clone(o.all.size.max)
	if n := float64(o.limit()); n <= 4*o.all.size.most() {
		v = append(v, n)
	}
	return countsUpTo(v)
}

// together draws the connections of all services, on each other.
func (o *overtime) together(p *panel) {
	p.grid(p.y.ticks(trimmed))
	low := make([]float64, len(o.all.size.mean))
	var entries []entry
	for i := range o.cell.Curves.Levels.Services {
		c := &o.each[i]
		if c.borrows {
			continue
		}
		high := sumOf(low, c.size.mean)
		p.area(serviceInks[i], low, high, o.window)
		low = high
		entries = append(entries, entry{name: labelInk.fit(c.name, 70), color: serviceInks[i], patch: true})
	}
	p.line(black, 0.8, false, p.steps(o.all.size.max, o.window)...)
	what := "All connections"
	if n := o.limit(); n > 0 {
		what += ", the server allows " + digest.Count(int64(n))
		if float64(n) <= 4*o.all.size.most() {
			p.ceiling(float64(n))
		}
	}
	p.head(what, entries...)
}

// sumOf adds two rows.
func sumOf(a, b []float64) []float64 {
	sum := slices.Clone(a)
	for i := range sum {
		sum[i] += b[i]
	}
	return sum
}

// area fills what is between two rows; the lower one is 0 if it is nil.
func (p *panel) area(c color.Color, low, high []float64, window time.Duration) {
	if low == nil {
		low = make([]float64, len(high))
	}
	// Stretches in which there is nothing are left out.
	for i := 0; i < len(high); {
		if high[i] <= low[i] {
			i++
			continue
		}
		first := i
		for i < len(high) && high[i] > low[i] {
			i++
		}
		edge := p.stepsFrom(first, low[first:i], window)
		slices.Reverse(edge)
		p.FillPolygon(c, append(p.stepsFrom(first, high[first:i], window), edge...))
	}
}

// steps draws a value for each window, neighbours that are equal as one.
func (p *panel) steps(values []float64, window time.Duration) []vg.Point {
	return p.stepsFrom(0, values, window)
}

func (p *panel) stepsFrom(first int, values []float64, window time.Duration) []vg.Point {
	at := func(i int) float64 { return float64(window) * float64(first+i) }
	var points []vg.Point
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			points[len(points)-1] = p.point(at(i+1), v)
			continue
		}
		points = append(points, p.point(at(i), v), p.point(at(i+1), v))
	}
	return points
}

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
	return o.render(format)
}

func (o *overtime) render(format string) ([]byte, error) {
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
	remark string
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

// pooler is the name of the course of a pooler.
const pooler = "pooler"

// level is the course of one level.
type level struct{ mean, max []float64 }

func (l level) most() float64 { return slices.Max(append([]float64{0}, l.max...)) }

// mostWindows is how many steps there are at the most.
const mostWindows = 160

func newOvertime(r *record.Result, c *record.Cell) *overtime {
	s := &c.Curves.Levels
	o := &overtime{r: r, cell: c}
	per := o.steps(s)
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
		e.name = pooler
		o.each = append(o.each, e)
		if len(o.each) == 2 {
			o.each[0].name = "clients of the pooler"
		}
	}
	o.marks = moments(c)
	return o
}

// leastWindows is how few steps there may be of many bins.
const leastWindows = 64

// steps returns how many bins make a step: as few as there is room for, or more if then some service's requests that end jump up
// and down less than half as much, and so many that they do least. A rhythm of 5 s in steps of 12 s is 2, 3, 2, 3, and in steps of
// 20 s always 4.
func (o *overtime) steps(s *record.Series) int {
	n := bins(s)
	least := (n + mostWindows - 1) / mostWindows
	all := []*record.Course{&s.Course}
	for i := range s.Services {
		all = append(all, &s.Services[i])
	}
	best, lowest := least, 0.5
	for _, c := range all {
		before := ragged(c.Ended, least)
		for per := least + 1; per <= n/leastWindows; per++ {
			if now := ragged(c.Ended, per); now < lowest*before {
				best, lowest = per, now/before
			}
		}
	}
	return best
}

// ragged is how much a number of requests differs from one step to the next, as a share of the mean.
func ragged(ended []record.Ends, per int) float64 {
	var sum, changes, before float64
	for i := 0; i+per <= len(ended); i += per {
		now := 0.0
		for _, e := range ended[i : i+per] {
			now += float64(e.OK) + float64(e.Failed)
		}
		if i > 0 {
			changes += math.Abs(now - before)
		}
		sum, before = sum+now, now
	}
	if sum == 0 {
		return 0
	}
	return changes / sum
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

// whenFull says when the pools had nothing to lend for the first time: none idle while somebody waits, most of them opened, and all
// lent. Those that are neither are checked, returned or closed.
func whenFull(s *record.Series, of *record.Course) string {
	levels := func(name string) (mean []float64, most []int64) {
		if i := slices.Index(s.Names, name); i >= 0 && i < len(of.Mean) && i < len(of.Max) {
			mean, most = of.Mean[i], of.Max[i]
		}
		return mean, most
	}
	_, lent := levels("in_use")
	_, size := levels("size")
	_, waiting := levels("waiting")
	idle, _ := levels("idle")
	connecting, _ := levels("connecting")
	if of.Slots == 0 {
		return ""
	}
	full := slices.IndexFunc(lent, func(n int64) bool { return n >= int64(of.Slots) })
	none := -1
	for i := 0; i < min(len(idle), len(size), len(waiting), len(connecting)) && none < 0 && i != full; i++ {
		if idle[i] == 0 && size[i] >= int64(of.Slots) && waiting[i] > 0 && connecting[i] < float64(of.Slots)/2 {
			none = i
		}
	}
	var says []string
	at := func(i int) string { return digest.Duration(s.Bin * time.Duration(i)) }
	switch {
	case none == 0:
		says = append(says, "none idle from the start")
	case none > 0:
		says = append(says, "none idle from "+at(none))
	}
	switch {
	case full == 0:
		says = append(says, "all lent right at the start")
	case full > 0:
		says = append(says, "first all lent at "+at(full))
	}
	return strings.Join(says, ", ")
}

// whenFailed says how many requests failed, and when.
func whenFailed(s *record.Series, of *record.Course) string {
	first, last, n := -1, -1, int64(0)
	for i, e := range of.Ended {
		n += min(e.Failed, math.MaxInt64-n)
		if e.Failed > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return ""
	}
	note := digest.Count(n) + " failures"
	if n == 1 {
		note = "1 failure"
	}
	switch {
	case first == last:
		note += " at " + digest.Duration(s.Bin*time.Duration(first))
	case first == 0:
		note += " from the start"
	default:
		note += " from " + digest.Duration(s.Bin*time.Duration(first))
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

// leastHeight is how high the panel is of what has next to nothing beside the others, as a share of the highest.
const leastHeight = 0.6

// panels returns how high the panels of a course are, 0 for those that have nothing to show: the more of the like of other courses
// they show, the higher.
func (o *overtime) panels(c *course) (connections, waiting, requests vg.Length) {
	high := func(of func(*course) float64, most vg.Length) vg.Length {
		largest := of(c)
		for i := range o.each {
			largest = max(largest, of(&o.each[i]))
		}
		if c.name == pooler || largest == 0 {
			return most
		}
		return most * vg.Length(leastHeight+float64((1-leastHeight)*of(c))/largest)
	}
	ended := func(c *course) float64 { return slices.Max(sumOf(c.ok, c.failed)) }
	if !c.borrows {
		connections = high(func(c *course) float64 { return c.size.most() }, highConnections)
	}
	if c.waiting.most() > 0 {
		waiting = high(func(c *course) float64 { return c.waiting.most() }, highWaiting)
	}
	if ended(c) > 0 {
		requests = high(ended, highRequests)
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

	// No state has these; they differ in grey, too, most between neighbours.
	serviceInks = [record.MaxCourses]color.Color{
		rgb(0x2b2f36), rgb(0x2f8f88), rgb(0xc9c25a), rgb(0x6b4a1f), purple, rgb(0xa9aeb6),
	}
)

func (o *overtime) draw(s *sheet) {
	remark := fmt.Sprintf("Areas: mean of %s each. Thin lines: the most in it.", digest.Duration(o.window))
	if o.cell.Replications > 1 {
		remark += " First of the replications."
	}
	if o.jumps() {
		remark += " Steps that jump up and down may be chance, or a rhythm that does not fit them."
	}
	if slices.ContainsFunc(o.cell.Curves.Levels.Faults, func(f record.Fault) bool { return f.Unseen && f.At < o.end }) {
		remark += " Pools take dead connections for good ones until they use them."
	}
	remark += o.remark
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
			o.connections(place(o.room(c), connections), c)
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
			o.fewFailed(p, c)
			p.head(c.titled("requests that ended, per second"))
			p.note(c.failures)
			o.moments(p)
		}
	}
	last.foot(last.x.durations(), "time")
}

// fewFailed marks at the top of a panel the steps whose failures are too few to be seen among what was served.
func (o *overtime) fewFailed(p *panel, c *course) {
	for w, v := range c.failed {
		if v <= 0 || p.y.at(c.ok[w]+v)-p.y.at(c.ok[w]) >= 1.5 {
			continue
		}
		from, to := p.x.at(float64(o.window)*float64(w)), p.x.at(float64(o.window)*float64(w+1))
		mid := (from + to) / 2
		half := max((to-from)/2, 0.75)
		p.rectangle(failedInk, mid-half, p.y.to-1, mid+half, p.y.to+3)
	}
}

// jumps reports whether the requests that end of some course go up and down in each step or two, as random ones do not.
func (o *overtime) jumps() bool {
	return slices.ContainsFunc(o.each, func(c course) bool {
		all, turns := sumOf(c.ok, c.failed), 0
		var change, sum float64
		for i := 1; i < len(all)-1; i++ {
			a, b := all[i]-all[i-1], all[i+1]-all[i]
			if a*b < 0 || a == 0 && b != 0 {
				turns++
			}
			change += math.Abs(a)
			sum += all[i]
		}
		return turns > len(all)/5 && change > 0.3*sum
	})
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
	add(entry{name: "checked, returned, closed", color: otherInk, patch: true}, func(c *course) bool { return c.other.most() > 0 })
	add(entry{name: "idle", color: idleInk, patch: true}, func(c *course) bool { return c.idle.most() > 0 })
	add(entry{name: "connecting", color: connectingInk, patch: true}, func(c *course) bool { return c.connecting.most() > 0 })
	add(entry{name: "most connecting", color: mostConnectInk}, (*course).herds)
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
func (c *course) bounded() bool { return c.near(c.slots) }

// room is a scale for the connections, and for what bounds them.
func (o *overtime) room(c *course) scale {
	v := slices.Concat(c.size.max, c.inUse.max)
	for _, bound := range []int{c.slots, o.allowed(c)} {
		if c.near(bound) {
			v = append(v, float64(bound))
		}
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
	}{{inUseInk, c.inUse}, {otherInk, c.other}, {idleInk, c.idle}, {connectingInk, c.connecting}} {
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
	if c.name == pooler {
		what = "server connections"
	}
	if n := o.allowed(c); n > 0 {
		maximum += ", the server allows " + digest.Count(int64(n))
		if c.near(n) {
			y := p.y.at(float64(n))
			p.line(black, 1, true, vg.Point{X: p.x.from, Y: y}, vg.Point{X: p.x.to, Y: y})
		}
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
	if o.cell.Pooler != nil {
		return 0
	}
	if b := o.cell.Budget; b != nil && len(b.Rows) > 0 && len(o.cell.Servers) == 0 {
		return max(b.Limit-b.Reserved, 0)
	}
	return o.cell.Curves.Levels.Limit
}

// allowed returns what the server allows a course that is alone on it, if that is less than its own maximum; 0 otherwise.
func (o *overtime) allowed(c *course) int {
	n := o.cell.Curves.Levels.Limit
	alone := !o.several() && o.cell.Pooler == nil && !c.borrows || c.name == pooler && !o.direct()
	if !alone || c.size.most() == 0 || c.slots > 0 && n >= c.slots {
		return 0
	}
	return n
}

// direct reports whether a server behind a pooler has had more connections than those of the pooler, so that some bypass it.
func (o *overtime) direct() bool {
	p := o.cell.Pooler
	return p != nil && float64(o.cell.Server.PeakOpen) > max(p.Levels.Size.Max.Value, p.Levels.Size.Most.Value)
}

// near reports whether a bound is near enough to be drawn.
func (c *course) near(bound int) bool {
	return bound > 0 && float64(bound) <= 4*max(c.size.most(), c.inUse.most(), 1)
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
		high := sumOf(low, c.established())
		p.area(serviceInks[i], low, high, o.window)
		low = high
		entries = append(entries, entry{name: labelInk.fit(c.name, 70), color: serviceInks[i], patch: true})
	}
	if o.all.connecting.most() > 0 {
		p.area(connectingInk, low, sumOf(low, o.all.connecting.mean), o.window)
	}
	// While some connect, the most of all is not the most that the server had.
	for w, first := 0, 0; w <= len(low); w++ {
		if w < len(low) && o.all.connecting.max[w] == 0 {
			continue
		}
		if w > first {
			p.line(black, 0.8, false, p.stepsFrom(first, o.all.size.max[first:w], o.window)...)
		}
		first = w + 1
	}
	what := "All connections"
	if n := o.limit(); n > 0 {
		what += ", the server allows " + digest.Count(int64(n))
		if float64(n) < slices.Max(o.all.size.mean) {
			what += "; what is above are attempts"
		}
		if float64(n) <= 4*o.all.size.most() {
			p.ceiling(float64(n))
		}
	}
	p.head(what, entries...)
}

// established are the connections that are not under way any more.
func (c *course) established() []float64 {
	all := slices.Clone(c.size.mean)
	for i := range all {
		all[i] = max(all[i]-c.connecting.mean[i], 0)
	}
	return all
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

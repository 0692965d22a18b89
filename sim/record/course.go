package record

import "time"

// Course is how some pools fared over time, in the bins and with the levels of a Series.
type Course struct {
	First, N int         // pools
	Slots    int         // most connections that they may have together, or permits; 0 if there is no limit, or it is not known
	Limit    int         // of the course of all pools: most sessions that the only server allows them; 0 without a limit, and with more servers
	Mean     [][]float64 // for each level, for each bin: time-weighted mean
	Max      [][]int64   // for each level, for each bin: highest value
	Ended    []Ends      // for each bin
}

// Ends counts requests that ended.
type Ends struct{ OK, Failed int64 }

// Fault is something that the scenario does to a server, over a time or, if For is 0, at one.
type Fault struct {
	At, For time.Duration
	What    string
	Unseen  bool // pools take connections that it struck for good ones until they use them
}

// MaxCourses is how many services at the most have a course of their own.
const MaxCourses = 6

// Name returns the name of the service, or pool, that a course of the cell is about.
func (c *Cell) Name(of *Course) string {
	if of.First >= len(c.Pools) {
		return ""
	}
	p := &c.Pools[of.First]
	if of.N > 1 {
		return p.Service
	}
	return p.Name
}

// levelsOf returns the levels of a part that a series has.
func levelsOf(p *part) []*Level {
	return []*Level{&p.level[levelSize], &p.level[Idle], &p.level[InUse], &p.level[levelWaiting], &p.level[Opening]}
}

// courses are those of the services, beside that of all pools.
type courses struct {
	services []Group // nil for too few or too many; the names are not used
	of       []int16 // by pool: its course in the series
	pooler   int     // the course of a pooler in the series; 0 for none
}

// follow begins the courses of the services: groups of pools, and pools that are in none.
func (r *Recorder) follow() {
	var all []Group
	for pool := 0; pool < len(r.parts); {
		g := Group{First: pool, N: 1}
		if r.groups != nil {
			for _, o := range r.groups.all {
				if o.First == pool {
					g = o
				}
			}
		}
		all = append(all, g)
		pool += g.N
	}
	if len(all) < 2 || len(all) > MaxCourses {
		return
	}
	r.courses.services, r.courses.of = all, make([]int16, len(r.parts))
	for i, g := range all {
		for pool := g.First; pool < g.First+g.N; pool++ {
			r.courses.of[pool] = int16(i + 1)
		}
		p := r.groups.part(int16(g.First))
		if p == nil {
			p = &r.parts[g.First]
		}
		r.series.add(levelsOf(p))
	}
}

// end counts the end of a request.
func (r *Recorder) end(f *Fact) {
	r.series.courses[0].open.add(f.Outcome)
	if r.courses.of != nil {
		r.series.courses[r.courses.of[f.Pool]].open.add(f.Outcome)
	}
}

func (e *Ends) add(o Outcome) {
	if o == OK {
		e.OK++
		return
	}
	e.Failed++
}

// finishSeries returns the series of a run.
func (r *Recorder) finishSeries(run *Run) Series {
	s := r.series.result(run.End)
	s.WarmUp = time.Duration(run.From)
	s.Course.set(r, Group{N: len(r.parts)})
	if at := r.courses.pooler; at > 0 {
		pooler := s.Services[at-1]
		pooler.Ended = nil
		s.Pooler, s.Services = &pooler, append(s.Services[:at-1], s.Services[at:]...)
	}
	for i, g := range r.courses.services {
		s.Services[i].set(r, g)
	}
	return s
}

// set says which pools a course is about.
func (c *Course) set(r *Recorder, g Group) {
	c.First, c.N = g.First, g.N
	for i := range g.N {
		capacity := int(r.parts[g.First+i].leak.capacity)
		if capacity == 0 {
			c.Slots = 0
			return
		}
		c.Slots += capacity
	}
}

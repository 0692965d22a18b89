package record

import "poolwise/sim"

// Group is the pools of a service with several instances, which follow each other.
type Group struct {
	Name     string
	First, N int // pools
}

// groups measure the levels of groups of pools.
type groups struct {
	all   []Group
	of    []int16 // by pool: its group, -1 for none
	parts []part
}

// Group makes the recorder measure the levels of groups of pools, too, and the course of each service. It is for before the first
// fact.
func (r *Recorder) Group(all []Group) {
	defer r.follow()
	if len(all) == 0 {
		return
	}
	g := &groups{all: all, parts: make([]part, len(all)), of: make([]int16, len(r.parts))}
	for i := range g.of {
		g.of[i] = -1
	}
	for i, group := range all {
		for pool := range group.N {
			if group.N < len(r.parts) { // else it is all pools, whose levels are known
				g.of[group.First+pool] = int16(i)
			}
		}
	}
	r.groups = g
}

// part returns what is measured of the group of a pool, nil if that is in none.
func (g *groups) part(pool int16) *part {
	if g == nil || g.of[pool] < 0 {
		return nil
	}
	return &g.parts[g.of[pool]]
}

func (g *groups) restart(at sim.Time) {
	if g != nil {
		for i := range g.parts {
			g.parts[i].restart(at)
		}
	}
}

// finish adds the groups to a run whose pools are there.
func (g *groups) finish(run *Run) {
	if g == nil {
		return
	}
	for i, group := range g.all {
		levels := run.Levels
		if group.N < len(run.Parts) {
			levels = g.parts[i].levels(run.From, run.End)
		}
		run.Groups = append(run.Groups, GroupRun{group, levels})
	}
}

// GroupRun is a group of pools in one replication.
type GroupRun struct {
	Group
	Levels Levels
}

// mergeGroups makes the totals of services with several instances, and names the service of each of those.
func (c *Cell) mergeGroups(runs []*Run) []PoolCell {
	var all []PoolCell
	for j, g := range runs[0].Groups {
		for i := range g.N {
			c.Pools[g.First+i].Service = g.Name
		}
		p := mergePools(g.Name, g.First, g.N, runs)
		p.Instances = g.N
		p.Levels = mergeLevels(len(runs), func(i int) *Levels { return &runs[i].Groups[j].Levels })
		all = append(all, p)
	}
	return all
}

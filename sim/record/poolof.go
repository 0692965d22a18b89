package record

// PoolOf tells the recorder for each part whose pool it uses, where some have none of their own. It is for before the first fact.
func (r *Recorder) PoolOf(pools []int16) { r.poolOf = pools }

// nameOwners says of each part without a pool whose it uses, and takes the levels from it that only a pool has.
func (c *Cell) nameOwners(r *Run, pools []string) {
	for i, owner := range r.PoolOf {
		if int(owner) != i {
			c.Pools[i].borrow(pools[owner])
		}
	}
	for i, g := range r.Groups {
		if r.PoolOf != nil && int(r.PoolOf[g.First]) != g.First {
			c.Services[i].borrow(r.serviceOf(r.PoolOf[g.First], pools))
		}
	}
}

func (p *PoolCell) borrow(of string) { p.PoolOf, p.Levels = of, Levels{Waiting: p.Levels.Waiting} }

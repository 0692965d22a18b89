package workload

import "poolwise/sim/record"

// Kill ends the program: no further request comes, and those that go on are lost. The driver and its pool must be told of nothing
// any more.
func (d *Driver) Kill() {
	d.stopped, d.told = true, true
	now := d.env.Sim.Now()
	for i := range d.slots {
		s := &d.slots[i]
		if s.state != vacant && s.state != over {
			d.env.Sink.Note(record.Fact{At: now, Kind: record.RequestEnded, Pool: d.env.Index, Request: s.number, Outcome: record.Killed, Took: now.Sub(s.arrived)})
		}
	}
	d.slots, d.live = nil, 0
}

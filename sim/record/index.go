package record

import "math/bits"

// inPool names something of one pool by a number.
type inPool struct {
	number int64
	pool   int16
}

// index finds slots by name: a hash table with linear probing. It is faster than a map, and what is removed leaves no trace.
type index struct {
	places []place // a power of two of them, at most half taken
	n      int
	shift  int
}

type place struct {
	inPool
	slot int32 // plus one; 0 if it is free
}

func newIndex() index { return index{places: make([]place, 16), shift: 64 - 4} }

// home returns where the name is, or in the first free place after it.
func (x *index) home(k inPool) int {
	return int((uint64(k.number)*0x9e3779b97f4a7c15 + uint64(k.pool)*0xd1b54a32d192ed03) >> x.shift)
}

// find returns the place of the name, or the free place for it.
func (x *index) find(k inPool) int {
	i := x.home(k)
	for x.places[i].slot != 0 && x.places[i].inPool != k {
		i = (i + 1) & (len(x.places) - 1)
	}
	return i
}

// get returns the slot of a name, -1 if it has none.
func (x *index) get(k inPool) int32 { return x.places[x.find(k)].slot - 1 }

// put gives a name a slot.
func (x *index) put(k inPool, slot int32) {
	if 2*x.n >= len(x.places) {
		x.grow()
	}
	p := &x.places[x.find(k)]
	if p.slot == 0 {
		x.n++
	}
	*p = place{k, slot + 1}
}

func (x *index) grow() {
	old := x.places
	x.places = make([]place, 2*len(old))
	x.shift = 64 - bits.Len(uint(len(x.places)-1))
	for _, p := range old {
		if p.slot != 0 {
			x.places[x.find(p.inPool)] = p
		}
	}
}

// remove takes a name out, if it is there: names behind it that could stand in its place move up.
func (x *index) remove(k inPool) {
	i := x.find(k)
	if x.places[i].slot == 0 {
		return
	}
	x.n--
	mask := len(x.places) - 1
	for j := (i + 1) & mask; x.places[j].slot != 0; j = (j + 1) & mask {
		if home := x.home(x.places[j].inPool); (j-home)&mask >= (j-i)&mask {
			x.places[i], i = x.places[j], j
		}
	}
	x.places[i] = place{}
}

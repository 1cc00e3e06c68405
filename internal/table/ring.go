package table

// ring is a clock: units in a circle and a hand that goes around. Those before the hand had their
// turn.
type ring struct {
	units  []resident
	hand   int
	looked int64 // bytes of units that the hand has reached
}

// next returns the unit at the hand. The ring must not be empty.
func (r *ring) next() resident {
	if r.hand >= len(r.units) {
		r.hand = 0
	}
	return r.units[r.hand]
}

// insert puts a unit where the hand reaches it last.
func (r *ring) insert(u resident) {
	r.push(u)
	r.put(len(r.units)-1, r.units[r.hand])
	r.put(r.hand, u)
	r.hand++
}

func (r *ring) push(u resident) {
	r.units = append(r.units, u)
	u.base().at = len(r.units) - 1
}

// remove takes out the unit at an index. Its place goes to another unit, which had its turn if the
// removed one had.
func (r *ring) remove(at int) {
	if at < r.hand {
		r.hand--
		r.put(at, r.units[r.hand])
		at = r.hand
	}
	last := len(r.units) - 1
	if at < last {
		r.put(at, r.units[last])
	}
	r.units[last] = nil
	r.units = r.units[:last]
}

func (r *ring) put(at int, u resident) {
	r.units[at] = u
	u.base().at = at
}

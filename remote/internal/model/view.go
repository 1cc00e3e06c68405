package model

// numbersMax is the most numbers that a world's log has.
const numbersMax = 8

// id is the identity of a log object, or none.
type id uint8

// Ids that are not those of objects.
const (
	none id = 0
	void id = 255 // of a number in a history that is skipped
)

// object is a log object.
type object struct {
	id    id
	prev  id // the object before it, as its writer knew the log
	claim bool
	epoch uint8

	barrier bool // a claimant's, to stop a writer of the epoch or an earlier one
}

// history is the object that counts at each number, from 1 on.
type history [numbersMax + 1]id

// view is what a process knows of the log up to a number; what a state object holds; and the truth.
type view struct {
	n      uint8 // the last number
	epoch  uint8 // of the last claim
	zone   uint8 // up to this number, objects of older epochs may be void
	calm   uint8 // up to this number, barriers may be that were made before the last claim
	ids    history
	claims uint16 // bit n: the object at number n is a claim
}

// last returns the id of the last object that counts.
func (v *view) last() id {
	for n := v.n; n > 0; n-- {
		if v.ids[n] != void {
			return v.ids[n]
		}
	}
	return none
}

// verdict is what a reader of the log makes of the next object.
type verdict uint8

const (
	counts verdict = iota
	isVoid         // it is skipped
	breaks         // it does not continue this history
	strays         // nor does it, and it is skipped if no newer state is stored
)

// judge returns the verdict on the object at number v.n+1.
func (v *view) judge(o object, checkChain bool, window uint8) verdict {
	switch {
	case o.barrier:
		return strays
	case o.epoch < v.epoch && v.n+1 <= v.zone:
		return isVoid
	case !checkChain:
		return counts
	case o.prev != v.last() && !o.claim && o.epoch == v.epoch && v.mayStray(window):
		return strays
	case o.prev != v.last():
		return breaks
	case o.claim && o.epoch > v.epoch, !o.claim && o.epoch == v.epoch:
		return counts
	}
	return breaks
}

// passes reports whether the writer whose view it is goes on after an object that has taken its
// number: a barrier is for writers of its epoch and before.
func (v *view) passes(o object, window uint8) bool {
	return o.barrier && o.epoch < v.epoch || v.judge(o, true, window) == isVoid
}

// mayStray reports whether the object after this may be of a writer that has met a barrier with its
// request before.
func (v *view) mayStray(window uint8) bool {
	skipped := uint8(0)
	for n := v.n; n > 0 && v.ids[n] == void; n-- {
		skipped++
	}
	return skipped > 0 && skipped < window
}

// accept adds the object at number v.n+1, which counts.
func (v *view) accept(o object, window uint8) {
	v.n++
	v.ids[v.n] = o.id
	if o.claim {
		v.epoch = max(v.epoch, o.epoch)
		v.claims |= 1 << v.n
		v.zone = v.n + window - 1
		v.calm = v.n + barrierReach
	}
}

// skip adds number v.n+1, whose object is void.
func (v *view) skip() {
	v.n++
	v.ids[v.n] = void
}

// agrees reports whether two views have the same object at a number that both know.
func (v *view) agrees(w *view, n uint8) bool { return v.ids[n] == w.ids[n] }

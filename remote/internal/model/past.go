package model

// judge returns the verdict on the object after a view, by the rules of this world.
func (w *LogWorld) judge(v *view, o object, checkChain bool) verdict {
	if o.barrier && o.epoch > v.epoch && w.Broken.BarrierOfEpoch {
		return breaks
	}
	return v.judge(o, checkChain, w.window())
}

// past returns a state in which the first writer has claimed the role, committed, stored a state
// and deleted what that allows, and all others have stopped after they had read its claim. It takes
// so many steps to get there that a search for what comes after would end before.
func (w *LogWorld) past() (s logState) {
	claimed := object{id: s.newID(), claim: true, epoch: 1}
	s.log[1] = claimed
	s.truth.accept(claimed, w.window())
	for i := range w.Writers {
		s.writers[i] = writer{phase: reading, view: s.truth}
	}
	s.reader.view = s.truth
	for range 2 + w.Window {
		o := object{id: s.newID(), prev: s.truth.last(), epoch: 1}
		s.truth.accept(o, w.window())
		if s.truth.n > 3 {
			s.log[s.truth.n] = o
		}
	}
	s.newest = s.truth
	s.writers[0] = writer{phase: writing, view: s.truth, saved: s.truth.n}
	s.claims = uint8(w.Writers)
	return s
}

package model

// sendBarrier sends a barrier at a number after the one that the claimant wants.
func (w *LogWorld) sendBarrier(s logState, i int, name string, emit emit[logState]) {
	p := &s.writers[i]
	if int(s.barriers) == w.Barriers || p.barrier.object.id != none {
		return
	}
	s.barriers++
	o := object{id: s.newID(), epoch: p.view.epoch, barrier: true}
	for n := p.view.n + 2; n <= p.view.n+barrierReach && int(n) < w.Numbers; n++ {
		to := s
		to.writers[i].barrier = request{object: o, number: n}
		emit(to, label("%s sends a barrier of epoch %d at %d (id %d)", name, o.epoch, n, o.id), "")
	}
}

// landBarrier lets a barrier have its effect.
func (w *LogWorld) landBarrier(s logState, i int, name string, emit emit[logState]) {
	p := &s.writers[i]
	b := p.barrier
	p.barrier = request{}
	ok, violation := w.store(&s, b.number, b.object)
	l := label("%s: its barrier at %d (id %d) is stored: %t", name, b.number, b.object.id, ok)
	emit(s, l, violation)
}

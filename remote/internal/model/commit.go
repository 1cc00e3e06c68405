package model

// inFlight returns how many requests a writer has sent and not settled.
func (p *writer) inFlight() (n uint8) {
	for _, r := range p.sent {
		if r.object.id != none {
			n++
		}
	}
	return n
}

// send sends the next commit, if the window has room. With a window of 1, a request lands at once:
// a writer that stops before it sends is one whose request lands late.
func (w *LogWorld) send(s logState, i int, name string, emit emit[logState]) {
	p := &s.writers[i]
	used := p.inFlight()
	n := p.view.n + 1 + used
	window := w.window()
	if p.view.n < p.view.zone && !w.Broken.NoZone ||
		p.view.n < p.view.calm && w.Barriers > 0 && !w.Broken.NoCalm {
		window = 1
	}
	if used >= window || int(n) >= w.Numbers {
		return
	}
	prev := p.view.last()
	if used > 0 {
		prev = p.sent[used-1].object.id
	}
	p.sent[used] = request{object: object{id: s.newID(), prev: prev, epoch: p.view.epoch}, number: n}
	if w.Window == 1 {
		w.land(s, i, 0, name, emit)
		return
	}
	emit(s, label("%s sends commit %d (id %d)", name, n, s.ids), "")
}

// land lets a request have its effect. The writer may have been fenced meanwhile.
func (w *LogWorld) land(s logState, i, r int, name string, emit emit[logState]) {
	p := &s.writers[i]
	sent := &p.sent[r]
	number, o := sent.number, sent.object
	ok, violation := w.store(&s, number, o)
	sent.answer = refused
	if ok {
		sent.answer = stored
	}
	l := label("%s: commit %d (id %d) is stored: %t", name, number, o.id, ok)
	if p.phase != writing {
		*sent = request{}
		emit(s, l, violation)
		return
	}
	if settled := w.settle(&s, p, r); violation == "" && settled != "" {
		violation = name + settled
	}
	emit(s, l, violation)
}

// settle acknowledges what may be, and finds out whether the writer is fenced.
func (w *LogWorld) settle(s *logState, p *writer, r int) (violation string) {
	if w.Broken.AckAnyOrder && p.sent[r].answer == stored &&
		s.log[p.sent[r].number].id == p.sent[r].object.id && s.claimBetween(p, p.sent[r].number) {
		return " acknowledges a commit that does not count"
	}
	for p.phase == writing && p.sent[0].object.id != none && p.sent[0].answer != underWay {
		head := p.sent[0]
		switch {
		case head.answer == stored:
			p.view.accept(head.object, w.window())
			p.shift()
			if !s.truth.agrees(&p.view, p.view.n) {
				return " acknowledges a commit that does not count"
			}
		case p.view.passes(s.log[head.number], w.window()):
			p.view.skip()
			p.shift() // and the commit is sent again, with the next number
		default:
			p.phase = idle // fenced
			p.view = view{}
			p.saved = 0
			p.forgetAnswered()
		}
	}
	return ""
}

// claimBetween reports whether a claim has taken a number before n that the writer has tried.
func (s *logState) claimBetween(p *writer, n uint8) bool {
	for m := p.view.n + 1; m < n; m++ {
		if s.log[m].claim {
			return true
		}
	}
	return false
}

// shift removes the first request.
func (p *writer) shift() {
	copy(p.sent[:], p.sent[1:])
	p.sent[windowMax-1] = request{}
}

// forgetAnswered leaves the requests that are still under way, which can land at any time.
func (p *writer) forgetAnswered() {
	for r := range p.sent {
		if p.sent[r].answer != underWay {
			p.sent[r] = request{}
		}
	}
}

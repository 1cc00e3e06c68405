package model

import "fmt"

// phase is what a writer is about to do.
type phase uint8

const (
	idle     phase = iota
	reading        // the log, to its end
	claiming       // to create its claim
	looking        // back, whether the claim counts
	writing        // it takes itself for the writer
)

// writer is a process that is, or wants to be, the writer. It may stop in any phase, and go on.
type writer struct {
	phase phase
	view  view
	mine  id    // of the claim to create
	saved uint8 // the newest state that it has written itself, and knows to be durable
	sent  [windowMax]request

	barrier request // of this machine, that is under way, whatever the machine does meanwhile
}

// request is a Create of a commit that was sent.
type request struct {
	object object // none if there is no request
	number uint8
	answer answer
}

// answer is what came of a request.
type answer uint8

const (
	underWay answer = iota
	stored
	refused
)

func (w *LogWorld) writerSteps(from logState, i int, emit emit[logState]) {
	p := &from.writers[i]
	name := string(rune('A' + i))
	switch p.phase {
	case idle:
		w.start(from, i, name, emit)
	case reading:
		w.readLog(from, i, name, emit)
	case claiming:
		w.createClaim(from, i, name, emit)
		w.sendBarrier(from, i, name, emit)
	case looking:
		w.lookBack(from, i, name, emit)
	case writing:
		w.send(from, i, name, emit)
		w.saveState(from, i, name, emit)
		w.deleteObjects(from, i, name, emit)
	}
	if p.barrier.object.id != none {
		w.landBarrier(from, i, name, emit)
	}
	for r := range p.sent {
		if p.sent[r].object.id != none && p.sent[r].answer == underWay {
			w.land(from, i, r, name, emit)
		}
	}
}

func label(format string, args ...any) func() string {
	return func() string { return fmt.Sprintf(format, args...) }
}

// start reads the newest state. A process that still has requests under way is another one's part.
func (w *LogWorld) start(s logState, i int, name string, emit emit[logState]) {
	if int(s.claims) == w.Claims || int(s.newest.n) >= w.Numbers-1 {
		return
	}
	for _, r := range s.writers[i].sent {
		if r.object.id != none && r.answer == underWay {
			return
		}
	}
	s.claims++
	s.writers[i] = writer{phase: reading, view: s.newest, barrier: s.writers[i].barrier}
	emit(s, label("%s starts from state %d", name, s.newest.n), "")
}

// readLog reads the next object, or finds the end of the log.
func (w *LogWorld) readLog(s logState, i int, name string, emit emit[logState]) {
	p := &s.writers[i]
	next := p.view.n + 1
	if int(next) >= w.Numbers {
		s.writers[i] = writer{barrier: p.barrier}
		emit(s, label("%s gives up", name), "")
		return
	}
	o := s.log[next]
	if o.id == none {
		p.phase, p.mine = claiming, s.newID()
		emit(s, label("%s finds nothing at %d", name, next), "")
		return
	}
	verdict := w.judge(&p.view, o, !w.Broken.NoChainCheck)
	if verdict == strays && (s.newest.n <= p.view.n || w.Broken.BarrierNoLook) {
		verdict = isVoid
	}
	switch verdict {
	case counts:
		p.view.accept(o, w.window())
	case isVoid:
		p.view.skip()
	case breaks, strays:
		s.writers[i] = writer{barrier: p.barrier}
		emit(s, label("%s finds a break at %d", name, next), "")
		return
	}
	emit(s, label("%s reads %d (id %d)", name, next, o.id), "")
}

func (w *LogWorld) createClaim(s logState, i int, name string, emit emit[logState]) {
	p := &s.writers[i]
	n := p.view.n + 1
	o := object{id: p.mine, prev: p.view.last(), claim: true, epoch: p.view.epoch + 1}
	created, violation := w.store(&s, n, o)
	if !created {
		p.phase = reading
		emit(s, label("%s finds %d taken", name, n), "")
		return
	}
	p.view.accept(o, w.window())
	p.phase = looking
	emit(s, label("%s creates %d as claim of epoch %d (id %d)", name, n, o.epoch, o.id), violation)
}

// lookBack asks the newest state whether the claim counts.
func (w *LogWorld) lookBack(s logState, i int, name string, emit emit[logState]) {
	p := &s.writers[i]
	claim := p.view.n
	believes := true
	switch {
	case w.Broken.NoLookBack:
	case s.newest.n < claim:
		believes = w.Broken.NoChainCheck || s.newest.agrees(&p.view, s.newest.n)
	default:
		believes = s.newest.agrees(&p.view, claim)
	}
	if !believes {
		s.writers[i] = writer{barrier: p.barrier}
		emit(s, label("%s looks back at state %d: its claim is void", name, s.newest.n), "")
		return
	}
	p.phase = writing
	violation := ""
	if !s.truth.agrees(&p.view, claim) {
		violation = name + " takes itself for the writer, and its claim does not count"
	}
	emit(s, label("%s looks back at state %d: it is the writer", name, s.newest.n), violation)
}

// saveState stores the state of all that was acknowledged. It is of an object that counts.
func (w *LogWorld) saveState(s logState, i int, name string, emit emit[logState]) {
	p := &s.writers[i]
	if p.saved >= p.view.n || p.view.ids[p.view.n] == void {
		return
	}
	p.saved = p.view.n
	if p.view.n > s.newest.n {
		s.newest = p.view
	}
	emit(s, label("%s writes state %d", name, p.saved), "")
}

// deleteObjects deletes one log object that the state of this writer allows to delete.
func (w *LogWorld) deleteObjects(s logState, i int, name string, emit emit[logState]) {
	p := s.writers[i]
	keep := w.window()
	if w.Broken.DeleteTail {
		keep--
	}
	for n := uint8(1); n+keep <= p.saved; n++ {
		isClaim, isVoid := p.view.claims&(1<<n) != 0, p.view.ids[n] == void
		stays := isClaim && !w.Broken.DeleteClaims || isVoid && !w.Broken.DeleteVoid
		if s.log[n].id == none || stays {
			continue
		}
		to := s
		to.log[n] = object{}
		emit(to, label("%s deletes %d", name, n), "")
	}
}

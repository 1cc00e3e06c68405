package model

import "fmt"

func (w *PinWorld) pinSteps(s pinState, emit emit[pinState]) {
	r := &s.reader
	switch r.phase {
	case away:
		w.createPin(s, emit)
	case created:
		r.phase, r.n, r.bound = getting, s.saved, s.boundAt(s.saved)
		if w.Broken.NoBoundGet {
			r.bound = 0
			w.trust(s, emit)
			return
		}
		emit(s, label("the reader gets state %d", s.saved), "")
	case getting:
		w.readBound(s, emit)
	case pinned:
		s.reader, s.pin = pinner{}, 0
		emit(s, label("the reader removes its pin"), "")
	}
}

// createPin pins the position of the newest state.
func (w *PinWorld) createPin(s pinState, emit emit[pinState]) {
	if s.saved == 0 || int(s.tries) == w.Pins {
		return
	}
	// The reader may have learned of the position long ago.
	for position := uint8(1); position <= s.saved; position++ {
		to := s
		to.tries++
		to.pin = position
		to.reader = pinner{phase: created, position: position}
		emit(to, label("the reader pins %d", position), "")
	}
}

// readBound reads the next log object, or finds the end of the log and decides.
func (w *PinWorld) readBound(s pinState, emit emit[pinState]) {
	r := &s.reader
	next := r.n + 1
	if next <= s.end && !s.gone[next] {
		r.n = next
		r.bound = max(r.bound, s.log[next].bound)
		emit(s, label("the reader reads %d", next), "")
		return
	}
	if s.saved > r.n && !w.Broken.LookOnce {
		r.n, r.bound = s.saved, s.boundAt(s.saved)
		emit(s, label("the reader finds nothing at %d, and gets state %d", next, s.saved), "")
		return
	}
	w.trust(s, emit)
}

// trust ends in a pin that holds, or in none.
func (w *PinWorld) trust(s pinState, emit emit[pinState]) {
	r := &s.reader
	if r.bound > r.position {
		s.reader, s.pin = pinner{}, 0
		emit(s, label("the reader gives up: the bound is %d", r.bound), "")
		return
	}
	r.phase = pinned
	violation := ""
	if file := s.needed(r.position); file > 0 && s.deleted[file] {
		violation = fmt.Sprintf("the reader trusts its pin of %d, and file %d is deleted",
			r.position, file)
	}
	emit(s, label("the reader trusts its pin"), violation)
}

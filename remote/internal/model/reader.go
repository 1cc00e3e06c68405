package model

import "fmt"

// reader is a process that follows the log.
type reader struct {
	view view
	met  object // a claim that it has read and not yet believed
}

// judgeReader says whether a reader believes in something that does not count.
func (s *logState) judgeReader() string {
	for n := uint8(1); n <= s.reader.view.n; n++ {
		if !s.reader.view.agrees(&s.truth, n) {
			return fmt.Sprintf("the reader believes in id %d at %d", s.reader.view.ids[n], n)
		}
	}
	return ""
}

func (w *LogWorld) readerSteps(s logState, emit emit[logState]) {
	r := &s.reader
	if r.met.id != none {
		w.readerLooksBack(s, emit)
		return
	}
	next := r.view.n + 1
	o := object{}
	if int(next) < w.Numbers {
		o = s.log[next]
	}
	if o.id == none {
		w.jump(s, "finds nothing", emit)
		return
	}
	verdict := w.judge(&r.view, o, !w.Broken.NoChainCheck)
	if verdict == strays && (s.newest.n <= r.view.n || w.Broken.BarrierNoLook) {
		verdict = isVoid
	}
	switch verdict {
	case breaks, strays:
		w.jump(s, fmt.Sprintf("meets a break at %d", next), emit)
		return
	case isVoid:
		r.view.skip()
	case counts:
		if o.claim && !w.Broken.ReaderNoLookBack {
			r.met = o
			emit(s, label("R reads a claim at %d", next), "")
			return
		}
		r.view.accept(o, w.window())
	}
	emit(s, label("R reads %d (id %d)", next, o.id), s.judgeReader())
}

// jump goes on from the newest state, if that is ahead.
func (w *LogWorld) jump(s logState, why string, emit emit[logState]) {
	if s.newest.n <= s.reader.view.n {
		return
	}
	s.reader = reader{view: s.newest}
	emit(s, label("R %s, and jumps to state %d", why, s.newest.n), s.judgeReader())
}

// readerLooksBack asks the newest state whether the claim that was read counts.
func (w *LogWorld) readerLooksBack(s logState, emit emit[logState]) {
	r := &s.reader
	o := r.met
	r.met = object{}
	if n := r.view.n + 1; s.newest.n >= n && s.newest.ids[n] != o.id {
		w.jump(s, "looks back", emit)
		return
	}
	r.view.accept(o, w.window())
	emit(s, label("R believes the claim at %d", r.view.n), s.judgeReader())
}

package model

import "fmt"

// PinRules are the rules of pins that can be broken. The zero value breaks none.
type PinRules struct {
	ListFirst  bool // pins are listed before the bound is created, and not again
	NoBound    bool // files are deleted by the pins alone, without a bound
	NoBoundGet bool // a reader trusts its pin without reading the bound
	LookOnce   bool // a reader does not ask for a newer state at the end of the log
}

// PinWorld is a world of a writer, another one that it has replaced, and a reader with a pin. In
// its log are edits, each of which retires the file of the edit before it, and unlink bounds. A
// position is a number of the log, and needs the file of the last edit up to it.
type PinWorld struct {
	Numbers int // of the log, at most 7
	Pins    int // that the reader may try
	Broken  PinRules
}

// entry is a log object.
type entry struct {
	kind  entryKind
	bound uint8 // of an unlink bound
}

// entryKind is what a log object is.
type entryKind uint8

const (
	noEntry entryKind = iota
	anEdit
	aBound
)

// pinState is a state of a PinWorld.
type pinState struct {
	log     [numbersMax + 1]entry
	gone    [numbersMax + 1]bool // log objects that were deleted
	deleted [numbersMax + 1]bool // files that were deleted, by the number of their edit
	end     uint8                // the last number of the log
	saved   uint8                // the number of the newest state
	current collector            // the writer
	former  collector            // the one it has replaced, which may go on deleting
	pin     uint8                // the position that is pinned, or 0
	reader  pinner
	tries   uint8
}

// collector is how far a writer is with removing files.
type collector struct {
	phase collecting
	bound uint8 // that it has created, or wants to
	limit uint8 // it deletes files that were retired up to here
}

// collecting is a phase of a collector.
type collecting uint8

const (
	resting  collecting = iota
	listed              // the pins, with a bound in mind that it has yet to create
	bounded             // the bound exists
	deleting            // files that were retired up to the limit
)

// pinner is what a reader knows that wants to pin a position.
type pinner struct {
	phase    pinning
	position uint8
	n        uint8 // up to where it has read the log
	bound    uint8 // the highest that it has read
}

// pinning is a phase of a pinner.
type pinning uint8

const (
	away    pinning = iota
	created         // its pin exists
	getting         // the log after a state, to its end
	pinned          // it trusts its pin
)

// Explore visits up to limit states.
func (w PinWorld) Explore(limit int) Result { return explore(&w, pinState{}, limit) }

func (w *PinWorld) steps(from pinState, emit emit[pinState]) {
	w.write(from, emit)
	w.collect(from, emit)
	w.remove(from, func(s *pinState) *collector { return &s.current }, "the writer", emit)
	w.remove(from, func(s *pinState) *collector { return &s.former }, "the former writer", emit)
	w.pinSteps(from, emit)
}

// boundAt returns the highest bound up to a number of the log.
func (s *pinState) boundAt(n uint8) (bound uint8) {
	for ; n > 0; n-- {
		bound = max(bound, s.log[n].bound)
	}
	return bound
}

// retired returns the number of the edit that has retired a file, or 0.
func (s *pinState) retired(file uint8) uint8 {
	for n := file + 1; n <= s.end; n++ {
		if s.log[n].kind == anEdit {
			return n
		}
	}
	return 0
}

// needed returns the file that a position needs, or 0.
func (s *pinState) needed(position uint8) uint8 {
	for n := position; n > 0; n-- {
		if s.log[n].kind == anEdit {
			return n
		}
	}
	return 0
}

// write appends an edit, writes a state, deletes a log object that no state needs, or lets another
// writer take over.
func (w *PinWorld) write(s pinState, emit emit[pinState]) {
	if int(s.end) < w.Numbers {
		to := s
		to.end++
		to.log[to.end].kind = anEdit
		emit(to, label("edit at %d", to.end), "")
	}
	if s.saved < s.end {
		to := s
		to.saved = s.end
		emit(to, label("state %d", to.saved), "")
	}
	for n := uint8(1); n < s.saved; n++ {
		if !s.gone[n] {
			to := s
			to.gone[n] = true
			emit(to, label("log object %d is deleted", n), "")
		}
	}
	if s.current.phase >= bounded && s.former == (collector{}) {
		to := s
		to.former, to.current = s.current, collector{}
		emit(to, label("another writer takes over"), "")
	}
}

// collect chooses a bound, creates it, and lists the pins.
func (w *PinWorld) collect(s pinState, emit emit[pinState]) {
	c := &s.current
	switch c.phase {
	case resting, deleting:
		for bound := s.boundAt(s.end) + 1; bound <= s.saved; bound++ {
			to := s
			to.current = collector{phase: listed, bound: bound, limit: to.listedLimit(bound)}
			emit(to, label("the writer wants the bound %d", bound), "")
		}
	case listed:
		if w.Broken.NoBound {
			c.phase = bounded
			emit(s, label("the writer does without a bound"), "")
			return
		}
		if int(s.end) >= w.Numbers {
			return
		}
		s.end++
		s.log[s.end] = entry{aBound, c.bound}
		c.phase = bounded
		if w.Broken.ListFirst {
			c.phase = deleting
		}
		emit(s, label("bound %d at %d", c.bound, s.end), "")
	}
}

// listedLimit returns what a listing of the pins allows to delete, up to a bound.
func (s *pinState) listedLimit(bound uint8) uint8 {
	if s.pin > 0 {
		return min(bound, s.pin)
	}
	return bound
}

// remove lists the pins after the bound was created, and then deletes a file.
func (w *PinWorld) remove(
	s pinState, of func(*pinState) *collector, name string, emit emit[pinState],
) {
	c := of(&s)
	switch c.phase {
	case bounded:
		c.limit = s.listedLimit(c.bound)
		c.phase = deleting
		emit(s, label("%s lists the pins: limit %d", name, c.limit), "")
	case deleting:
		for file := uint8(1); file <= s.end; file++ {
			retired := s.retired(file)
			if s.log[file].kind != anEdit || s.deleted[file] || retired == 0 || retired > c.limit {
				continue
			}
			to := s
			to.deleted[file] = true
			violation := ""
			if to.reader.phase == pinned && to.needed(to.reader.position) == file {
				violation = fmt.Sprintf("file %d is deleted, which the pin of %d needs", file,
					to.reader.position)
			}
			emit(to, label("%s deletes file %d", name, file), violation)
		}
	}
}

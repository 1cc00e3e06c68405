package model

import "fmt"

// LogRules are the rules of a log that can be broken. The zero value breaks none.
type LogRules struct {
	DeleteClaims     bool // claims are deleted like other objects
	DeleteVoid       bool // void objects are deleted like others
	NoLookBack       bool // a claimant believes its claim at once
	ReaderNoLookBack bool // a reader believes any claim
	NoChainCheck     bool // nobody compares the ids of predecessors
	DeleteTail       bool // the objects that vouch for the log are deleted like others
	AckAnyOrder      bool // a commit is acknowledged before those before it are stored
	NoZone           bool // a new writer has several requests in flight at once
	NoCalm           bool // it has, where barriers may be that were made before its claim
	BarrierNoLook    bool // whoever meets a barrier skips it at once
	BarrierOfEpoch   bool // only a barrier of an epoch that whoever meets it knows may be void
}

// LogWorld is a world of writers and a reader of one log. Its zero value is not useful.
type LogWorld struct {
	Numbers  int // of the log, at most 7
	Writers  int // at most 3
	Claims   int // that all writers together may try
	Reader   bool
	Window   int  // how many requests a writer has in flight, at most 2
	Barriers int  // that all claimants together may make
	Past     bool // it begins with others reading the past: see [LogWorld.past]
	Broken   LogRules
}

const (
	writersMax = 3
	windowMax  = 2
	// barrierReach is how far after the last object that it has read a claimant puts a barrier.
	barrierReach = 3
)

// logState is a state of a LogWorld.
type logState struct {
	log      [numbersMax + 1]object
	newest   view // the newest state object; n is 0 if there is none
	truth    view // the history that counts, whatever has been deleted
	writers  [writersMax]writer
	reader   reader
	ids      id    // the last one given
	claims   uint8 // tried so far
	barriers uint8 // made so far
}

// Explore visits up to limit states.
func (w LogWorld) Explore(limit int) Result {
	start := logState{}
	if w.Past {
		start = w.past()
	}
	return explore(&w, start, limit)
}

func (w *LogWorld) steps(from logState, emit emit[logState]) {
	for i := range w.Writers {
		w.writerSteps(from, i, emit)
	}
	if w.Reader {
		w.readerSteps(from, emit)
	}
}

// window is LogWorld.Window as the type of numbers.
func (w *LogWorld) window() uint8 { return uint8(w.Window) }

// store is create-if-absent. It reports whether the name was free, and says if the log is stuck:
// its end is taken by an object that neither counts nor is skipped, so nobody can write any more.
func (w *LogWorld) store(s *logState, n uint8, o object) (stored bool, violation string) {
	if s.log[n].id != none {
		return false, ""
	}
	s.log[n] = o
	for int(s.truth.n) < w.Numbers && s.log[s.truth.n+1].id != none {
		next := s.log[s.truth.n+1]
		switch w.judge(&s.truth, next, true) {
		case counts:
			s.truth.accept(next, w.window())
		case isVoid, strays:
			s.truth.skip()
		case breaks:
			return true, fmt.Sprintf("number %d is taken by an object that nobody can accept", s.truth.n+1)
		}
	}
	return true, ""
}

// newID gives out an id.
func (s *logState) newID() id {
	s.ids++
	return s.ids
}

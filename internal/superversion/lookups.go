package superversion

import "github.com/stoatdb/stoat/internal/table"

// Lookups is what the lookups of one transaction share: memory for values that have to be decoded,
// and where in the bottom run the last one ended, which makes one of a key near to it faster. The
// zero Lookups is ready for use. Not safe for concurrent use.
type Lookups struct {
	Scratch Scratch
	finger  table.Finger
	levels  *Levels // that finger is in
	begun   bool    // a lookup was made; the first, often the only one, moves no finger
}

// fingerIn returns where in the bottom run of levels the last lookup ended, or nil.
func (l *Lookups) fingerIn(levels *Levels) *table.Finger {
	switch {
	case l.levels == levels:
	case !l.begun:
		l.begun = true
		return nil
	default:
		l.finger, l.levels = table.Finger{}, levels
	}
	return &l.finger
}

// Reset ends the transaction. It invalidates values that were decoded.
func (l *Lookups) Reset() {
	l.Scratch.Reset()
	if l.begun = false; l.levels != nil {
		l.finger, l.levels = table.Finger{}, nil
	}
}

package superversion

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/table"
)

// Lookups is what the lookups of one transaction share: memory for values that have to be decoded,
// and where in the bottom run the last ones ended, which makes one of a key near to them faster.
// The zero Lookups is ready for use. Not safe for concurrent use.
type Lookups struct {
	Scratch       Scratch
	catalog, data table.Finger // two, because to get from nested buckets looks into both in turns
	levels        *Levels      // that the fingers are in
	begun         bool         // a lookup was made; the first, often the only one, moves no finger
}

// fingerIn returns where in the bottom run of levels the last lookup of a key like this one ended,
// or nil.
func (l *Lookups) fingerIn(levels *Levels, key []byte) *table.Finger {
	if l.levels != levels {
		if !l.begun {
			l.begun = true
			return nil
		}
		l.catalog, l.data, l.levels = table.Finger{}, table.Finger{}, levels
	}
	if keyspace.IsData(key) {
		return &l.data
	}
	return &l.catalog
}

// Reset ends the transaction. It invalidates values that were decoded.
func (l *Lookups) Reset() {
	l.Scratch.Reset()
	if l.begun = false; l.levels != nil {
		l.catalog, l.data, l.levels = table.Finger{}, table.Finger{}, nil
	}
}

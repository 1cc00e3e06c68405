package engine

import (
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/superversion"
)

// readers counts the snapshots in use, in several places so that few processors share one. The zero
// value is ready for use. Safe for concurrent use.
type readers struct {
	_      [56]byte // no place shares a cache line with what all readers load
	places [64]struct {
		count atomic.Int64
		_     [56]byte // the rest of a cache line
	}
}

// add adds n to the count. Any place is valid.
func (r *readers) add(place uint32, n int64) {
	r.places[place%uint32(len(r.places))].count.Add(n)
}

// any reports whether a snapshot is in use. It may miss one that is taken meanwhile.
func (r *readers) any() bool {
	for i := range r.places {
		if r.places[i].count.Load() != 0 {
			return true
		}
	}
	return false
}

// Snapshot returns what a reader sees from now on. Until [Engine.Release] is called with the same
// place, it stays readable, even after Close. Readers that run at the same time had better use
// different places; any number is one.
func (e *Engine) Snapshot(place uint32) (*superversion.Superversion, error) {
	e.readers.add(place, 1) // before the look at current: Close sets that before it looks for readers
	if s := e.current.Load(); s != nil {
		return s, nil
	}
	e.Release(place)
	return nil, ErrClosed
}

// Release ends the use of a snapshot, which must not be read any more.
func (e *Engine) Release(place uint32) { e.readers.add(place, -1) }

// Package superversion is what a reader sees: an immutable picture of the whole database.
//
// A [Superversion] is a memtable root, the roots of the sealed memtables, and the tables of one
// manifest version. Between them a key has at most one entry a run, and the newest run that has one
// decides; there are no sequence numbers, so whoever holds a Superversion holds a snapshot. Nothing
// here changes after it was made, so that all of it is safe for concurrent use, except that a
// [Cursor] belongs to one goroutine. Go's collector frees the tables that no Superversion reaches.
//
// The package reads. Who publishes a new Superversion, and when, is the engine's business.
package superversion

import (
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
)

// Superversion is an immutable picture of the database.
type Superversion struct {
	Mem    memtable.Root   // the newest writes
	Sealed []memtable.Root // full memtables on their way to tables, newest first
	Levels *Levels         // the tables
}

// Get returns the value of key. The value is valid as long as s is reachable, and must not be
// modified. It does not allocate unless a block has to be read.
func (s *Superversion) Get(key []byte) (value []byte, ok bool, err error) {
	if value, kind, ok := s.Mem.Get(key); ok {
		return value, kind == keyspace.KindPut, nil
	}
	return s.GetBelow(key)
}

// GetBelow is Get without the newest memtable: what key had before the writes in s.Mem.
func (s *Superversion) GetBelow(key []byte) (value []byte, ok bool, err error) {
	for i := range s.Sealed {
		if value, kind, ok := s.Sealed[i].Get(key); ok {
			return value, kind == keyspace.KindPut, nil
		}
	}
	return s.Levels.get(key)
}

// get looks key up in the runs, newest first.
func (l *Levels) get(key []byte) (value []byte, ok bool, err error) {
	if len(l.Young) > 0 {
		hash := filter.Hash(key)
		for i := range l.Young {
			h := l.Young[i].find(key)
			if h == nil {
				continue
			}
			value, kind, ok, err := h.Table.Get(key, hash)
			if ok || err != nil {
				return value, ok && kind == keyspace.KindPut, err
			}
		}
	}
	h := l.Bottom.find(key)
	if h == nil {
		return nil, false, nil
	}
	value, kind, ok, err := h.Table.Get(key, 0)
	return value, ok && kind == keyspace.KindPut, err
}

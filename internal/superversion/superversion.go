// Package superversion is what a reader sees: an immutable picture of the whole database.
//
// A [Superversion] is a memtable root, the roots of the sealed memtables, and the tables of one
// manifest version. Between them a key has at most one entry a run, and the newest run that has one
// or deletes a range with the key in it decides; there are no sequence numbers, so whoever holds a
// Superversion holds a snapshot. Nothing here changes after it was made, so that all of it is safe
// for concurrent use, except that a [Cursor] belongs to one goroutine. Only expiry is no part of
// the snapshot: an entry is gone for everybody from its moment on, except in a loop that began
// before. Go's collector frees the tables and value files that no Superversion reaches.
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
	Commit uint64          // the newest commit in all of them
}

// Get returns the value of key, as [Levels.Value] does. It does not allocate unless something has
// to be read or scratch is full.
func (s *Superversion) Get(
	key []byte, scratch *Scratch,
) (value []byte, ok bool, err error) {
	e, ok, err := s.Find(key)
	if !ok {
		return nil, false, err
	}
	return s.Levels.Value(e, scratch)
}

// Until returns when key expires, in milliseconds since 1970, or 0 if it does not; ok is false if
// there is no such key. It reads no value.
func (s *Superversion) Until(key []byte) (until uint64, ok bool, err error) {
	e, ok, err := s.Find(key)
	return e.Until, ok && s.Levels.Exists(e), err
}

// Find returns the newest entry of key, whatever it says; ok is false if there is none. It does not
// allocate unless a block has to be read.
func (s *Superversion) Find(key []byte) (e keyspace.Entry, ok bool, err error) {
	if e, ok := s.Mem.Find(key); ok {
		return e, true, nil
	}
	return s.FindBelow(key)
}

// FindBelow is Find without the newest memtable: what key had before the writes in s.Mem.
func (s *Superversion) FindBelow(key []byte) (e keyspace.Entry, ok bool, err error) {
	for i := range s.Sealed {
		if e, ok := s.Sealed[i].Find(key); ok {
			return e, true, nil
		}
	}
	return s.Levels.find(key)
}

// find looks key up in the runs, newest first.
func (l *Levels) find(key []byte) (e keyspace.Entry, ok bool, err error) {
	if len(l.Young) > 0 {
		hash := filter.Hash(key)
		for i := range l.Young {
			run := &l.Young[i]
			if h := run.tableOf(key); h != nil {
				e, ok, err := h.Table.FindHashed(key, hash)
				if ok || err != nil {
					return e, ok, err
				}
			}
			if run.Deleted != nil && run.Deleted.Contains(key) {
				return keyspace.Entry{Kind: keyspace.KindDelete}, true, nil
			}
		}
	}
	h := l.Bottom.tableOf(key)
	if h == nil {
		return keyspace.Entry{}, false, nil
	}
	return h.Table.Find(key) // some came with a filter, which would rarely save anything
}

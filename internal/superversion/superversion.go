// Package superversion is what a reader sees: an immutable picture of the whole database.
//
// A [Superversion] is a memtable root, the roots of the sealed memtables, and the tables of one
// manifest version. Each of its memtables and runs has at most one entry for a key. The newest that
// has one, or deletes a range with the key in it, decides. There are no sequence numbers: holding a
// Superversion is holding a snapshot. Only expiry is not part of the snapshot: an entry that
// expires is gone for everybody from that moment on, except in a loop that began earlier. Go's
// collector frees the tables and value files that no Superversion reaches.
//
// A lookup goes from [Superversion.Get] through Find, which asks memtables and runs in order, to
// [Levels.Value], which follows a pointer or decodes. A scan goes from [Cursor], which skips what
// does not exist, to a k-way merge of inputs, each a cursor over a memtable or over the tables of a
// run. Compactions read the same merge with an [EntryCursor].
//
// Verbs mean the same in all packages on these paths: Get returns the value of a key, Find its
// newest entry whatever that says, and Has whether the key exists; Seek moves a cursor; search
// returns an index in something sorted; load brings something into memory.
//
// Everything here is immutable and safe for concurrent use, except cursors, which belong to one
// goroutine. The package only reads; when to publish a new Superversion is up to the engine.
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

// Get returns the value of key, as [Levels.Value] does. It allocates only if something has to be
// read or scratch is full.
func (s *Superversion) Get(
	key []byte, l *Lookups,
) (value []byte, ok bool, err error) {
	var e keyspace.Entry
	if ok, err := s.Find(key, l, &e); !ok {
		return nil, false, err
	}
	return s.Levels.Value(&e, &l.Scratch)
}

// Has reports whether key exists. It reads no value.
func (s *Superversion) Has(key []byte, l *Lookups) (bool, error) {
	_, ok, err := s.Until(key, l)
	return ok, err
}

// Until returns when key expires, in milliseconds since 1970, or 0 if it does not; ok is false if
// key does not exist. It reads no value.
func (s *Superversion) Until(
	key []byte, l *Lookups,
) (until uint64, ok bool, err error) {
	var e keyspace.Entry
	ok, err = s.Find(key, l, &e)
	return e.Until, ok && s.Levels.Exists(&e), err
}

// Size returns the length of the value of key; ok is false if key does not exist. It reads no value
// outside of tables.
func (s *Superversion) Size(key []byte, l *Lookups) (size int, ok bool, err error) {
	var e keyspace.Entry
	if ok, err := s.Find(key, l, &e); !ok {
		return 0, false, err
	}
	return s.Levels.Size(&e)
}

// Find sets e to the newest entry of key, whatever that says; ok is false if there is none, and
// then e is undefined. It allocates only if a block has to be read.
func (s *Superversion) Find(key []byte, l *Lookups, e *keyspace.Entry) (ok bool, err error) {
	if s.Mem.Find(key, e) {
		return true, nil
	}
	return s.FindBelow(key, l, e)
}

// FindBelow is Find without the newest memtable: what the key had before the writes in s.Mem.
func (s *Superversion) FindBelow(key []byte, l *Lookups, e *keyspace.Entry) (ok bool, err error) {
	for i := range s.Sealed {
		if s.Sealed[i].Find(key, e) {
			return true, nil
		}
	}
	return s.Levels.find(key, l, e)
}

// find sets e to the newest entry of key in the runs, whatever that says; ok is false if there is
// none.
func (l *Levels) find(key []byte, lookups *Lookups, e *keyspace.Entry) (ok bool, err error) {
	if len(l.Young) > 0 {
		hash := filter.Hash(key)
		for i := range l.Young {
			run := &l.Young[i]
			if h := run.tableOf(key); h != nil {
				if ok, err := h.Table.FindHashed(key, hash, e); ok || err != nil {
					return ok, err
				}
			}
			if run.Deleted != nil && run.Deleted.Contains(key) {
				*e = keyspace.Entry{Kind: keyspace.KindDelete}
				return true, nil
			}
		}
	}
	f := lookups.fingerIn(l, key)
	if f.Near() {
		if ok, err := f.Find(key, e); ok || err != nil {
			return ok, err
		}
	}
	h := l.Bottom.tableOf(key)
	if h == nil {
		return false, nil
	}
	return h.Table.Find(key, f, e) // some have a filter, which would rarely save anything
}

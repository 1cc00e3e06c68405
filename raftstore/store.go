package raftstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/stoatdb/stoat"
)

// Store is the log and the stable state of one raft server, in a bucket of a database. It is safe
// for concurrent use. What a method has stored is as durable as the database makes its commits:
// open it with the default options, and never with stoat.SyncNever, or a server may vote twice.
type Store struct {
	db     *stoat.DB
	name   []byte
	logs   place
	state  place
	staged atomic.Uint64 // the commit index to store with the next entries
}

var (
	_ raft.LogStore               = (*Store)(nil)
	_ raft.MonotonicLogStore      = (*Store)(nil)
	_ raft.CommitTrackingLogStore = (*Store)(nil)
	_ raft.StableStore            = (*Store)(nil)
)

// Names of the buckets within that of a store.
const (
	logsName  = "log"
	stateName = "stable"
)

// commitKey is the key of the commit index, in the bucket of the stable state. The other keys there
// begin with 0.
const commitKey = "\x01"

// New returns the store in the bucket of that name, which it creates if there is none. Servers in
// one process may share a database under different names. The database must stay open for as long
// as the store is used; the store need not be closed.
func New(db *stoat.DB, name string) (*Store, error) {
	s := &Store{db: db, name: []byte(name)}
	s.logs.name, s.state.name = []byte(logsName), []byte(stateName)
	exists := errors.New("the store exists")
	err := db.Update(func(tx *stoat.Tx) error {
		if s.find(tx) == nil {
			return exists
		}
		b, err := tx.CreateBucketIfNotExists(s.name)
		if err == nil {
			_, err = b.CreateBucketIfNotExists(s.logs.name)
		}
		if err == nil {
			_, err = b.CreateBucketIfNotExists(s.state.name)
		}
		return err
	})
	if err != nil && err != exists {
		return nil, fmt.Errorf("open raft store %q: %w", name, err)
	}
	return s, nil
}

// find returns an error unless the buckets exist.
func (s *Store) find(tx *stoat.Tx) error {
	_, err := s.logs.in(tx, s.name)
	if err == nil {
		_, err = s.state.in(tx, s.name)
	}
	return err
}

// place is a bucket within that of a store. It is safe for concurrent use.
type place struct {
	name []byte
	ref  atomic.Pointer[stoat.Ref]
}

// in returns the bucket in a transaction.
func (p *place) in(tx *stoat.Tx, store []byte) (*stoat.Bucket, error) {
	if ref := p.ref.Load(); ref != nil {
		if b := tx.Refer(*ref); b != nil {
			return b, nil
		}
	}
	outer, err := tx.Bucket(store)
	if err != nil {
		return nil, err
	}
	b, err := outer.Bucket(p.name)
	if err == nil {
		ref := b.Ref()
		p.ref.Store(&ref)
	}
	return b, err
}

// view runs fn with the bucket of a place.
func (s *Store) view(p *place, fn func(b *stoat.Bucket) error) error {
	return s.db.View(func(tx *stoat.Tx) error {
		b, err := p.in(tx, s.name)
		if err == nil {
			err = fn(b)
		}
		return err
	})
}

// update is view for writing.
func (s *Store) update(p *place, fn func(b *stoat.Bucket) error) error {
	return s.db.Update(func(tx *stoat.Tx) error {
		b, err := p.in(tx, s.name)
		if err == nil {
			err = fn(b)
		}
		return err
	})
}

// FirstIndex returns the index of the first entry, and 0 if there is none.
func (s *Store) FirstIndex() (uint64, error) { return s.end(stoat.Range{Limit: 1}) }

// LastIndex returns the index of the last entry, and 0 if there is none.
func (s *Store) LastIndex() (uint64, error) {
	return s.end(stoat.Range{Limit: 1, Reverse: true})
}

func (s *Store) end(r stoat.Range) (index uint64, err error) {
	err = s.view(&s.logs, func(b *stoat.Bucket) error {
		for key := range b.Keys(r) {
			index, err = parseNumber(key, key)
		}
		return err
	})
	return index, err
}

// GetLog sets log to the entry with the index, or returns raft.ErrLogNotFound.
func (s *Store) GetLog(index uint64, log *raft.Log) error {
	key := keyOf(index)
	return s.view(&s.logs, func(b *stoat.Bucket) error {
		value, err := b.Get(key[:])
		if errors.Is(err, stoat.ErrNotFound) {
			return raft.ErrLogNotFound
		}
		if err != nil {
			return err
		}
		return parseLog(index, bytes.Clone(value), log)
	})
}

// StoreLog stores an entry.
func (s *Store) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

// StoreLogs stores entries, all of them or none, and with them the commit index that was staged.
func (s *Store) StoreLogs(logs []*raft.Log) error {
	var value []byte
	return s.db.Update(func(tx *stoat.Tx) error {
		b, err := s.logs.in(tx, s.name)
		for i := 0; err == nil && i < len(logs); i++ {
			value = appendLog(value[:0], logs[i])
			key := keyOf(logs[i].Index)
			err = b.Put(key[:], value)
		}
		staged := s.staged.Load()
		if err != nil || staged == 0 {
			return err
		}
		if b, err = s.state.in(tx, s.name); err == nil {
			err = b.Put([]byte(commitKey), binary.BigEndian.AppendUint64(value[:0], staged))
		}
		return err
	})
}

// DeleteRange deletes the entries from first to last, both included. It costs the same for any
// number of them.
func (s *Store) DeleteRange(first, last uint64) error {
	if first > last {
		return nil
	}
	return s.update(&s.logs, func(b *stoat.Bucket) error {
		return b.DeleteRange(rangeOf(first, last))
	})
}

// IsMonotonic implements [raft.MonotonicLogStore]: raft deletes all entries when it has restored a
// snapshot, which is cheap here, instead of leaving a gap.
func (s *Store) IsMonotonic() bool { return true }

// StageCommitIndex implements [raft.CommitTrackingLogStore]: the next StoreLogs stores the index.
func (s *Store) StageCommitIndex(index uint64) error {
	s.staged.Store(index)
	return nil
}

// GetCommitIndex returns the commit index that was stored last, or the last index if that is lower.
func (s *Store) GetCommitIndex() (index uint64, err error) {
	err = s.db.View(func(tx *stoat.Tx) error {
		state, err := s.state.in(tx, s.name)
		if err != nil {
			return err
		}
		value, err := state.Get([]byte(commitKey))
		if err != nil {
			return err
		}
		index, err = parseNumber([]byte(commitKey), value)
		return err
	})
	if errors.Is(err, stoat.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	last, err := s.LastIndex()
	return min(index, last), err
}

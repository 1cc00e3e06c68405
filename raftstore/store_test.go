package raftstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/raftstore"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// opened is a store on disk that can be closed and opened again.
type opened struct {
	*raftstore.Store
	dir string
	db  *stoat.DB
}

func openStore(t testing.TB, dir string) *opened {
	t.Helper()
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	t.Cleanup(func() { _ = db.Close() }) // closed twice does no harm
	store, err := raftstore.New(db, "server")
	ok(t, err)
	return &opened{store, dir, db}
}

func (o *opened) reopen(t testing.TB) *opened {
	t.Helper()
	ok(t, o.db.Close())
	return openStore(t, o.dir)
}

// model is what a store should hold.
type model struct {
	logs        map[uint64]*raft.Log
	first, last uint64 // 0: there are no entries
	commit      uint64
	stable      map[string]uint64
}

func (m *model) deleteRange(first, last uint64) {
	for i := first; i <= last; i++ {
		delete(m.logs, i)
	}
	m.first, m.last = 0, 0
	for i := range m.logs {
		if m.first == 0 || i < m.first {
			m.first = i
		}
		m.last = max(m.last, i)
	}
}

func (m *model) compare(s *raftstore.Store) error {
	first, err := s.FirstIndex()
	last, err2 := s.LastIndex()
	commit, err3 := s.GetCommitIndex()
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	if first != m.first || last != m.last || commit != min(m.commit, m.last) {
		return fmt.Errorf("entries %d to %d, commit %d, want %d to %d, commit %d", first, last, commit,
			m.first, m.last, min(m.commit, m.last))
	}
	for i := max(m.first, 1) - 1; i <= m.last+1; i++ {
		var got raft.Log
		err := s.GetLog(i, &got)
		if want := m.logs[i]; want == nil && err != raft.ErrLogNotFound ||
			want != nil && (err != nil || !reflect.DeepEqual(&got, want)) {
			return fmt.Errorf("entry %d is %+v, %v, want %+v", i, got, err, want)
		}
	}
	for key, want := range m.stable {
		if got, err := s.GetUint64([]byte(key)); err != nil || got != want {
			return fmt.Errorf("%q is %d, %v, want %d", key, got, err, want)
		}
	}
	return nil
}

// TestStore_equalsTheModel does what raft does, in random order, and opens the store again now and
// then.
func TestStore_equalsTheModel(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	m := &model{logs: map[uint64]*raft.Log{}, stable: map[string]uint64{}}
	s := openStore(t, t.TempDir())
	staged := uint64(0)
	for step := range 400 {
		switch op := rng.IntN(20); {
		case op < 10:
			var logs []*raft.Log
			for range 1 + rng.IntN(20) {
				m.last++
				log := &raft.Log{
					Index: m.last, Term: uint64(step), Data: fmt.Append(nil, "data ", rng.Uint64()),
				}
				logs, m.logs[m.last] = append(logs, log), log
			}
			if m.first == 0 {
				m.first = logs[0].Index
			}
			m.commit = staged
			ok(t, s.StoreLogs(logs))
		case op < 12 && m.last > 0: // entries that conflict
			from := m.first + rng.Uint64N(m.last-m.first+1)
			ok(t, s.DeleteRange(from, m.last))
			m.deleteRange(from, m.last)
		case op < 14 && m.last > 0: // entries that a snapshot has
			to := m.first + rng.Uint64N(m.last-m.first+1)
			ok(t, s.DeleteRange(m.first, to))
			m.deleteRange(m.first, to)
		case op < 16:
			staged = max(staged, rng.Uint64N(m.last+1))
			ok(t, s.StageCommitIndex(staged))
		case op < 18:
			key := fmt.Sprint("key", rng.IntN(4))
			m.stable[key] = rng.Uint64()
			ok(t, s.SetUint64([]byte(key), m.stable[key]))
		case op < 19:
			s, staged = s.reopen(t), m.commit
			ok(t, s.StageCommitIndex(staged))
		}
		if err := m.compare(s.Store); err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, step, err)
		}
	}
}

func TestStore_hasNothingAtFirst(t *testing.T) {
	s := openStore(t, t.TempDir())
	if value, err := s.Get([]byte("key")); err != nil || value == nil || len(value) > 0 {
		t.Errorf("a missing value is %q, %v", value, err)
	}
	if n, err := s.GetUint64([]byte("key")); err != nil || n != 0 {
		t.Errorf("a missing number is %d, %v", n, err)
	}
	ok(t, s.Set([]byte{}, []byte("the empty key")))
	ok(t, s.Set([]byte("short"), []byte("short")))
	if _, err := s.GetUint64([]byte("short")); !errors.Is(err, stoat.ErrCorrupt) {
		t.Errorf("5 bytes are a number: %v", err)
	}
	ok(t, s.DeleteRange(5, 4))
	ok(t, s.DeleteRange(0, 1<<64-1))
}

func TestStore_sharesADatabase(t *testing.T) {
	a := openStore(t, t.TempDir())
	b, err := raftstore.New(a.db, "another server")
	ok(t, err)
	ok(t, a.StoreLog(&raft.Log{Index: 1, Data: []byte("a")}))
	ok(t, a.db.Put([]byte("of the program"), nil))
	if last, err := b.LastIndex(); err != nil || last != 0 {
		t.Errorf("the other store ends at %d, %v", last, err)
	}
	ok(t, a.db.Update(func(tx *stoat.Tx) error { // references to buckets end
		_, err := tx.CreateBucket([]byte("of the program, too"))
		return errors.Join(err, tx.DeleteBucket([]byte("another server")))
	}))
	if last, err := a.LastIndex(); err != nil || last != 1 {
		t.Errorf("the store ends at %d, %v", last, err)
	}
	if err := b.StoreLog(&raft.Log{Index: 1}); !errors.Is(err, stoat.ErrBucketNotFound) {
		t.Errorf("a store whose bucket was deleted takes an entry: %v", err)
	}
}

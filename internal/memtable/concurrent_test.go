package memtable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// TestRoot_isReadWhileAnEditGoesOn lets readers check that each published root is one whole commit:
// the first and the last key have the same value, and keys ascend.
func TestRoot_isReadWhileAnEditGoesOn(t *testing.T) {
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	r := rand.New(rand.NewPCG(seed, 0))
	var published atomic.Pointer[Root]
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for !done.Load() {
				if root := published.Load(); root != nil {
					if err := checkWhole(*root); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	m := newTiny(8, 8)
	for commit := range 300 {
		e := m.Begin()
		generation := fmt.Append(nil, commit)
		e.PutUntil([]byte("a"), generation, 0)
		for range r.IntN(30) {
			e.PutUntil(fmt.Appendf(nil, "k%03d", r.IntN(1000)), bytes.Repeat(generation, r.IntN(200)), 0)
		}
		if r.IntN(4) == 0 {
			from := r.IntN(1000)
			e.DeleteRange(keyspace.Span{Start: fmt.Appendf(nil, "k%03d", from),
				End: fmt.Appendf(nil, "k%03d~", min(from+r.IntN(300), 999))})
			e.PutUntil(fmt.Appendf(nil, "k%03d", from), generation, 1)
		}
		if r.IntN(3) == 0 {
			e.Rollback()
			continue
		}
		e.PutUntil([]byte("z"), generation, 0)
		if r.IntN(2) == 0 {
			early := e.Root()
			published.Store(&early)
			e.PutUntil([]byte("z"), generation, 0)
		}
		root := e.Commit()
		published.Store(&root)
	}
	done.Store(true)
	readers.Wait()
}

func checkWhole(r Root) error {
	first, _ := find(r, []byte("a"))
	last, _ := find(r, []byte("z"))
	if len(first.Value) == 0 || !bytes.Equal(first.Value, last.Value) {
		return fmt.Errorf("commit %q reads as %q at its end", first.Value, last.Value)
	}
	deleted := r.Deleted()
	var c Cursor
	c.Init(r)
	n := 0
	var before []byte
	for ok := c.First(); ok; ok = c.Next() {
		if bytes.Compare(before, c.Key()) >= 0 {
			return fmt.Errorf("%q comes after %q", c.Key(), before)
		}
		if !c.Valid() || len(bytes.Trim(c.Value(), "0123456789")) > 0 {
			return fmt.Errorf("value of %q: %q", c.Key(), c.Value())
		}
		if e, ok := find(r, c.Key()); !ok || e.Kind != c.Kind() {
			return fmt.Errorf("%q is of kind %d, and for the cursor %d", c.Key(), e.Kind, c.Kind())
		}
		if c.Kind() == keyspace.KindDelete && !deleted.Contains(c.Key()) {
			return fmt.Errorf("%q is hidden outside the ranges deleted", c.Key())
		}
		before = c.Key()
		n++
	}
	if n != r.Len() {
		return fmt.Errorf("%d entries, want %d", n, r.Len())
	}
	return nil
}

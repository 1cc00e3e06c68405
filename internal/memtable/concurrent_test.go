package memtable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
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
	m := newSized(headroom, 8, 8)
	for commit := range 300 {
		e := m.Begin()
		generation := fmt.Append(nil, commit)
		e.Put([]byte("a"), generation)
		for range r.IntN(30) {
			e.Put(fmt.Appendf(nil, "k%03d", r.IntN(1000)), bytes.Repeat(generation, r.IntN(200)))
		}
		if r.IntN(3) == 0 {
			e.Rollback()
			continue
		}
		e.Put([]byte("z"), generation)
		if r.IntN(2) == 0 {
			early := e.Root()
			published.Store(&early)
			e.Put([]byte("z"), generation)
		}
		root := e.Commit()
		published.Store(&root)
	}
	done.Store(true)
	readers.Wait()
}

func checkWhole(r Root) error {
	first, _, _ := r.Get([]byte("a"))
	last, _, _ := r.Get([]byte("z"))
	if len(first) == 0 || !bytes.Equal(first, last) {
		return fmt.Errorf("commit %q reads as %q at its end", first, last)
	}
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
		before = c.Key()
		n++
	}
	if n != r.Len() {
		return fmt.Errorf("%d entries, want %d", n, r.Len())
	}
	return nil
}

package stoat_test

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestView_getAllocatesNothing(t *testing.T) {
	db := memory(t)
	key := []byte("some key of a usual length")
	ok(t, db.Put(key, []byte("value")))
	get := func(tx *stoat.Tx) error { _, err := tx.Get(key); return err }
	wantNone := func(state string) {
		t.Helper()
		if n := testing.AllocsPerRun(1000, func() { ok(t, db.View(get)) }); n != 0 {
			t.Errorf("View with one Get from a %s: %v allocations, want 0", state, n)
		}
	}
	wantNone("memtable")
	ok(t, db.Flush())
	wantNone("table")
}

func TestDB_readersSeeWholeCommitsWhileAWriterWrites(t *testing.T) {
	const readers, commits, keys = 4, 200, 20
	db := memory(t)
	name := func(i int) []byte { return fmt.Appendf(nil, "%03d", i) }
	write := func(n uint64) {
		update(t, db, func(tx *stoat.Tx) {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			ok(t, err)
			for i := range keys {
				ok(t, b.Put(name(i), binary.AppendUvarint(nil, n)))
			}
		})
	}
	write(0)
	read := func(last uint64) (uint64, error) {
		err := db.View(func(tx *stoat.Tx) error {
			b, err := tx.Bucket([]byte("b"))
			if err != nil {
				return err
			}
			first, err := b.Get(name(0))
			if err != nil {
				return err
			}
			for k, v := range b.Scan(stoat.Range{}) {
				if string(v) != string(first) {
					return fmt.Errorf("key %s is of commit %x, key 000 of %x", k, v, first)
				}
			}
			n, _ := binary.Uvarint(first)
			if n < last {
				return fmt.Errorf("commit %d after commit %d", n, last)
			}
			last = n
			return nil
		})
		return last, err
	}
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			var seen uint64
			var err error
			for seen < commits && err == nil {
				seen, err = read(seen)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	for n := range uint64(commits) {
		write(n + 1)
		if n%50 == 0 {
			ok(t, db.Flush())
		}
	}
	wg.Wait()
}

func TestUpdate_concurrentUpdatesAllCount(t *testing.T) {
	const writers, each = 8, 50
	db := openOn(t, memfs.New(), nil)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if err := db.Update(func(tx *stoat.Tx) error {
					_, err := tx.NextSequence()
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	view(t, db, func(tx *stoat.Tx) {
		n, err := tx.Sequence()
		ok(t, err)
		equal(t, n, writers*each)
	})
	ok(t, db.Close())
}

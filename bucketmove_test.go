package stoat_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/tools/salvage"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestRenameBucket_keepsWhatIsInIt(t *testing.T) {
	disk := memfs.New()
	db := openOn(t, disk, nil)
	update(t, db, func(tx *stoat.Tx) {
		b := create(t, tx, "old")
		put(t, b, "a")
		put(t, create(t, b, "inner"), "b")
		ok(t, b.SetSequence(7))
	})
	ok(t, db.Flush())
	update(t, db, func(tx *stoat.Tx) {
		b := bucket(t, tx, "old")
		ok(t, tx.RenameBucket([]byte("old"), []byte("new")))
		put(t, b, "c")
		wantKeys(t, bucket(t, tx, "new"), "a", "c")
		put(t, create(t, tx, "old"), "other")
		ok(t, tx.RenameBucket([]byte("new"), []byte("new")))
		wantErr(t, tx.RenameBucket([]byte("new"), []byte("old")), stoat.ErrBucketExists)
		wantErr(t, tx.RenameBucket([]byte("none"), []byte("x")), stoat.ErrBucketNotFound)
		wantErr(t, tx.RenameBucket([]byte("new"), nil), stoat.ErrInvalidKey)
		wantErr(t, tx.RenameBucket(nil, []byte("new")), stoat.ErrInvalidKey)
	})
	ok(t, db.Close())
	db = openOn(t, disk, nil)
	ok(t, db.Check(t.Context()))
	view(t, db, func(tx *stoat.Tx) {
		equalKeys(t, keysOf(tx.Buckets()), []string{"new", "old"})
		b := bucket(t, tx, "new")
		wantKeys(t, b, "a", "c")
		wantKeys(t, bucket(t, b, "inner"), "b")
		wantKeys(t, bucket(t, tx, "old"), "other")
		n, err := b.Sequence()
		ok(t, err)
		equal(t, n, 7)
		wantErr(t, tx.RenameBucket([]byte("new"), []byte("x")), stoat.ErrReadOnly)
	})
	ok(t, db.Close())
}

// TestMoveBucket_handlesFollow moves c out of a, into b, and drops first a and then b.
func TestMoveBucket_handlesFollow(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		put(t, create(t, create(t, create(t, tx, "a"), "c"), "d"), "k")
		create(t, tx, "b")
	})
	update(t, db, func(tx *stoat.Tx) {
		a, b := bucket(t, tx, "a"), bucket(t, tx, "b")
		c := bucket(t, a, "c")
		d := bucket(t, c, "d")
		ok(t, a.MoveBucket([]byte("c"), b, []byte("moved")))
		ok(t, tx.DeleteBucket([]byte("a")))
		wantKeys(t, d, "k")
		put(t, d, "l")
		wantKeys(t, bucket(t, bucket(t, b, "moved"), "d"), "k", "l")
		ok(t, b.MoveBucket([]byte("moved"), tx, []byte("c")))
		ok(t, tx.MoveBucket([]byte("c"), b, []byte("c")))
		ok(t, tx.DeleteBucket([]byte("b")))
		wantErr(t, d.Put([]byte("m"), nil), stoat.ErrBucketNotFound)
		wantErr(t, c.Put([]byte("m"), nil), stoat.ErrBucketNotFound)
		wantErr(t, tx.MoveBucket([]byte("x"), b, []byte("y")), stoat.ErrBucketNotFound)
	})
	ok(t, db.Flush())
	ok(t, db.Check(t.Context()))
	view(t, db, func(tx *stoat.Tx) { equalKeys(t, keysOf(tx.Buckets()), nil) })
}

func TestMoveBucket_refusesWhatWouldCutItOff(t *testing.T) {
	db, other := memory(t), memory(t)
	update(t, db, func(tx *stoat.Tx) {
		a := create(t, tx, "a")
		b := create(t, a, "b")
		for _, to := range []stoat.KeySpace{a, b} {
			if err := tx.MoveBucket([]byte("a"), to, []byte("x")); err == nil {
				t.Error("a bucket is moved into itself")
			}
		}
		create(t, tx, "c")
		ok(t, tx.MoveBucket([]byte("c"), b, []byte("c")))
		if err := tx.MoveBucket([]byte("a"), bucket(t, b, "c"), []byte("x")); err == nil {
			t.Error("a bucket is moved into one that was moved into it")
		}
		update(t, other, func(there *stoat.Tx) {
			if err := tx.MoveBucket([]byte("a"), there, []byte("x")); err == nil {
				t.Error("a bucket is moved into another database")
			}
		})
	})
	var stale *stoat.Tx
	view(t, db, func(tx *stoat.Tx) { stale = tx })
	update(t, db, func(tx *stoat.Tx) {
		wantErr(t, tx.MoveBucket([]byte("a"), stale, []byte("x")), stoat.ErrTxClosed)
		wantErr(t, stale.MoveBucket([]byte("a"), tx, []byte("x")), stoat.ErrTxClosed)
	})
}

// TestMoveBucket_outlivesTheBucketThatHeldIt writes the move and the drop to tables in all ways.
func TestMoveBucket_outlivesTheBucketThatHeldIt(t *testing.T) {
	for n := range 8 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			db := memory(t)
			settle := func(bit int) {
				if n&bit != 0 {
					ok(t, db.Flush())
				}
			}
			update(t, db, func(tx *stoat.Tx) { put(t, create(t, create(t, tx, "a"), "b"), "k") })
			settle(1)
			update(t, db, func(tx *stoat.Tx) {
				ok(t, bucket(t, tx, "a").MoveBucket([]byte("b"), tx, []byte("b")))
			})
			settle(2)
			update(t, db, func(tx *stoat.Tx) { ok(t, tx.DeleteBucket([]byte("a"))) })
			settle(4)
			ok(t, db.Compact(t.Context()))
			ok(t, db.Check(t.Context()))
			view(t, db, func(tx *stoat.Tx) { wantKeys(t, bucket(t, tx, "b"), "k") })
		})
	}
}

func TestWatchBucket_endsWhenTheBucketMoves(t *testing.T) {
	db := openOn(t, memfs.New(), nil)
	update(t, db, func(tx *stoat.Tx) { put(t, create(t, tx, "b"), "k") })
	next, stop := iter.Pull2(db.WatchBucket(context.Background(), [][]byte{[]byte("b")},
		stoat.Range{}, db.Position()))
	defer stop()
	ok(t, db.Update(func(tx *stoat.Tx) error { return bucket(t, tx, "b").Put([]byte("l"), nil) }))
	c, err, _ := next()
	ok(t, err)
	equal(t, string(c.Key), "l")
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.RenameBucket([]byte("b"), []byte("c"))) })
	c, err, _ = next()
	ok(t, err)
	equal(t, c.Kind, stoat.ChangeDeleteRange)
	_, err, _ = next()
	wantErr(t, err, stoat.ErrBucketNotFound)
	ok(t, db.Close())
}

func TestCursor_deleteStaysWhereItIs(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		put(t, tx, "a", "b", "c", "d")
		c := tx.Cursor()
		wantErr(t, c.Delete(), stoat.ErrNotFound)
		c.First()
		ok(t, c.Delete())
		ok(t, c.Delete())
		k, _ := c.Next()
		equal(t, string(k), "b")
		c.Last()
		ok(t, c.Delete())
		k, _ = c.Prev()
		equal(t, string(k), "c")
		c.Next()
		c.Next()
		wantErr(t, c.Delete(), stoat.ErrNotFound)
		wantKeys(t, tx, "b", "c")
	})
	update(t, db, func(tx *stoat.Tx) {
		c := tx.Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			ok(t, c.Delete())
		}
		ok(t, c.Err())
		wantKeys(t, tx)
	})
}

func TestCursor_deleteOfWhatCannotBeWritten(t *testing.T) {
	db := memory(t)
	ok(t, db.Put([]byte("a"), nil))
	tx := begin(t, db, false)
	c := tx.Cursor()
	c.First()
	wantErr(t, c.Delete(), stoat.ErrReadOnly)
	ok(t, tx.Rollback())
	wantErr(t, c.Delete(), stoat.ErrTxClosed)
	update(t, db, func(tx *stoat.Tx) {
		b := create(t, tx, "b")
		put(t, b, "k")
		c := b.Cursor()
		c.First()
		ok(t, tx.DeleteBucket([]byte("b")))
		wantErr(t, c.Delete(), stoat.ErrBucketNotFound)
	})
}

// The flush that drops a bucket leaves out its tombstones, which uncovers the entry of a bucket
// that was moved out of it. No reader gets there, and it is no damage; nor does a salvage.
func TestMoveBucket_outOfABucketThatIsDroppedIsNoDamage(t *testing.T) {
	files := memfs.New()
	db := openOn(t, files, nil)
	update(t, db, func(tx *stoat.Tx) {
		put(t, create(t, create(t, tx, "a"), "inner"), "key")
		create(t, tx, "b")
	})
	ok(t, db.Compact(t.Context()))
	update(t, db, func(tx *stoat.Tx) {
		a, b := bucket(t, tx, "a"), bucket(t, tx, "b")
		ok(t, a.MoveBucket([]byte("inner"), b, []byte("inner")))
		ok(t, tx.DeleteBucket([]byte("a")))
	})
	ok(t, db.Flush())
	ok(t, db.Check(t.Context()))
	moved := func(tx *stoat.Tx) {
		wantKeys(t, bucket(t, bucket(t, tx, "b"), "inner"), "key")
		equalKeys(t, keysOf(tx.Buckets()), []string{"b"})
	}
	view(t, db, moved)
	before := files.CrashKeepAll()
	ok(t, db.Close())

	report, err := tuned.Salvage(t.Context(), before, "db", "new", salvage.Sizes{})
	ok(t, err)
	if report.Lost() {
		t.Errorf("the salvage reports %s", report)
	}
	saved, err := tuned.Open(before, "new", nil, engine.Tuning{})
	ok(t, err)
	view(t, saved, moved)
	ok(t, saved.Close())
}

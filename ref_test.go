package stoat_test

import (
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestRef_isGoodUntilABucketChanges(t *testing.T) {
	db := memory(t)
	var ref stoat.Ref
	update(t, db, func(tx *stoat.Tx) {
		outer := create(t, tx, "outer")
		inner := create(t, outer, "inner")
		put(t, inner, "a")
		equal(t, tx.Refer(inner.Ref()), nil)
	})
	inner := func(tx *stoat.Tx) *stoat.Bucket { return bucket(t, bucket(t, tx, "outer"), "inner") }
	changes := []func(tx *stoat.Tx) error{
		func(tx *stoat.Tx) error { _, err := tx.CreateBucket([]byte("other")); return err },
		func(tx *stoat.Tx) error { return tx.RenameBucket([]byte("other"), []byte("another")) },
		func(tx *stoat.Tx) error { return tx.DeleteBucket([]byte("another")) },
	}
	for _, change := range changes {
		view(t, db, func(tx *stoat.Tx) { ref = inner(tx).Ref() })
		before, err := db.Begin(false)
		ok(t, err)
		update(t, db, func(tx *stoat.Tx) { put(t, tx.Refer(ref), "b") })
		view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx.Refer(ref), "a", "b") })
		wantKeys(t, before.Refer(ref), "a")
		update(t, db, func(tx *stoat.Tx) {
			ok(t, tx.Refer(ref).Delete([]byte("b")))
			ref = inner(tx).Ref() // good in the transactions that follow, too
		})
		tx, err := db.Begin(true)
		ok(t, err)
		wantKeys(t, tx.Refer(ref), "a")
		ok(t, change(tx))
		equal(t, tx.Refer(ref), nil)
		ok(t, tx.Commit())
		view(t, db, func(tx *stoat.Tx) { equal(t, tx.Refer(ref), nil) })
		late := inner(before).Ref()
		view(t, db, func(tx *stoat.Tx) { equal(t, tx.Refer(late), nil) })
		ok(t, before.Rollback())
	}
}

func TestRef_isNotGoodWhereTheBucketDoesNotExistYet(t *testing.T) {
	db := memory(t)
	before, err := db.Begin(false)
	ok(t, err)
	update(t, db, func(tx *stoat.Tx) { create(t, tx, "bucket") })
	var ref stoat.Ref
	view(t, db, func(tx *stoat.Tx) { ref = bucket(t, tx, "bucket").Ref() })
	equal(t, before.Refer(ref), nil)
	ok(t, before.Rollback())
	view(t, db, func(tx *stoat.Tx) {
		if tx.Refer(ref) == nil {
			t.Error("the bucket must be looked up though none has changed")
		}
	})
}

func TestRef_isAHandleThatKnowsWhatContainsIt(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		put(t, create(t, create(t, create(t, tx, "a"), "b"), "c"), "key")
	})
	refer := func(tx *stoat.Tx, path ...string) *stoat.Bucket {
		var at stoat.KeySpace = tx
		for _, name := range path {
			at = bucket(t, at, name)
		}
		return tx.Refer(at.(*stoat.Bucket).Ref())
	}
	rolledBack := func(do func(tx *stoat.Tx)) {
		tx, err := db.Begin(true)
		ok(t, err)
		do(tx)
		ok(t, tx.Rollback())
		update(t, db, func(tx *stoat.Tx) { put(t, tx, "key") })
	}
	rolledBack(func(tx *stoat.Tx) {
		c := refer(tx, "a", "b", "c")
		if err := tx.MoveBucket([]byte("a"), c, []byte("a")); err == nil {
			t.Error("a bucket was moved into one that is nested in it")
		}
	})
	rolledBack(func(tx *stoat.Tx) {
		c := refer(tx, "a", "b", "c")
		ok(t, tx.DeleteBucket([]byte("a")))
		_, err := c.Get([]byte("key"))
		wantErr(t, err, stoat.ErrBucketNotFound)
	})
	rolledBack(func(tx *stoat.Tx) {
		c := refer(tx, "a", "b", "c")
		ok(t, bucket(t, tx, "a").MoveBucket([]byte("b"), tx, []byte("moved")))
		ok(t, tx.DeleteBucket([]byte("a")))
		wantKeys(t, c, "key")
		ok(t, tx.DeleteBucket([]byte("moved")))
		_, err := c.Get([]byte("key"))
		wantErr(t, err, stoat.ErrBucketNotFound)
	})
}

// TestRef_isOfOneDatabase takes databases that nothing but their handles tells apart.
func TestRef_isOfOneDatabase(t *testing.T) {
	disk := memfs.New()
	made := openOn(t, disk, nil)
	update(t, made, func(tx *stoat.Tx) { create(t, tx, "bucket") })
	ok(t, made.Close())
	var refs [2]stoat.Ref
	var dbs [2]*stoat.DB
	for i := range dbs {
		dbs[i] = openOn(t, disk, &stoat.Options{ReadOnly: true})
		view(t, dbs[i], func(tx *stoat.Tx) { refs[i] = bucket(t, tx, "bucket").Ref() })
	}
	equal(t, dbs[0].Position(), dbs[1].Position())
	view(t, dbs[0], func(tx *stoat.Tx) {
		equal(t, tx.Refer(refs[1]), nil)
		equal(t, tx.Refer(stoat.Ref{}), nil)
		if tx.Refer(refs[0]) == nil {
			t.Error("the bucket of this database must be looked up")
		}
	})
	tx, err := dbs[0].Begin(false)
	ok(t, err)
	ok(t, tx.Rollback())
	equal(t, tx.Refer(refs[0]), nil)
	for _, db := range dbs {
		ok(t, db.Close())
	}
}

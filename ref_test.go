package stoat_test

import (
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestRef_isGoodUntilTheNextCommit(t *testing.T) {
	db := memory(t)
	var ref stoat.Ref
	update(t, db, func(tx *stoat.Tx) {
		outer := create(t, tx, "outer")
		inner, err := outer.CreateBucket([]byte("inner"))
		ok(t, err)
		put(t, inner, "a")
		equal(t, inner.Ref(), stoat.Ref{})
	})
	view(t, db, func(tx *stoat.Tx) {
		outer, err := tx.Bucket([]byte("outer"))
		ok(t, err)
		inner, err := outer.Bucket([]byte("inner"))
		ok(t, err)
		ref = inner.Ref()
	})
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx.Refer(ref), "a") })
	tx, err := db.Begin(true)
	ok(t, err)
	equal(t, tx.Refer(ref), nil)
	put(t, tx, "b")
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx.Refer(ref), "a") })
	ok(t, tx.Commit())
	view(t, db, func(tx *stoat.Tx) { equal(t, tx.Refer(ref), nil) })
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

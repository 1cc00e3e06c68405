package stoat_test

import (
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestBucket_unknownNameIsNotFound(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "key")
		for _, name := range []string{"key", "other"} {
			_, err := s.Bucket([]byte(name))
			wantErr(t, err, stoat.ErrBucketNotFound)
			wantErr(t, s.DeleteBucket([]byte(name)), stoat.ErrBucketNotFound)
		}
	})
}

func TestCreateBucket_existingNameIsAnError(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, create(t, s, "x"), "a")
		_, err := s.CreateBucket([]byte("x"))
		wantErr(t, err, stoat.ErrBucketExists)
		b, err := s.CreateBucketIfNotExists([]byte("x"))
		ok(t, err)
		wantKeys(t, b, "a")
	})
}

func TestCreateBucketIfNotExists_createsOnce(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		for _, key := range []string{"a", "b"} {
			b, err := s.CreateBucketIfNotExists([]byte("x"))
			ok(t, err)
			put(t, b, key)
		}
		wantKeys(t, bucket(t, s, "x"), "a", "b")
	})
}

func TestBucket_keysBucketsAndSequencesOfSpacesDoNotMix(t *testing.T) {
	db := memory(t)
	check := func(tx *stoat.Tx) {
		t.Helper()
		a, b := bucket(t, tx, "a"), bucket(t, tx, "b")
		aa := bucket(t, a, "a")
		wantKeys(t, tx, "a", "root")
		wantKeys(t, a, "a", "in a")
		wantKeys(t, b, "in b")
		wantKeys(t, aa, "in a/a")
		equalKeys(t, keysOf(tx.Buckets()), []string{"a", "b"})
		equalKeys(t, keysOf(a.Buckets()), []string{"a"})
		equalKeys(t, keysOf(b.Buckets()), nil)
		for i, s := range []stoat.KeySpace{tx, a, b, aa} {
			n, err := s.Sequence()
			ok(t, err)
			equal(t, n, uint64(i))
		}
	}
	update(t, db, func(tx *stoat.Tx) {
		b, a := create(t, tx, "b"), create(t, tx, "a")
		aa := create(t, a, "a")
		put(t, tx, "root", "a")
		put(t, a, "in a", "a")
		put(t, b, "in b")
		put(t, aa, "in a/a")
		for i, s := range []stoat.KeySpace{tx, a, b, aa} {
			ok(t, s.SetSequence(uint64(i)))
		}
		check(tx)
	})
	view(t, db, check)
}

func TestBucket_manyBucketsKeepTheirKeysApart(t *testing.T) {
	db := memory(t)
	const n = 300 // ids of one and of two bytes
	name := func(i int) string { return fmt.Sprintf("%03d", i) }
	update(t, db, func(tx *stoat.Tx) {
		for i := range n {
			put(t, create(t, tx, name(i)), "\x00", name(i), "\xff")
		}
	})
	view(t, db, func(tx *stoat.Tx) {
		equal(t, len(keysOf(tx.Buckets())), n)
		for i := range n {
			wantKeys(t, bucket(t, tx, name(i)), "\x00", name(i), "\xff")
		}
		wantKeys(t, tx)
	})
}

func TestDeleteBucket_removesItWithEverythingInIt(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		b := create(t, tx, "b")
		put(t, b, "a")
		put(t, create(t, b, "c"), "a")
		put(t, create(t, tx, "other"), "a")
	})
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.DeleteBucket([]byte("b"))) })
	view(t, db, func(tx *stoat.Tx) {
		_, err := tx.Bucket([]byte("b"))
		wantErr(t, err, stoat.ErrBucketNotFound)
		equalKeys(t, keysOf(tx.Buckets()), []string{"other"})
		wantKeys(t, bucket(t, tx, "other"), "a")
	})
}

func TestDeleteBucket_createdAgainIsEmpty(t *testing.T) {
	fs := memfs.New()
	db := openOn(t, fs, nil)
	fill := func(tx *stoat.Tx, key string) {
		b := create(t, tx, "b")
		put(t, b, key)
		put(t, create(t, b, "c"), key)
		ok(t, b.SetSequence(7))
	}
	update(t, db, func(tx *stoat.Tx) { fill(tx, "old") })
	ok(t, db.Flush())
	update(t, db, func(tx *stoat.Tx) {
		ok(t, tx.DeleteBucket([]byte("b")))
		b := create(t, tx, "b")
		wantKeys(t, b)
		equalKeys(t, keysOf(b.Buckets()), nil)
		n, err := b.Sequence()
		ok(t, err)
		equal(t, n, 0)
		ok(t, tx.DeleteBucket([]byte("b")))
		fill(tx, "new")
	})
	ok(t, db.Flush())
	ok(t, db.Close())
	db = openOn(t, fs, nil)
	view(t, db, func(tx *stoat.Tx) {
		wantKeys(t, bucket(t, tx, "b"), "new")
		wantKeys(t, bucket(t, bucket(t, tx, "b"), "c"), "new")
	})
	ok(t, db.Close())
}

func TestDeleteBucket_handlesOfItReturnErrBucketNotFound(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		outer := create(t, tx, "outer")
		handles := []stoat.KeySpace{outer, bucket(t, tx, "outer")}
		inner := create(t, outer, "inner")
		handles = append(handles, inner, create(t, inner, "innermost"))
		put(t, inner, "a")
		c := inner.Cursor()
		c.First()
		ok(t, tx.DeleteBucket([]byte("outer")))
		put(t, create(t, tx, "outer"), "b")
		for i, s := range handles {
			for name, call := range reads {
				t.Run(fmt.Sprint(i, "/", name), func(t *testing.T) {
					wantErr(t, call(s), stoat.ErrBucketNotFound)
				})
			}
			for name, call := range writes {
				t.Run(fmt.Sprint(i, "/", name), func(t *testing.T) {
					wantErr(t, call(s), stoat.ErrBucketNotFound)
				})
			}
		}
		k, _ := c.Next()
		equal(t, k == nil, true)
		wantErr(t, c.Err(), stoat.ErrBucketNotFound)
		wantKeys(t, bucket(t, tx, "outer"), "b")
		ok(t, tx.Err())
	})
}

func TestDeleteBucket_openReadersKeepIt(t *testing.T) {
	db := withBucket(t)
	reader := begin(t, db, false)
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.DeleteBucket([]byte("b"))) })
	ok(t, db.Flush())
	wantKeys(t, bucket(t, reader, "b"), "a")
}

func TestCreateBucket_idsAreNotReused(t *testing.T) {
	fs := memfs.New()
	for i := range 4 {
		db := openOn(t, fs, nil)
		update(t, db, func(tx *stoat.Tx) {
			if i > 0 {
				ok(t, tx.DeleteBucket([]byte("b")))
			}
			b := create(t, tx, "b")
			wantKeys(t, b)
			put(t, b, fmt.Sprint(i))
		})
		ok(t, db.Close())
	}
}

func TestBucket_damagedEntryIsCorrupt(t *testing.T) {
	fs := memfs.New()
	e, err := engine.Open(fs, "db", engine.Options{})
	ok(t, err)
	w, err := e.Begin()
	ok(t, err)
	entry := keyspace.AppendCatalog(nil, keyspace.RootID)
	w.Put(append(entry, "truncated"...), []byte{0x80}, 0)
	w.Put(append(entry, "too long"...), []byte{1, 2}, 0)
	w.Put(append(entry, "empty"...), nil, 0)
	w.Put(keyspace.AppendSequence(nil, keyspace.RootID), []byte{0x80}, 0)
	ok(t, w.Commit())
	ok(t, e.Close())
	db := openOn(t, fs, nil)
	view(t, db, func(tx *stoat.Tx) {
		for _, name := range []string{"truncated", "too long", "empty"} {
			_, err := tx.Bucket([]byte(name))
			wantErr(t, err, stoat.ErrCorrupt)
		}
		_, err := tx.Sequence()
		wantErr(t, err, stoat.ErrCorrupt)
	})
	ok(t, db.Close())
}

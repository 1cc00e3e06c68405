package stoat_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat"
)

// wantBucket fails the test unless the bucket at path has just the numbers from 0 to n.
func wantBucket(t *testing.T, db *stoat.DB, n int, path ...string) {
	t.Helper()
	view(t, db, func(tx *stoat.Tx) {
		var in stoat.KeySpace = tx
		for _, name := range path {
			in = bucket(t, in, name)
		}
		i := 0
		for _, value := range in.Scan(stoat.Range{}) {
			equal(t, string(value), fmt.Sprintf("value %d", i))
			i++
		}
		equal(t, i, n)
	})
}

func TestLoadBucket_takesKeysInAnyOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const n = 20_000
	orders := map[string][]int{
		"ascending": ascending(0, n), "random": rand.New(rand.NewPCG(seed, 0)).Perm(n),
		"twice": append(ascending(0, n), ascending(0, n)...),
	}
	path := [][]byte{[]byte("a"), []byte("b")}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db := openDir(t, dir, &stoat.Options{MemoryLimit: 2 << 20}) // a fraction of the pairs
			update(t, db, func(tx *stoat.Tx) {
				put(t, tx, "before")
				put(t, create(t, tx, "z"), "key")
			})
			ok(t, db.LoadBucket(context.Background(), path, numbered(order)))
			ok(t, db.LoadBucket(context.Background(), path[:1], numbered(order[:n/2])))
			wantBucket(t, db, n, "a", "b")
			update(t, db, func(tx *stoat.Tx) { put(t, create(t, tx, "later"), "key") })
			ok(t, db.Close())
			db = openDir(t, dir, nil)
			wantBucket(t, db, n, "a", "b")
			view(t, db, func(tx *stoat.Tx) {
				wantKeys(t, tx, "before")
				wantKeys(t, bucket(t, tx, "z"), "key")
				wantKeys(t, bucket(t, tx, "later"), "key")
			})
			ok(t, db.Check(context.Background()))
			ok(t, db.Compact(context.Background()))
			wantBucket(t, db, n, "a", "b")
			ok(t, db.Close())
		})
	}
}

func TestLoadBucket_leavesNothingAfterAnError(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) { create(t, tx, "a") })
	path := [][]byte{[]byte("a"), []byte("b")}
	bad := func(yield func(key, value []byte) bool) {
		for key, value := range numbered(ascending(0, 5000)) {
			if !yield(key, value) {
				return
			}
		}
		yield(nil, nil)
	}
	for _, pairs := range []iter.Seq2[[]byte, []byte]{bad, func(yield func(_, _ []byte) bool) {
		yield(make([]byte, 70_000), nil)
	}} {
		if db.LoadBucket(context.Background(), path, pairs) == nil {
			t.Error("a bad key is loaded")
		}
		view(t, db, func(tx *stoat.Tx) {
			if _, err := bucket(t, tx, "a").Bucket([]byte("b")); !errors.Is(err, stoat.ErrBucketNotFound) {
				t.Errorf("there is a bucket (%v)", err)
			}
		})
	}
	wantErr(t, db.LoadBucket(context.Background(), [][]byte{nil}, numbered(nil)), stoat.ErrInvalidKey)
	ok(t, db.LoadBucket(context.Background(), path, numbered(ascending(0, 3))))
	wantBucket(t, db, 3, "a", "b")
	ok(t, db.LoadBucket(context.Background(), nil, numbered(ascending(0, 2))))
	wantBucket(t, db, 2)
	ok(t, db.LoadBucket(context.Background(), [][]byte{[]byte("empty")}, numbered(nil)))
	wantBucket(t, db, 0, "empty")
}

func ExampleDB_LoadBucket() {
	db := exampleDB()
	defer db.Close()
	squares := func(yield func(key, value []byte) bool) {
		for i := range 1000 {
			if !yield(fmt.Appendf(nil, "%03d", i), fmt.Append(nil, i*i)) {
				return
			}
		}
	}
	err := db.LoadBucket(context.Background(), [][]byte{[]byte("squares")}, squares)
	fmt.Println(err)
	// Output: <nil>
}

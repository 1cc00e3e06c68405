package boltcompat_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
	bolt "github.com/stoatdb/stoat/boltcompat"
)

// damaged returns the path of a database whose values cannot be read.
func damaged(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := stoat.Open(path, &stoat.Options{Compression: stoat.CompressionNone})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	err = db.Update(func(tx *stoat.Tx) error {
		b, err := tx.CreateBucket([]byte("bucket"))
		for i := 0; i < 100 && err == nil; i++ {
			value := make([]byte, 1000)
			for j := range value {
				value[j] = byte(random.Uint32())
			}
			err = b.Put(fmt.Appendf(nil, "key-%02d", i), value)
		}
		return err
	})
	if err == nil {
		err = db.Compact(context.Background())
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(path, "*.table"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, table := range tables {
		text := read(t, table)
		if len(text) < 10_000 { // the one of buckets
			continue
		}
		for i := len(text) / 4; i < len(text)/2; i++ {
			text[i] ^= 1
		}
		write(t, table, text)
	}
	return path
}

// readAll gets every value of a damaged database.
func readAll(t *testing.T) func(*bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("bucket"))
		for i := range 100 {
			if b.Get(fmt.Appendf(nil, "key-%02d", i)) == nil {
				t.Errorf("key %d is nil, as if it did not exist", i)
			}
		}
		return nil
	}
}

func TestGet_failsTransactionIfValueIsDamaged(t *testing.T) {
	db := open(t, damaged(t), nil)
	for name, run := range map[string]func(func(*bolt.Tx) error) error{
		"View": db.View, "Update": db.Update, "Batch": db.Batch,
	} {
		err := run(readAll(t))
		if !errors.Is(err, bolt.ErrChecksum) || !errors.Is(err, stoat.ErrCorrupt) {
			t.Errorf("%s returns %v, want an error that says that the value is damaged", name, err)
		}
	}
	put(t, db, "key", "the database goes on") // and its writer is not stuck
}

func TestForEach_failsTransactionIfValueIsDamaged(t *testing.T) {
	db := open(t, damaged(t), nil)
	err := db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("bucket")).ForEach(func(_, _ []byte) error { return nil })
	})
	if !errors.Is(err, bolt.ErrChecksum) {
		t.Errorf("View returns %v, want ErrChecksum", err)
	}
}

func TestMoveBucket_refusesMoveIntoItself(t *testing.T) {
	db := create(t)
	err := db.Update(func(tx *bolt.Tx) error {
		return tx.MoveBucket([]byte("bucket"), nil, tx.Bucket([]byte("bucket")))
	})
	if err == nil {
		t.Error("the bucket moved into itself")
	}
	wantValue(t, db, "key", "value")
}

func TestUpdate_insideUpdateIsAnError(t *testing.T) {
	db := create(t)
	err := db.Update(func(*bolt.Tx) error { return db.Update(func(*bolt.Tx) error { return nil }) })
	if !errors.Is(err, stoat.ErrDeadlock) {
		t.Errorf("the error is %v, want ErrDeadlock", err)
	}
}

func TestClosed_isAnErrorEverywhere(t *testing.T) {
	db := create(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	nothing := func(*bolt.Tx) error { return nil }
	for name, err := range map[string]error{
		"View": db.View(nothing), "Update": db.Update(nothing), "Batch": db.Batch(nothing),
		"Sync": db.Sync(),
	} {
		if err != bolt.ErrDatabaseNotOpen {
			t.Errorf("%s returns %v, want ErrDatabaseNotOpen", name, err)
		}
	}
}

// Stoat has keys and buckets of the same name, and bbolt does not.
func TestNames_areOfKeysOrBuckets(t *testing.T) {
	db := create(t)
	err := db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("bucket"))
		if _, err := b.CreateBucket([]byte("key")); err != bolt.ErrIncompatibleValue {
			t.Errorf("a bucket with the name of a key: %v", err)
		}
		if _, err := b.CreateBucket([]byte("nested")); err != nil {
			return err
		}
		if err := b.Put([]byte("nested"), nil); err != bolt.ErrIncompatibleValue {
			t.Errorf("a key with the name of a bucket: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDeletedBucket_isEmptyAndDoesNotFailTransaction(t *testing.T) {
	name, nested, key := []byte("bucket"), []byte("nested"), []byte("key")
	for what, use := range map[string]func(*bolt.Bucket){
		"Get":           func(b *bolt.Bucket) { b.Get(key) },
		"Put":           func(b *bolt.Bucket) { _ = b.Put(key, key) },
		"Delete":        func(b *bolt.Bucket) { _ = b.Delete(key) },
		"DeleteBucket":  func(b *bolt.Bucket) { _ = b.DeleteBucket(nested) },
		"Bucket":        func(b *bolt.Bucket) { b.Bucket(nested) },
		"CreateBucket":  func(b *bolt.Bucket) { _, _ = b.CreateBucket(key) },
		"NextSequence":  func(b *bolt.Bucket) { _, _ = b.NextSequence() },
		"SetSequence":   func(b *bolt.Bucket) { _ = b.SetSequence(1) },
		"Cursor.Last":   func(b *bolt.Bucket) { b.Cursor().Last() },
		"Cursor.Seek":   func(b *bolt.Bucket) { b.Cursor().Seek(key) },
		"ForEach":       func(b *bolt.Bucket) { _ = b.ForEach(func(_, _ []byte) error { return nil }) },
		"ForEachBucket": func(b *bolt.Bucket) { _ = b.ForEachBucket(func([]byte) error { return nil }) },
		"Stats":         func(b *bolt.Bucket) { b.Stats() },
		"Inspect":       func(b *bolt.Bucket) { b.Inspect() },
	} {
		for _, known := range []bool{false, true} {
			db := create(t)
			err := db.Update(func(tx *bolt.Tx) error {
				_, err := tx.Bucket(name).CreateBucket(nested)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(func(tx *bolt.Tx) error {
				b := tx.Bucket(name)
				if known {
					b.Inspect()
				}
				if err := tx.DeleteBucket(name); err != nil {
					return err
				}
				use(b)
				if s := b.Inspect(); s.KeyN > 0 || len(s.Children) > 0 {
					t.Errorf("%s: the deleted bucket has %d keys and %d buckets", what, s.KeyN,
						len(s.Children))
				}
				_, err := tx.CreateBucket([]byte("another"))
				return err
			})
			if err != nil {
				t.Errorf("after %s of a deleted bucket, the commit fails: %v", what, err)
			}
		}
	}
}

func TestTransaction_returnsErrorOfItsFunction(t *testing.T) {
	db := create(t)
	for _, err := range []error{stoat.ErrClosed, stoat.ErrBucketNotFound, stoat.ErrCorrupt} {
		mine := fmt.Errorf("another database: %w", err)
		fail := func(*bolt.Tx) error { return mine }
		for name, got := range map[string]error{
			"View": db.View(fail), "Update": db.Update(fail), "Batch": db.Batch(fail),
		} {
			if got != mine {
				t.Errorf("%s returns %v instead of the error of its function, %v", name, got, mine)
			}
		}
	}
}

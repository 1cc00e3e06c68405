package stoat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

func TestBucketsIn_listsTheNamesOfAnyRange(t *testing.T) {
	db := memory(t)
	check := func(s stoat.KeySpace) {
		t.Helper()
		for name, test := range scanCases {
			if got := keysOf(s.BucketsIn(test.r)); !slices.Equal(got, test.want) {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
		}
	}
	update(t, db, func(tx *stoat.Tx) {
		around := []*stoat.Bucket{create(t, tx, "before"), create(t, tx, "of"), create(t, tx, "after")}
		for _, b := range around {
			names := allKeys
			if b != around[1] {
				names = []string{"aa", "bc", "z"}
			}
			for _, name := range names {
				put(t, create(t, b, name), "key")
			}
			put(t, b, "a", "bb0") // keys are no buckets
		}
		check(around[1])
	})
	for range 2 {
		view(t, db, func(tx *stoat.Tx) { check(bucket(t, tx, "of")) })
		ok(t, db.Flush())
	}
}

// sized returns values of many sizes by their keys.
func sized() map[string][]byte {
	random := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, 600_000)
	_, _ = random.Read(noise)
	text := bytes.Repeat([]byte("the weasel is not the stoat. "), 30_000)
	values := map[string][]byte{}
	for _, n := range []int{0, 1, 100, 5_000, 70_000, 600_000} {
		values[fmt.Sprint("noise ", n)] = noise[:n]
		values[fmt.Sprint("text ", n)] = text[:n]
	}
	for i := range 2_000 {
		values[fmt.Sprintf("row %04d", i)] = fmt.Appendf(nil, `{"name":"weasel %d","at":%d}`, i, i*i)
	}
	return values
}

func TestSize_isThatOfValuesHoweverStored(t *testing.T) {
	db := memory(t)
	values := sized()
	check := func(tx *stoat.Tx) {
		t.Helper()
		for key, value := range values {
			n, err := tx.Size([]byte(key))
			if err != nil || n != len(value) {
				t.Fatalf("the size of %s is %d (%v), want %d", key, n, err, len(value))
			}
		}
		for _, key := range []string{"gone", "never"} {
			_, err := tx.Size([]byte(key))
			wantErr(t, err, stoat.ErrNotFound)
		}
		_, err := tx.Size(nil)
		wantErr(t, err, stoat.ErrInvalidKey)
	}
	update(t, db, func(tx *stoat.Tx) {
		ok(t, tx.Put([]byte("gone"), nil))
		for key, value := range values {
			ok(t, tx.Put([]byte(key), append(slices.Clip(value), "old"...)))
		}
	})
	ok(t, db.Flush())
	update(t, db, func(tx *stoat.Tx) {
		ok(t, tx.Delete([]byte("gone")))
		for key, value := range values {
			ok(t, tx.PutTTL([]byte(key), value, time.Hour))
		}
		check(tx)
	})
	view(t, db, check)
	ok(t, db.Compact(context.Background()))
	view(t, db, check)
	tx := begin(t, db, false)
	ok(t, tx.Rollback())
	_, err := tx.Size([]byte("gone"))
	wantErr(t, err, stoat.ErrTxClosed)
}

// A value that is damaged on the disk has a size, because nothing reads it.
func TestSize_readsNoLargeValue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	value := sized()["noise 600000"]
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	ok(t, db.Put([]byte("large"), value))
	ok(t, db.Compact(context.Background()))
	ok(t, db.Close())
	if n := spoil(t, dir, value[1000:1100]); n != 1 {
		t.Fatalf("%d files have the value", n)
	}
	db, err = stoat.Open(dir, &stoat.Options{ReadOnly: true})
	ok(t, err)
	view(t, db, func(tx *stoat.Tx) {
		n, err := tx.Size([]byte("large"))
		ok(t, err)
		equal(t, n, len(value))
		_, err = tx.Get([]byte("large"))
		wantErr(t, err, stoat.ErrCorrupt)
	})
	ok(t, db.Close())
}

// spoil changes a byte of each file that has the part, and returns how many these are.
func spoil(t *testing.T, dir string, part []byte) (files int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	ok(t, err)
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		content, err := os.ReadFile(name)
		if errors.Is(err, os.ErrPermission) { // another process locks it, on Windows
			continue
		}
		ok(t, err)
		if at := bytes.Index(content, part); at >= 0 {
			content[at] ^= 1
			ok(t, os.WriteFile(name, content, 0o600))
			files++
		}
	}
	return files
}

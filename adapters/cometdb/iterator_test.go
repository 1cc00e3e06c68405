package cometdb_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
)

// rest returns the keys from where the iterator is, and closes it.
func rest(t *testing.T, it iterator) (keys []string) {
	t.Helper()
	for ; it.Valid(); it.Next() {
		keys = append(keys, string(it.Key()))
	}
	ok(t, it.Error())
	ok(t, it.Close())
	return keys
}

// TestIterator_equalsTheModel compares ranges in both directions with a sorted list.
func TestIterator_equalsTheModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	key := func() []byte {
		k := make([]byte, 1+random.IntN(3))
		for i := range k {
			k[i] = []byte{0, 1, 'a', 254, 255}[random.IntN(5)]
		}
		return k
	}
	db := inMemory(t)
	var keys []string
	for range 60 {
		k := key()
		ok(t, db.Set(k, k))
		keys = append(keys, string(k))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for range 500 {
		start, end := key(), key()
		if random.IntN(4) == 0 {
			start = nil
		}
		if random.IntN(4) == 0 {
			end = nil
		}
		var want []string
		for _, k := range keys {
			if k >= string(start) && (end == nil || k < string(end)) {
				want = append(want, k)
			}
		}
		it, err := db.Iterator(start, end)
		ok(t, err)
		if s, e := it.Domain(); !bytes.Equal(s, start) || !bytes.Equal(e, end) {
			t.Errorf("the domain is %q to %q, want %q to %q", s, e, start, end)
		}
		if got := rest(t, it); !slices.Equal(got, want) {
			t.Errorf("%q to %q: got %q, want %q", start, end, got, want)
		}
		it, err = db.ReverseIterator(start, end)
		ok(t, err)
		slices.Reverse(want)
		if got := rest(t, it); !slices.Equal(got, want) {
			t.Errorf("%q to %q, reverse: got %q, want %q", start, end, got, want)
		}
	}
}

func TestIterator_refusesEmptyBounds(t *testing.T) {
	db := inMemory(t)
	_, start := db.Iterator([]byte{}, nil)
	_, end := db.Iterator(nil, []byte{})
	_, startReverse := db.ReverseIterator([]byte{}, nil)
	_, endReverse := db.ReverseIterator(nil, []byte{})
	is(t, stoat.ErrInvalidKey, start, end, startReverse, endReverse)
}

func TestIterator_panicsIfNotValid(t *testing.T) {
	db := inMemory(t)
	ok(t, db.Set([]byte("k"), []byte{1}))
	ended, err := db.Iterator(nil, nil)
	ok(t, err)
	ended.Next()
	closed, err := db.Iterator(nil, nil)
	ok(t, err)
	ok(t, closed.Close())
	ok(t, closed.Close())
	for _, it := range []iterator{ended, closed} {
		if it.Valid() {
			t.Error("the iterator is valid")
		}
		for name, use := range map[string]func(){
			"Next": it.Next, "Key": func() { it.Key() }, "Value": func() { it.Value() },
		} {
			if !panics(use) {
				t.Errorf("%s does not panic", name)
			}
		}
	}
}

func panics(fn func()) (did bool) {
	defer func() { did = recover() != nil }()
	fn()
	return false
}

// TestIterator_besideWrites writes within the range, which the interfaces forbid, and programs do.
func TestIterator_besideWrites(t *testing.T) {
	db := inMemory(t)
	for i := range 100 {
		ok(t, db.Set(fmt.Appendf(nil, "%03d", i), []byte{0}))
	}
	it, err := db.Iterator(nil, nil)
	ok(t, err)
	n := 0
	for ; it.Valid(); it.Next() {
		if it.Value()[0] != 0 {
			t.Fatalf("%s was written after the iterator was made", it.Key())
		}
		ok(t, db.Set(it.Key(), []byte{1}))
		ok(t, db.Set(append(it.Key(), 'x'), []byte{1}))
		ok(t, db.Delete(fmt.Appendf(nil, "%03d", n+1)))
		n++
	}
	if n != 100 {
		t.Errorf("%d keys, want 100", n)
	}
}

func TestIterator_outlivesTheDatabase(t *testing.T) {
	db := inMemory(t)
	ok(t, db.Set([]byte("a"), []byte{1}))
	ok(t, db.Set([]byte("b"), []byte{2}))
	it, err := db.Iterator(nil, nil)
	ok(t, err)
	ok(t, db.Close())
	if got := rest(t, it); len(got) != 2 {
		t.Errorf("the keys are %q", got)
	}
}

// TestIterator_survivesAFailingDisk cuts tables off, so that reading their maps is a fault.
func TestIterator_survivesAFailingDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows refuses to cut off files that are mapped")
	}
	dir := t.TempDir()
	db := openAt(t, dir)
	random := rand.NewChaCha8([32]byte{})
	for i := range 100 {
		value := make([]byte, 2000) // not compressible, so a table has it as it is
		_, _ = random.Read(value)
		ok(t, db.Set([]byte{byte(i)}, value))
	}
	ok(t, db.Close())
	db = openAt(t, dir)
	it, err := db.Iterator(nil, nil)
	ok(t, err)
	cutTables(t, dir)
	if key, value := it.Key(), it.Value(); len(key) != 1 || len(value) != 2000 {
		t.Errorf("the iterator is on a key of %d bytes and a value of %d", len(key), len(value))
	}
	for it.Valid() {
		it.Next()
	}
	if it.Error() == nil {
		t.Error("all was read from files that are empty")
	}
	ok(t, it.Close())
}

func openAt(t *testing.T, dir string) database {
	t.Helper()
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	t.Cleanup(func() { _ = db.Close() }) // of a directory that the test may have spoilt
	return wrap(db)
}

func cutTables(t *testing.T, dir string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "*.table"))
	ok(t, err)
	for _, name := range tables {
		ok(t, os.Truncate(name, 0))
	}
}

// TestIterator_besideWriters replaces one key by another in batches, so each state has one.
func TestIterator_besideWriters(t *testing.T) {
	db := inMemory(t)
	ok(t, db.Set([]byte{1}, []byte{}))
	var group sync.WaitGroup
	group.Go(func() {
		for i := range 300 {
			b := db.NewBatch()
			_ = b.Delete([]byte{byte(i%7) + 1})
			_ = b.Set([]byte{byte((i+1)%7) + 1}, []byte{})
			if err := b.Write(); err != nil {
				t.Error(err)
			}
		}
	})
	for range 300 {
		it, err := db.ReverseIterator(nil, nil)
		ok(t, err)
		if got := rest(t, it); len(got) != 1 {
			t.Errorf("an iterator sees %q, want one key", got)
		}
	}
	group.Wait()
}

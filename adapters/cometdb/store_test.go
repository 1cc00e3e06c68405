package cometdb_test

import (
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/cometdb"
)

func TestStore_setsAndDeletes(t *testing.T) {
	db := inMemory(t)
	holds(t, db, "k", nil)
	ok(t, db.Set([]byte("k"), []byte("1")))
	holds(t, db, "k", []byte("1"))
	ok(t, db.SetSync([]byte("k"), []byte{}))
	holds(t, db, "k", []byte{})
	ok(t, db.Delete([]byte("k")))
	ok(t, db.Delete([]byte("k")))
	ok(t, db.DeleteSync([]byte("k")))
	holds(t, db, "k", nil)
}

func TestStore_refusesEmptyKeysAndNilValues(t *testing.T) {
	db := inMemory(t)
	b := db.NewBatch()
	for _, empty := range [][]byte{nil, {}} {
		_, getErr := db.Get(empty)
		_, hasErr := db.Has(empty)
		is(t, stoat.ErrInvalidKey, getErr, hasErr, db.Set(empty, []byte{1}), db.Set(empty, nil),
			db.SetSync(empty, []byte{1}), db.Delete(empty), db.DeleteSync(empty),
			b.Set(empty, []byte{1}), b.Delete(empty))
	}
	is(t, cometdb.ErrValueNil, db.Set([]byte("k"), nil), db.SetSync([]byte("k"), nil),
		b.Set([]byte("k"), nil))
	ok(t, b.Write()) // nothing of that was added
	holds(t, db, "k", nil)
}

func TestStore_sharesNoBytesWithCallers(t *testing.T) {
	db := inMemory(t)
	key, value := []byte("k"), []byte("value")
	ok(t, db.Set(key, value))
	b := db.NewBatch()
	ok(t, b.Set(key, value))
	clear(value)
	key[0] = 'X'
	holds(t, db, "k", []byte("value"))
	ok(t, b.Write())
	holds(t, db, "k", []byte("value"))
	got, err := db.Get([]byte("k"))
	ok(t, err)
	got[0] = 'X'
	it, err := db.Iterator(nil, nil)
	ok(t, err)
	it.Key()[0], it.Value()[0] = 'X', 'X'
	kept := it.Value()
	ok(t, it.Close())
	holds(t, db, "k", []byte("value"))
	if string(kept) != "value" {
		t.Errorf("a value is %q after its iterator was closed", kept)
	}
}

func TestClose_isFinalAndMayBeRepeated(t *testing.T) {
	db := inMemory(t)
	b := db.NewBatch()
	ok(t, b.Set([]byte("k"), []byte{1}))
	ok(t, db.Close())
	ok(t, db.Close())
	_, getErr := db.Get([]byte("k"))
	_, hasErr := db.Has([]byte("k"))
	it, iteratorErr := db.Iterator(nil, nil)
	_, reverseErr := db.ReverseIterator(nil, nil)
	is(t, stoat.ErrClosed, getErr, hasErr, iteratorErr, reverseErr, db.Set([]byte("k"), []byte{1}),
		db.SetSync([]byte("k"), []byte{1}), db.Delete([]byte("k")), db.DeleteSync([]byte("k")),
		b.Write(), b.WriteSync(), db.Compact(nil, nil), db.Print())
	if it != nil {
		t.Error("a failed Iterator returns one, too")
	}
	if len(db.Stats()) == 0 {
		t.Error("there are no numbers")
	}
}

func TestCompact_keepsWhatThereIs(t *testing.T) {
	db := inMemory(t)
	ok(t, db.Set([]byte("k"), []byte("v")))
	ok(t, db.Compact(nil, nil))
	ok(t, db.Compact([]byte("x"), []byte("y")))
	holds(t, db, "k", []byte("v"))
}

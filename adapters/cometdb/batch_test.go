package cometdb_test

import (
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/cometdb"
)

func TestBatch_writesInOrder(t *testing.T) {
	db := inMemory(t)
	ok(t, db.Set([]byte("old"), []byte{0}))
	b := db.NewBatchWithSize(100)
	ok(t, b.Delete([]byte("a")))
	ok(t, b.Set([]byte("a"), []byte{1}))
	ok(t, b.Set([]byte("b"), []byte{1}))
	ok(t, b.Set([]byte("b"), []byte{}))
	ok(t, b.Set([]byte("c"), []byte{3}))
	ok(t, b.Delete([]byte("c")))
	ok(t, b.Delete([]byte("old")))
	holds(t, db, "a", nil)
	ok(t, b.Write())
	holds(t, db, "a", []byte{1})
	holds(t, db, "b", []byte{})
	holds(t, db, "c", nil)
	holds(t, db, "old", nil)
}

func TestBatch_endsWithItsWrite(t *testing.T) {
	db := inMemory(t)
	for _, end := range []func(batch) error{batch.Write, batch.WriteSync, batch.Close} {
		b := db.NewBatch() // it may be empty
		ok(t, end(b))
		_, sizeErr := b.GetByteSize()
		is(t, cometdb.ErrBatchClosed, sizeErr, b.Set([]byte("k"), []byte{1}), b.Set(nil, nil),
			b.Delete([]byte("k")), b.Write(), b.WriteSync())
		ok(t, b.Close())
		ok(t, b.Close())
	}
	holds(t, db, "k", nil)
}

func TestBatch_isDroppedByClose(t *testing.T) {
	db := inMemory(t)
	b := db.NewBatch()
	ok(t, b.Set([]byte("k"), []byte{1}))
	ok(t, b.Close())
	holds(t, db, "k", nil)
}

func TestBatch_isAllOrNothing(t *testing.T) {
	db := inMemory(t)
	b := db.NewBatch()
	ok(t, b.Set([]byte("k"), []byte{1}))
	ok(t, b.Set(make([]byte, 70000), []byte{1}))
	is(t, stoat.ErrTooLarge, b.Write(), b.Write())
	holds(t, db, "k", nil)
}

func TestBatch_tellsItsSize(t *testing.T) {
	db := inMemory(t)
	for _, reserved := range []int{-1, 0, 1 << 10, 1 << 30} {
		b := db.NewBatchWithSize(reserved)
		ok(t, b.Set([]byte("key"), []byte("value")))
		ok(t, b.Delete([]byte("four")))
		got, err := b.GetByteSize()
		ok(t, err)
		if got != 12 {
			t.Errorf("the size is %d, want 12", got)
		}
		ok(t, b.Close())
	}
}

package stoat_test

import (
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestDeleteRange_removesWhatARangeWouldShow(t *testing.T) {
	key := func(s string) []byte { return []byte(s) }
	for _, c := range []struct {
		name string
		r    stoat.Range
		left string
	}{
		{"all", stoat.Range{}, ""},
		{"between", stoat.Range{Start: key("b"), End: key("d")}, "a d e"},
		{"from", stoat.Range{Start: key("c")}, "a b"},
		{"up to", stoat.Range{End: key("c")}, "c d e"},
		{"none", stoat.Range{Start: key("d"), End: key("b")}, "a b c d e"},
		{"in reverse", stoat.Range{Start: key("b"), End: key("d"), Reverse: true}, "a d e"},
		{"the first two", stoat.Range{Limit: 2}, "c d e"},
		{"the last two", stoat.Range{Limit: 2, Reverse: true}, "a b c"},
		{"more than there are", stoat.Range{Limit: 9, Start: key("d")}, "a b c"},
		{"a prefix", stoat.Prefix(key("c")), "a b d e"},
	} {
		for _, flushed := range []bool{false, true} {
			db := openOn(t, memfs.New(), nil)
			update(t, db, func(tx *stoat.Tx) {
				put(t, tx, "a", "b", "c", "d", "e")
				put(t, create(t, tx, "bucket"), "b", "c")
			})
			if flushed {
				ok(t, db.Flush())
			}
			before := begin(t, db, false)
			update(t, db, func(tx *stoat.Tx) {
				ok(t, tx.DeleteRange(c.r))
				wantKeys(t, tx, strings.Fields(c.left)...)
			})
			view(t, db, func(tx *stoat.Tx) {
				wantKeys(t, tx, strings.Fields(c.left)...)
				wantKeys(t, bucket(t, tx, "bucket"), "b", "c")
			})
			wantKeys(t, before, "a", "b", "c", "d", "e")
			if t.Failed() {
				t.Fatalf("case %q, flushed %v", c.name, flushed)
			}
			ok(t, db.Close())
		}
	}
}

func TestDeleteRange_hidesWhatIsOlderAndNothingElse(t *testing.T) {
	db := openOn(t, memfs.New(), nil)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a", "b", "c") })
	ok(t, db.Flush())
	update(t, db, func(tx *stoat.Tx) {
		ok(t, tx.DeleteRange(stoat.Range{}))
		put(t, tx, "b")
	})
	ok(t, db.Flush())
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "c") })
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "b", "c") })
	tx := begin(t, db, true)
	ok(t, tx.DeleteRange(stoat.Range{End: []byte("c")}))
	wantKeys(t, tx, "c")
	ok(t, tx.Rollback())
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "b", "c") })
	ok(t, db.Close())
}

func TestDeleteRange_costsOneEntryHoweverManyKeys(t *testing.T) {
	db := openOn(t, memfs.New(), nil)
	update(t, db, func(tx *stoat.Tx) {
		for i := range 50_000 {
			ok(t, tx.Put(benchKey(i), nil))
		}
	})
	logged := db.Stats().LogBytes
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.DeleteRange(stoat.Range{})) })
	if n := db.Stats().LogBytes - logged; n > 200 {
		t.Errorf("%d bytes were written", n)
	}
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx) })
	ok(t, db.Close())
}

func TestDeleteRange_checksItsBounds(t *testing.T) {
	db := memory(t)
	long := make([]byte, 65_536)
	update(t, db, func(tx *stoat.Tx) {
		put(t, tx, "a")
		wantErr(t, tx.DeleteRange(stoat.Range{Start: long}), stoat.ErrTooLarge)
		wantErr(t, tx.DeleteRange(stoat.Range{End: long}), stoat.ErrTooLarge)
		wantKeys(t, tx, "a")
	})
	view(t, db, func(tx *stoat.Tx) {
		wantErr(t, tx.DeleteRange(stoat.Range{}), stoat.ErrReadOnly)
	})
}

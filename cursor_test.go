package stoat_test

import (
	"testing"

	"github.com/stoatdb/stoat"
)

// lands wants a move to have led to key, or off the end if key is empty.
func lands(t *testing.T, key string) func(gotKey, gotValue []byte) {
	t.Helper()
	return func(gotKey, gotValue []byte) {
		t.Helper()
		if key == "" {
			equal(t, gotKey == nil && gotValue == nil, true)
			return
		}
		equal(t, string(gotKey), key)
		equal(t, string(gotValue), "v-"+key)
	}
}

// inEachCursorSetting runs fn with cursors over the keys b, d, f: in all spaces from the
// transaction's own writes, and between other buckets from a memtable and from a table.
func inEachCursorSetting(t *testing.T, fn func(t *testing.T, c *stoat.Cursor)) {
	t.Helper()
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "b", "d", "f")
		fn(t, s.Cursor())
	})
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) { put(t, surround(t, tx, "x"), "b", "d", "f") })
	for _, source := range []string{"memtable", "table"} {
		t.Run(source, func(t *testing.T) {
			view(t, db, func(tx *stoat.Tx) { fn(t, bucket(t, tx, "x").Cursor()) })
		})
		ok(t, db.Flush())
	}
}

func TestCursor_seekFindsTheFirstKeyNotBelow(t *testing.T) {
	tests := map[string]string{
		"": "b", "a": "b", "b": "b", "b\x00": "d", "c": "d", "d": "d", "f": "f", "g": "", "\xff": "",
	}
	inEachCursorSetting(t, func(t *testing.T, c *stoat.Cursor) {
		for key, want := range tests {
			lands(t, want)(c.Seek([]byte(key)))
		}
		ok(t, c.Err())
	})
}

func TestCursor_movesBothWays(t *testing.T) {
	inEachCursorSetting(t, func(t *testing.T, c *stoat.Cursor) {
		lands(t, "b")(c.First())
		lands(t, "d")(c.Next())
		lands(t, "b")(c.Prev())
		lands(t, "d")(c.Next())
		lands(t, "f")(c.Next())
		lands(t, "d")(c.Prev())
		lands(t, "f")(c.Last())
		lands(t, "d")(c.Prev())
		lands(t, "f")(c.Next())
		lands(t, "d")(c.Seek([]byte("c")))
		lands(t, "b")(c.Prev())
		ok(t, c.Err())
	})
}

func TestCursor_comesBackFromBothEnds(t *testing.T) {
	inEachCursorSetting(t, func(t *testing.T, c *stoat.Cursor) {
		lands(t, "f")(c.Last())
		for range 2 {
			lands(t, "")(c.Next())
			lands(t, "")(c.Next())
			lands(t, "f")(c.Prev())
		}
		lands(t, "b")(c.First())
		for range 2 {
			lands(t, "")(c.Prev())
			lands(t, "")(c.Prev())
			lands(t, "b")(c.Next())
		}
		lands(t, "")(c.Seek([]byte("g")))
		lands(t, "f")(c.Prev())
		ok(t, c.Err())
	})
}

func TestCursor_newOneStandsBeforeTheFirst(t *testing.T) {
	inEachCursorSetting(t, func(t *testing.T, c *stoat.Cursor) {
		lands(t, "")(c.Prev())
		lands(t, "b")(c.Next())
		lands(t, "d")(c.Next())
		ok(t, c.Err())
	})
}

func TestCursor_emptyBucketHasNoPlace(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		c := s.Cursor()
		for range 2 {
			lands(t, "")(c.First())
			lands(t, "")(c.Next())
			lands(t, "")(c.Prev())
			lands(t, "")(c.Last())
			lands(t, "")(c.Prev())
			lands(t, "")(c.Next())
			lands(t, "")(c.Seek([]byte("a")))
		}
		ok(t, c.Err())
	})
}

func TestCursor_writesAppearWithTheNextPositioning(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "b", "d", "f")
		c := s.Cursor()
		lands(t, "b")(c.First())
		put(t, s, "a", "c", "e")
		ok(t, s.Delete([]byte("d")))
		lands(t, "d")(c.Next())
		lands(t, "f")(c.Next())
		lands(t, "")(c.Next())
		lands(t, "f")(c.Prev())
		lands(t, "e")(c.Seek([]byte("d")))
		lands(t, "c")(c.Prev())
		put(t, s, "z")
		lands(t, "z")(c.Last())
		ok(t, s.Delete([]byte("a")))
		lands(t, "b")(c.First())
		ok(t, c.Err())
	})
}

func TestCursor_afterAnErrorMovesNoMore(t *testing.T) {
	update(t, memory(t), func(tx *stoat.Tx) {
		b := create(t, tx, "b")
		put(t, b, "a")
		c := b.Cursor()
		lands(t, "a")(c.First())
		ok(t, tx.DeleteBucket([]byte("b")))
		lands(t, "")(c.First())
		lands(t, "")(c.Next())
		wantErr(t, c.Err(), stoat.ErrBucketNotFound)
	})
}

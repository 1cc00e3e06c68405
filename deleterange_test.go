package stoat_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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

// Thousands of small ranges are deleted, in the order of keys and out of it, of what is in tables
// and what is in memory, and each state of the database must show what is left.
func TestDeleteRange_ofManySmallRanges(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	db := openOn(t, memfs.New(), nil)
	const keys = 5000
	key := func(i int) []byte { return fmt.Appendf(nil, "%05d", i) }
	var left [keys]bool
	round := func(puts, deletions int) {
		update(t, db, func(tx *stoat.Tx) {
			for range puts {
				i := rng.IntN(keys)
				ok(t, tx.Put(key(i), nil))
				left[i] = true
			}
			ascending := rng.IntN(keys)
			for n := range deletions {
				from := rng.IntN(keys)
				if n%2 == 0 {
					from, ascending = ascending, (ascending+3)%keys
				}
				to := min(from+rng.IntN(4), keys)
				ok(t, tx.DeleteRange(stoat.Range{Start: key(from), End: key(to)}))
				clear(left[from:to])
			}
			wantLeft(t, tx, left[:], key, rng)
		})
		view(t, db, func(tx *stoat.Tx) { wantLeft(t, tx, left[:], key, rng) })
	}
	round(keys, 0)
	for range 4 {
		round(0, 600)
		round(1000, 100)
		for range 20 {
			round(5, 5)
		}
		ok(t, db.Flush())
		view(t, db, func(tx *stoat.Tx) { wantLeft(t, tx, left[:], key, rng) })
	}
	round(100, 100)
	ok(t, db.Compact(context.Background()))
	view(t, db, func(tx *stoat.Tx) { wantLeft(t, tx, left[:], key, rng) })
	if s := db.Stats(); s.YoungRuns > 0 || s.Tombstones > 0 {
		t.Errorf("after compaction there are %d young runs, %d tombstones", s.YoungRuns, s.Tombstones)
	}
	ok(t, db.Close())
}

// wantLeft checks a part of the keys in both directions, and some gets.
func wantLeft(
	t *testing.T, tx *stoat.Tx, left []bool, key func(i int) []byte, rng *rand.Rand,
) {
	t.Helper()
	from := rng.IntN(len(left))
	to := from + rng.IntN(len(left)-from)
	var want []string
	for i := from; i < to; i++ {
		if left[i] {
			want = append(want, string(key(i)))
		}
	}
	r := stoat.Range{Start: key(from), End: key(to)}
	for _, r.Reverse = range []bool{false, true} {
		var got []string
		for k := range tx.Keys(r) {
			got = append(got, string(k))
		}
		if r.Reverse {
			slices.Reverse(got)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d to %d, reverse %v: %d keys, want %d", from, to, r.Reverse, len(got), len(want))
		}
	}
	for range 10 {
		i := rng.IntN(len(left))
		if has, err := tx.Has(key(i)); err != nil || has != left[i] {
			t.Fatalf("key %d is there: %v, %v", i, has, err)
		}
	}
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

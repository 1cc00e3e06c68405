package stoat_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
)

// allKeys is immutable.
var allKeys = []string{"a", "b", "ba", "bb", "c"}

// scanCases are ranges over the keys in allKeys, and what they hold.
var scanCases = map[string]struct {
	r    stoat.Range
	want []string
}{
	"everything":        {stoat.Range{}, allKeys},
	"start at a key":    {stoat.Range{Start: []byte("ba")}, []string{"ba", "bb", "c"}},
	"start between":     {stoat.Range{Start: []byte("b\x00")}, []string{"ba", "bb", "c"}},
	"start above":       {stoat.Range{Start: []byte("d")}, nil},
	"start far above":   {stoat.Range{Start: []byte("\xff\xff\xff")}, nil},
	"end at a key":      {stoat.Range{End: []byte("ba")}, []string{"a", "b"}},
	"end above":         {stoat.Range{End: []byte("\xff\xff")}, allKeys},
	"end below":         {stoat.Range{End: []byte("\x00")}, nil},
	"empty end is none": {stoat.Range{Start: []byte("bb"), End: []byte{}}, []string{"bb", "c"}},
	"both":              {stoat.Range{Start: []byte("b"), End: []byte("c")}, allKeys[1:4]},
	"start at end":      {stoat.Range{Start: []byte("b"), End: []byte("b")}, nil},
	"start beyond end":  {stoat.Range{Start: []byte("c"), End: []byte("a")}, nil},
	"limit":             {stoat.Range{Limit: 2}, []string{"a", "b"}},
	"limit as many":     {stoat.Range{Limit: 5}, allKeys},
	"limit beyond":      {stoat.Range{Limit: 9}, allKeys},
	"limit negative":    {stoat.Range{Limit: -1}, allKeys},
	"limit of a range":  {stoat.Range{Start: []byte("b"), Limit: 2}, []string{"b", "ba"}},
	"reverse":           {stoat.Range{Reverse: true}, []string{"c", "bb", "ba", "b", "a"}},
	"reverse, start":    {stoat.Range{Reverse: true, Start: []byte("bb")}, []string{"c", "bb"}},
	"reverse, end":      {stoat.Range{Reverse: true, End: []byte("ba")}, []string{"b", "a"}},
	"reverse, end between": {stoat.Range{Reverse: true, End: []byte("bb\x00")},
		[]string{"bb", "ba", "b", "a"}},
	"reverse, limit": {stoat.Range{Reverse: true, Limit: 3}, []string{"c", "bb", "ba"}},
	"prefix":         {stoat.Prefix([]byte("b")), []string{"b", "ba", "bb"}},
	"prefix of one":  {stoat.Prefix([]byte("bb")), []string{"bb"}},
	"prefix of none": {stoat.Prefix([]byte("bc")), nil},
	"prefix of all":  {stoat.Prefix(nil), allKeys},
}

// checkScans compares all scan cases with what s, which holds their keys, returns.
func checkScans(t *testing.T, s stoat.KeySpace) {
	t.Helper()
	for name, test := range scanCases {
		t.Run(name, func(t *testing.T) {
			equalKeys(t, keysOf(s.Keys(test.r)), test.want)
			var got []string
			for k, v := range s.Scan(test.r) {
				got = append(got, string(k))
				equal(t, string(v), "v-"+string(k))
			}
			equalKeys(t, got, test.want)
			got = nil
			for k, v := range s.Heads(test.r, 3) {
				got = append(got, string(k))
				equal(t, string(v), ("v-" + string(k))[:3])
			}
			equalKeys(t, got, test.want)
		})
	}
}

// surround puts buckets with keys of their own before and after s in the order of ids.
func surround(t *testing.T, tx *stoat.Tx, name string) *stoat.Bucket {
	t.Helper()
	put(t, create(t, tx, name+" before"), "a", "b", "zz")
	b := create(t, tx, name)
	put(t, create(t, tx, name+" after"), "a", "b", "zz")
	return b
}

func TestScan_ownWritesInAnyRange(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "c", "a", "bb", "b", "ba")
		checkScans(t, s)
	})
}

func TestScan_committedWritesInAnyRange(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		put(t, tx, "a", "b", "c", "gone")
		put(t, surround(t, tx, "x"), "a", "b", "c", "gone")
	})
	ok(t, db.Flush())
	update(t, db, func(tx *stoat.Tx) {
		for _, s := range []stoat.KeySpace{tx, bucket(t, tx, "x")} {
			ok(t, s.Delete([]byte("gone")))
			put(t, s, "ba", "b")
		}
	})
	update(t, db, func(tx *stoat.Tx) {
		for _, s := range []stoat.KeySpace{tx, bucket(t, tx, "x")} {
			put(t, s, "bb")
			checkScans(t, s) // from a table, a memtable, and the transaction
		}
	})
	view(t, db, func(tx *stoat.Tx) {
		checkScans(t, tx)
		checkScans(t, bucket(t, tx, "x"))
	})
	ok(t, db.Flush())
	view(t, db, func(tx *stoat.Tx) {
		checkScans(t, tx)
		checkScans(t, bucket(t, tx, "x"))
	})
}

func TestScan_seesWritesUpToItsStartOnly(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "a", "b", "c")
		loop := s.Keys(stoat.Range{})
		put(t, s, "d")
		var seen []string
		for k := range loop {
			seen = append(seen, string(k))
			put(t, s, string(k)+"+", "e")
			ok(t, s.Delete([]byte("c")))
		}
		equalKeys(t, seen, []string{"a", "b", "c", "d"})
		equalKeys(t, keysOf(loop), []string{"a", "a+", "b", "b+", "c+", "d", "d+", "e"})
	})
}

func TestScan_deletingWhileScanningEmptiesTheBucket(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		const n = 5000
		for i := range n {
			put(t, s, fmt.Sprintf("%04d", i))
		}
		visited := 0
		for k, v := range s.Scan(stoat.Range{}) {
			equal(t, string(v), "v-"+string(k))
			ok(t, s.Delete(k))
			visited++
		}
		equal(t, visited, n)
		wantKeys(t, s)
	})
}

func TestScan_stopsWhenTheLoopDoes(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "a", "b", "c")
		for k := range s.Scan(stoat.Range{}) {
			equal(t, string(k), "a")
			break
		}
	})
}

func TestScan_loopsNest(t *testing.T) {
	inEachSpace(t, func(t *testing.T, s stoat.KeySpace) {
		put(t, s, "a", "b", "c")
		var seen []string
		for outer := range s.Scan(stoat.Range{}) {
			for inner := range s.Keys(stoat.Range{Reverse: true, Limit: 2}) {
				seen = append(seen, string(outer)+string(inner))
			}
		}
		equalKeys(t, seen, []string{"ac", "ab", "bc", "bb", "cc", "cb"})
	})
}

func TestBuckets_listsNamesInOrder(t *testing.T) {
	db := memory(t)
	names := []string{"b", "a\x00", "\xff\xff", "a", "ab"}
	update(t, db, func(tx *stoat.Tx) {
		for _, name := range names {
			create(t, create(t, tx, name), "inner "+name)
		}
		slices.Sort(names)
		equalKeys(t, keysOf(tx.Buckets()), names)
		for name := range tx.Buckets() {
			equalKeys(t, keysOf(bucket(t, tx, string(name)).Buckets()),
				[]string{"inner " + string(name)})
			ok(t, tx.DeleteBucket(name))
		}
		equalKeys(t, keysOf(tx.Buckets()), nil)
	})
}

func TestScan_slicesStayUntilTheTransactionEnds(t *testing.T) {
	const n = 2000
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		for i := range n {
			put(t, tx, fmt.Sprintf("%05d", i))
		}
	})
	check := func(tx *stoat.Tx) {
		t.Helper()
		var keys, values [][]byte
		for k, v := range tx.Scan(stoat.Range{}) {
			keys, values = append(keys, k), append(values, v)
		}
		c := tx.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			keys, values = append(keys, k), append(values, v)
		}
		for k := range tx.Keys(stoat.Range{}) {
			v, err := tx.Get(k)
			ok(t, err)
			keys, values = append(keys, k), append(values, v)
		}
		equal(t, len(keys), 3*n)
		for i := range keys {
			want := fmt.Sprintf("%05d", i%n)
			if string(keys[i]) != want || string(values[i]) != "v-"+want {
				t.Fatalf("entry %d became %s: %s", i, keys[i], values[i])
			}
		}
	}
	view(t, db, check)
	ok(t, db.Flush())
	view(t, db, check)
	update(t, db, func(tx *stoat.Tx) {
		put(t, tx, "00007")
		check(tx)
	})
}

// TestScan_slicesOfShortLoopsStay has values that are encoded one by one, so that loops decode them
// into memory that may be used again.
func TestScan_slicesOfShortLoopsStay(t *testing.T) {
	const n = 2000
	value := func(i int) string {
		return fmt.Sprintf(`{"id":%d,"name":"user %[1]d","mail":"user%[1]d@example.org"}`, i)
	}
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		for i := range n {
			ok(t, tx.Put(fmt.Appendf(nil, "%05d", i), []byte(value(i))))
		}
	})
	ok(t, db.Flush())
	for range 2 { // the second time in the same Tx
		view(t, db, func(tx *stoat.Tx) {
			var keys, values [][]byte
			for i := 0; i < n; i += 50 {
				r := stoat.Range{Start: fmt.Appendf(nil, "%05d", i), Limit: 3}
				for k, v := range tx.Scan(r) {
					keys, values = append(keys, k), append(values, v)
				}
			}
			equal(t, len(keys), n/50*3)
			for i := range keys {
				at := i/3*50 + i%3
				equal(t, string(keys[i]), fmt.Sprintf("%05d", at))
				equal(t, string(values[i]), value(at))
			}
		})
	}
}

func TestScan_loopThatGoesOnAfterItsViewIsAlone(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a", "b", "c") })
	ok(t, db.Flush())
	var next func() ([]byte, []byte, bool)
	var stop func()
	view(t, db, func(tx *stoat.Tx) {
		for range tx.Scan(stoat.Range{}) { // so that there is something to use again
		}
		next, stop = iter.Pull2(tx.Scan(stoat.Range{}))
		k, _, _ := next()
		equal(t, string(k), "a")
	})
	view(t, db, func(tx *stoat.Tx) {
		for _, want := range []string{"b", "c"} {
			wantKeys(t, tx, "a", "b", "c")
			if k, v, more := next(); more { // it may end early, but see nothing else
				equal(t, string(k), want)
				equal(t, string(v), "v-"+want)
			}
		}
		stop()
		wantKeys(t, tx, "a", "b", "c")
	})
}

func TestHeads_areTheFirstBytesOfValuesHoweverStored(t *testing.T) {
	const n = 3000
	value := func(i int) (text string) { // some are shorter than all heads
		for j := range i % 7 {
			text += fmt.Sprintf("number %d is %016x. ", j, rand.NewPCG(uint64(i), uint64(j)).Uint64())
		}
		return text
	}
	db := memory(t)
	write := func(from, step int) {
		update(t, db, func(tx *stoat.Tx) {
			for i := from; i < n; i += step {
				ok(t, tx.Put(fmt.Appendf(nil, "%05d", i), []byte(value(i))))
			}
		})
	}
	check := func(tx *stoat.Tx) {
		t.Helper()
		for _, bytes := range []int{20, 1, 90, 90, 0, -1, 1 << 20, math.MaxInt - 1, math.MaxInt} {
			i := 0
			for k, v := range tx.Heads(stoat.Range{}, bytes) {
				want := value(i)
				want = want[:max(0, min(bytes, len(want)))]
				if string(k) != fmt.Sprintf("%05d", i) || string(v) != want {
					t.Fatalf("%d bytes of entry %d: %s has %q, want %q", bytes, i, k, v, want)
				}
				i++
			}
			equal(t, i, n)
		}
		ok(t, tx.Err())
	}
	write(0, 1)
	view(t, db, check)
	ok(t, db.Compact(context.Background()))
	view(t, db, func(tx *stoat.Tx) {
		stats, err := tx.Stats()
		ok(t, err)
		if stats.PatternBytes == 0 {
			t.Fatalf("no values are encoded one by one: %+v", stats)
		}
		check(tx)
	})
	write(5, 11) // beside those in tables
	view(t, db, check)
	update(t, db, check)
}

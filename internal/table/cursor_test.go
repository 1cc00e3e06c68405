package table

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// checkAt fails the test unless the cursor is on entry i, or on none if i is not an entry.
func checkAt(t testing.TB, c *Cursor, ok bool, entries []entry, i int) {
	t.Helper()
	if want := i >= 0 && i < len(entries); ok != want || c.Valid() != want || c.Err() != nil {
		t.Fatalf("move to entry %d of %d says %v, valid is %v (%v)", i, len(entries), ok, c.Valid(),
			c.Err())
	}
	if !ok {
		return
	}
	if c.scope.Read == ReadStored {
		if err := c.Load(); err != nil {
			t.Fatal(err)
		}
	}
	e := entries[i]
	if !bytes.Equal(c.Key(), e.key) || c.Kind() != e.kind {
		t.Fatalf("on %.40x (%d), want entry %d, %.40x (%d)", c.Key(), c.Kind(), i, e.key, e.kind)
	}
	if c.scope.Read != ReadKeys && !shows(c.scope, decoded(t, c.Entry()), e.value) {
		t.Fatalf("value of entry %d is %.40x, want %.40x", i, c.Entry().Value, e.value)
	}
	ahead, back := c.Ahead(keyspace.Forward), c.Ahead(keyspace.Reverse)
	if last := c.KeyAhead(ahead, keyspace.Forward); !bytes.Equal(last, entries[i+ahead].key) {
		t.Fatalf("the window ends with %.40x, not %d entries on", last, ahead)
	}
	if first := c.KeyAhead(back, keyspace.Reverse); !bytes.Equal(first, entries[i-back].key) {
		t.Fatalf("the window starts with %.40x, not %d entries back", first, back)
	}
}

// shows reports whether got is as much of a value as a cursor is to read, or more.
func shows(s *Scope, got, value []byte) bool {
	want := len(value)
	if s.Read == ReadHeads {
		want = min(want, s.HeadBytes)
	}
	return len(got) >= want && bytes.HasPrefix(value, got)
}

// heads returns a scope for the first n bytes of values.
func heads(n int) *Scope { return &Scope{Read: ReadHeads, HeadBytes: n} }

// readings returns a scope for each reading.
func readings(rng *rand.Rand) []*Scope {
	return []*Scope{
		{Read: ReadKeys}, {Read: ReadValues}, heads(1 + rng.Intn(50)), {Read: ReadStored},
	}
}

func TestCursor_walksBothWays(t *testing.T) {
	eachShape(t, func(t *testing.T, table *Table, entries []entry, rng *rand.Rand) {
		var c Cursor
		for _, reading := range readings(rng) {
			c.Init(table, reading)
			i := 0
			for ok := c.First(); ; ok = c.Next() {
				checkAt(t, &c, ok, entries, i)
				if i++; !ok {
					break
				}
			}
			i = len(entries) - 1
			for ok := c.Last(); ; ok = c.Prev() {
				checkAt(t, &c, ok, entries, i)
				if i--; !ok {
					break
				}
			}
		}
	})
}

func TestCursor_seeksLikeASortedSlice(t *testing.T) {
	eachShape(t, func(t *testing.T, table *Table, entries []entry, rng *rand.Rand) {
		var c Cursor
		c.Init(table, readings(rng)[rng.Intn(4)])
		for _, key := range probes(entries, rng) {
			at, _ := position(entries, key)
			checkAt(t, &c, c.Seek(key), entries, at)
			if c.Valid() {
				checkAt(t, &c, c.Prev(), entries, at-1)
			}
			checkAt(t, &c, c.SeekBefore(key), entries, at-1)
			if c.Valid() {
				checkAt(t, &c, c.Next(), entries, at)
			}
		}
	})
}

func TestCursor_isOnNoEntryBeyondTheEnds(t *testing.T) {
	table := mode{limit: 1 << 20}.open(t, puts("a", "b"))
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues})
	if c.Valid() || c.Next() || c.Prev() {
		t.Error("a new cursor is on an entry")
	}
	c.Last()
	for step := range 2 {
		if c.Next() || c.Valid() {
			t.Errorf("step %d from the last entry finds one", step)
		}
	}
	if c.Prev() || c.Valid() {
		t.Error("the cursor came back from behind the last entry")
	}
	c.First()
	for step := range 2 {
		if c.Prev() || c.Valid() {
			t.Errorf("step %d back from the first entry finds one", step)
		}
	}
	if c.Next() || c.Valid() {
		t.Error("the cursor came back from before the first entry")
	}
}

func TestCursor_keepsKeysWhenItMovesOn(t *testing.T) {
	entries := shapes(rand.New(rand.NewSource(1)))["counters"]
	m := mode{o: WriterOptions{BlockBytes: 100}, limit: 0}
	var c Cursor
	c.Init(m.open(t, entries), &Scope{Read: ReadKeys})
	var keys [][]byte
	for ok := c.First(); ok; ok = c.Next() {
		keys = append(keys, c.Key())
	}
	for i, key := range keys {
		if !bytes.Equal(key, entries[i].key) {
			t.Fatalf("key %d has become %x", i, key)
		}
	}
}

func TestCursor_ofKeysReadsNoValues(t *testing.T) {
	cache := NewCache(1 << 20)
	entries := messages(500, rand.New(rand.NewSource(1)))
	table := openTable(t, WriterOptions{Encoding: zipped()}, cache, entries)
	var c Cursor
	c.Init(table, &Scope{Read: ReadKeys})
	n := 0
	for ok := c.First(); ok; ok = c.Next() {
		n++
	}
	for i := range c.reader.slots {
		if c.reader.slots[i].values.Load() != nil {
			t.Fatalf("the values of block %d were read", i)
		}
	}
	if n != 500 || c.Err() != nil {
		t.Errorf("%d keys, error %v", n, c.Err())
	}
}

func TestWalk_yieldsTheRestOfABlock(t *testing.T) {
	entries := shapes(rand.New(rand.NewSource(1)))["tombstones"]
	table := mode{o: WriterOptions{BlockBytes: 1000}, limit: 1 << 20}.open(t, entries)
	for _, reverse := range []bool{false, true} {
		var c Cursor
		c.Init(table, &Scope{Read: ReadValues})
		step, at, ok := 1, 0, c.First()
		if reverse {
			step, at, ok = -1, len(entries)-1, c.Last()
		}
		move := c.Next
		if reverse {
			move = c.Prev
		}
		for ; ok; ok = move() {
			d := keyspace.Direction(reverse)
			end := at + step*c.Ahead(d)
			called := 0
			calls, all := c.Walk(c.Ahead(d), d, 1, func(key, value []byte) bool {
				called++
				for entries[at].kind == keyspace.KindDelete {
					at += step
				}
				e := entries[at]
				if !bytes.Equal(key, e.key[1:]) || !bytes.Equal(value, e.value) {
					t.Fatalf("yields %x, %x, want %x, %x", key, value, e.key[1:], e.value)
				}
				at += step
				return true
			})
			if !all || calls != called {
				t.Fatalf("Walk says %d calls, more %v, after %d calls", calls, all, called)
			}
			at = end + step
		}
	}
	var c Cursor
	c.Init(table, &Scope{Read: ReadKeys})
	c.Seek(entries[1].key)
	c.Walk(c.Ahead(keyspace.Forward), keyspace.Forward, 0, func(key, value []byte) bool {
		if value != nil {
			t.Errorf("a cursor of keys yields the value %x", value)
		}
		return !bytes.Equal(key, entries[4].key)
	})
	checkAt(t, &c, true, entries, 4)
}

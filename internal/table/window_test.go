package table

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// bounded is a cursor with bounds beside the entries that are within them.
type bounded struct {
	t      *testing.T
	c      Cursor
	within []entry
	at     int
}

// check compares after a move that should have led to the entry at. Beyond the bounds the cursor
// may be on any entry or on none.
func (b *bounded) check(ok bool, at int) bool {
	b.t.Helper()
	b.at = at
	if at >= 0 && at < len(b.within) {
		if !ok {
			b.t.Fatalf("no entry %d of %d (%v)", at, len(b.within), b.c.Err())
		}
		e := b.within[at]
		if got := b.c.Entry(); !bytes.Equal(b.c.Key(), e.key) || got.Kind != e.kind ||
			b.c.scope.Read != ReadKeys && !shows(b.c.scope, decoded(b.t, got), e.value) {
			b.t.Fatalf("on %.40q (%.40q), want entry %d, %.40q (%.40q)", b.c.Key(), got.Value, at,
				e.key, e.value)
		}
		return true
	}
	if ok && len(b.within) > 0 {
		low, high := b.within[0].key, b.within[len(b.within)-1].key
		if key := b.c.Key(); bytes.Compare(key, low) >= 0 && bytes.Compare(key, high) <= 0 {
			b.t.Fatalf("on %.40q, want what is beyond entry %d of %d", key, at, len(b.within))
		}
	}
	if err := b.c.Err(); err != nil {
		b.t.Fatal(err)
	}
	return false
}

// walk goes n entries on, or back.
func (b *bounded) walk(n int, back bool) {
	b.t.Helper()
	for ok := true; ok && n > 0; n-- {
		if back {
			ok = b.check(b.c.Prev(), b.at-1)
		} else {
			ok = b.check(b.c.Next(), b.at+1)
		}
	}
}

func TestCursor_withBoundsHasAllWithinThem(t *testing.T) {
	eachShape(t, func(t *testing.T, table *Table, entries []entry, rng *rand.Rand) {
		var scratch block.Scratch
		keys := probes(entries, rng)
		for range 150 {
			scope := readings(rng)[rng.Intn(3)]
			scope.Once, scope.Lower, scope.Scratch = true, keys[rng.Intn(len(keys))], &scratch
			low, _ := position(entries, scope.Lower)
			high := min(len(entries), low+rng.Intn(2*block.PartMax))
			if high < len(entries) {
				scope.Upper = entries[high].key
			}
			if rng.Intn(3) == 0 {
				scope.Limit = 1 + rng.Intn(block.PartMax)
			}
			b := bounded{t: t, within: entries[low:high]}
			b.c.Init(table, scope)
			if rng.Intn(2) == 0 {
				if b.check(b.c.Seek(scope.Lower), 0) {
					b.walk(rng.Intn(len(b.within)+1), false)
				}
			} else if scope.Upper != nil && b.check(b.c.SeekBefore(scope.Upper), high-low-1) {
				b.walk(rng.Intn(len(b.within)+1), true)
			}
			for range 3 {
				if b.c.Valid() && b.at >= 0 && b.at < len(b.within) {
					b.walk(rng.Intn(10), rng.Intn(2) == 0)
				}
			}
			if rng.Intn(20) == 0 {
				scratch.Reset()
			}
		}
	})
}

func TestCursor_bringsInNoMoreThanItsBounds(t *testing.T) {
	for _, m := range modes() {
		if m.limit == 0 {
			continue
		}
		for _, reading := range []Reading{ReadKeys, ReadValues} {
			for _, reverse := range []bool{false, true} {
				entries := messages(600, rand.New(rand.NewSource(1)))
				for i := range entries {
					entries[i].value = entries[i].value[:20]
				}
				table := m.open(t, entries)
				var c Cursor
				c.Init(table, &Scope{
					Read: reading, Once: true, Lower: entries[100].key, Upper: entries[110].key,
					Scratch: new(block.Scratch),
				})
				ok := false
				if reverse {
					ok = c.SeekBefore(entries[110].key)
				} else {
					ok = c.Seek(entries[100].key)
				}
				n := 0
				for ; ok; n++ {
					if reverse {
						ok = c.Prev()
					} else {
						ok = c.Next()
					}
				}
				if n != 10 || !c.Done() || c.Err() != nil {
					t.Errorf("%s: %d entries, done: %v, error: %v", m.name, n, c.Done(), c.Err())
				}
				for b := range c.reader.slots {
					if c.reader.slots[b].flat.Load() != nil {
						t.Errorf("%s: all keys of block %d are in memory", m.name, b)
					}
				}
			}
		}
	}
}

func TestCursor_takesABlockAsAWholeBehindItsLimit(t *testing.T) {
	entries := puts()
	for i := range 400 {
		entries = append(entries, puts(string([]byte{byte(i >> 8), byte(i)}))...)
	}
	table := modes()[0].open(t, entries)
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues, Once: true, Limit: 3, Scratch: new(block.Scratch)})
	if !c.Seek(entries[100].key) || c.Ahead(keyspace.Forward) != 2 {
		t.Fatalf("%d entries ahead, want 2", c.Ahead(keyspace.Forward))
	}
	for range 3 {
		c.Next()
	}
	if !bytes.Equal(c.Key(), entries[103].key) || c.Ahead(keyspace.Forward) != 400-103-1 {
		t.Errorf("on %x with %d entries ahead", c.Key(), c.Ahead(keyspace.Forward))
	}
}

func TestCursor_decodesABlockOfManyShortScans(t *testing.T) {
	entries := messages(100, rand.New(rand.NewSource(1)))
	for i := range entries {
		entries[i].value = bytes.Repeat([]byte("some text "), 1+i%30)
	}
	m := mode{o: WriterOptions{Encoding: encoded()}, limit: 1 << 30}
	var scratch block.Scratch
	once := 0
	for range 20 {
		table := m.open(t, entries)
		scans := 0
		for decoded := false; !decoded; scans++ {
			if scans == 1000 {
				t.Fatal("a thousand scans have not made it worth to decode the block")
			}
			var c Cursor
			c.Init(table, &Scope{
				Read: ReadValues, Once: true, Lower: entries[10].key, Upper: entries[13].key,
				Scratch: &scratch,
			})
			if !c.Seek(entries[10].key) || !c.Plain() || c.Ahead(keyspace.Forward) != 2 {
				t.Fatalf("the values are not decoded, %v", c.Err())
			}
			decoded = c.reader.slots[0].values.Load() != nil
		}
		if scans == 1 {
			once++
		}
	}
	if once > 10 {
		t.Errorf("one scan decoded the block %d times of 20", once)
	}
}

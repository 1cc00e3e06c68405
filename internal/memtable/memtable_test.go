package memtable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// keyShapes make keys that are hard in different ways.
func keyShapes() map[string]func(r *rand.Rand) string {
	from := func(r *rand.Rand, alphabet string, n int) string {
		key := make([]byte, n)
		for i := range key {
			key[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(key)
	}
	long := strings.Repeat("long common prefix ", 6)
	shapes := map[string]func(r *rand.Rand) string{
		"zeros and prefixes": func(r *rand.Rand) string { return from(r, "\x00\x01", 1+r.IntN(12)) },
		"all ones":           func(r *rand.Rand) string { return from(r, "\xfe\xff\xff", 1+r.IntN(14)) },
		"text":               func(r *rand.Rand) string { return fmt.Sprintf("k=%010d", r.IntN(900)) },
		"long prefix":        func(r *rand.Rand) string { return long + from(r, "ab", r.IntN(14)) },
		"prefixes of any length": func(r *rand.Rand) string {
			return long[:1+r.IntN(len(long))] + from(r, "\x00l~", r.IntN(4))
		},
		"differ late": func(r *rand.Rand) string {
			return "b" + from(r, "x", 12) + from(r, "01", 4) + from(r, "x", 12) + from(r, "01", 4)
		},
		"any bytes": func(r *rand.Rand) string {
			return fmt.Sprintf("%c%d", rune(r.IntN(256)), r.Uint64())[:1+r.IntN(3)]
		},
		"longest": func(r *rand.Rand) string {
			return strings.Repeat("z", 65_535-r.IntN(3)*32_767) + from(r, "\x00a", r.IntN(3))
		},
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range shapes {
			if !yield(name) {
				return
			}
		}
	})
	all := make([]func(r *rand.Rand) string, 0, len(shapes))
	for _, name := range names {
		if name != "longest" {
			all = append(all, shapes[name])
		}
	}
	shapes["mixed"] = func(r *rand.Rand) string { return all[r.IntN(len(all))](r) }
	return shapes
}

func randomValue(r *rand.Rand) string {
	switch r.IntN(200) {
	case 0:
		return strings.Repeat("huge", 80_000)
	case 1:
		return strings.Repeat("v", 5_000+r.IntN(30_000))
	default:
		return strings.Repeat("v", r.IntN(4)) + fmt.Sprint(r.Uint32())[:r.IntN(3)]
	}
}

func TestEdit_agreesWithTheModel(t *testing.T) {
	memtables := map[string]func() *Memtable{
		"2":   func() *Memtable { return newTiny(2, 4) },
		"3":   func() *Memtable { return newTiny(3, 5) },
		"8":   func() *Memtable { return newTiny(8, 8) },
		"max": func() *Memtable { return New(headroom) },
	}
	for name, key := range keyShapes() {
		for size, memtable := range memtables {
			t.Run(fmt.Sprintf("%s/%s", name, size), func(t *testing.T) {
				steps := 800
				if name == "longest" {
					steps = 60
				}
				seed := rand.Uint64()
				defer func() {
					if t.Failed() {
						t.Logf("seed %d", seed)
					}
				}()
				r := rand.New(rand.NewPCG(seed, 0))
				s := newSubject(t, memtable())
				s.runRandom(r, key, steps, r.IntN(4))
			})
		}
	}
}

// runRandom makes random operations with keys from key: of taste 0 plain ones only, of taste 1 many
// range deletions.
func (s *subject) runRandom(r *rand.Rand, key func(r *rand.Rand) string, steps, taste int) {
	before := "a bound"
	bound := func() string { // is often that of another range, so that ranges touch
		if r.IntN(3) > 0 {
			before = key(r)
		}
		return before
	}
	for range steps {
		switch n := r.IntN(100); {
		case taste == 1 && n < 30:
			s.deleteRange(bound(), bound())
		case n < 60 || taste == 0 && n < 70:
			s.put(key(r), randomValue(r))
		case n < 66:
			s.putUntil(key(r), randomValue(r), 1+r.Uint64()>>1)
		case n < 70:
			s.deleteRange(bound(), bound())
		case n < 88:
			s.delete(key(r))
		case n < 90:
			s.take()
		case n < 92:
			s.snapshot()
		case n < 95:
			s.commit()
		case n < 96:
			s.clear(bound(), bound())
		case n < 97:
			s.rollback()
		case n < 98 && len(s.snapshots) > 0:
			i := r.IntN(len(s.snapshots))
			checkRoot(s.t, s.snapshots[i].root, s.snapshots[i].want, []string{key(r)})
			s.snapshots = slices.Delete(s.snapshots, i/2, i)
		case n < 99:
			checkRoot(s.t, s.edit.Peek(), s.working, []string{key(r), key(r), key(r)})
		}
	}
	probes := []string{"", "\x00", "\xff", strings.Repeat("\xff", 20)}
	for range 200 {
		probes = append(probes, key(r))
	}
	for k := range s.working.entries {
		probes = append(probes, k, k+"\x00", k[:len(k)-1], k[:len(k)/2]+"~")
		if len(probes) > 1000 {
			break
		}
	}
	s.check(probes)
}

func TestPut_ascendingKeysFillTheLeaves(t *testing.T) {
	m := New(headroom)
	r := load(m, ascending(20_000))
	if perLeaf := float64(r.Len()) / float64(leaves(r.top)); perLeaf < fanout-1 {
		t.Errorf("%.1f entries a leaf, want nearly %d", perLeaf, fanout)
	}
}

func TestPut_ascendingKeysFillTheLeavesOfManyBuckets(t *testing.T) {
	m := New(headroom)
	e := m.Begin()
	const buckets, each = 8, 2_000
	for i := range each {
		for b := range buckets {
			e.PutUntil(fmt.Appendf(nil, "%d/%06d", b, i), nil, 0)
		}
	}
	r := e.Commit()
	if perLeaf := float64(r.Len()) / float64(leaves(r.top)); perLeaf < 0.9*fanout {
		t.Errorf("%.1f entries a leaf, want nearly %d", perLeaf, fanout)
	}
}

func TestCursor_knowsNoPlaceInTheLogOfWhatWasNeverTaken(t *testing.T) {
	m := New(headroom)
	e := m.Begin()
	e.PutUntil([]byte("a"), []byte("taken"), 0)
	e.TakeFrames(1000)
	e.PutUntil([]byte("b"), []byte("not taken"), 0)
	var c Cursor
	c.Init(e.Commit())
	c.First()
	if at, ok := c.LogOffset(); !ok || at != 1000+headroom+4 {
		t.Errorf("the value taken lies at %d, %v", at, ok)
	}
	c.Next()
	if at, ok := c.LogOffset(); ok {
		t.Errorf("the value that was not taken lies at %d", at)
	}
}

func TestCursor_forgetsTheRootBefore(t *testing.T) {
	m := New(headroom)
	plain := load(m, ascending(100))
	e := m.Begin()
	e.PutUntil([]byte("00000010"), nil, 7)
	var c Cursor
	if c.Init(e.Commit()); c.Plain() {
		t.Error("a root is plain where something expires")
	}
	if c.Init(plain); !c.Plain() || c.Valid() {
		t.Error("an older root is not plain, or the cursor is on an entry of it")
	}
	if c.Init(Root{}); !c.Plain() || c.First() {
		t.Error("the empty root is not plain and empty")
	}
}

func TestReplay_refusesDamage(t *testing.T) {
	m := newTiny(2, 4)
	e := m.Begin()
	e.PutUntil([]byte("a"), []byte("value"), 0)
	before := e.Commit()
	for _, good := range []string{"", "\x01\x01\x01bv", "\x04\x01\x01ab\x81\x01\x00until...c"} {
		e := m.Begin()
		err := e.Replay([]byte(good+"\x03\x01k"), 0)
		if want := fmt.Sprintf("offset %d:", len(good)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one at %s", err, want)
		}
		e.Rollback()
	}
	if after := m.Begin().Commit(); !reflect.DeepEqual(before, after) {
		t.Error("something is left after the rollback")
	}
}

func ascending(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "%08d", i)
	}
	return keys
}

func leaves(n node) int {
	if n.leaf != nil {
		return 1
	}
	sum := 0
	for i := range int(n.inner.count) {
		sum += leaves(n.inner.kid(i))
	}
	return sum
}

func TestNodes_haveTheCountedSize(t *testing.T) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	rounded := func(size uintptr) uintptr {
		for _, class := range stats.BySize {
			if size <= uintptr(class.Size) {
				return uintptr(class.Size)
			}
		}
		t.Fatalf("%d bytes have no size class", size)
		return 0
	}
	if size := reflect.TypeFor[fragment]().Size(); size > fragmentBytes {
		t.Errorf("a fragment has %d bytes, want at most %d", size, fragmentBytes)
	}
	if size := rounded(reflect.TypeFor[leaf]().Size()); size != leafBytes {
		t.Errorf("a leaf has %d bytes, want %d", size, leafBytes)
	}
	// Objects with pointers above 512 bytes, on 32-bit above 128, carry 8 bytes of the allocator.
	size := rounded(reflect.TypeFor[inner]().Size()+8) + rounded(reflect.TypeFor[heads]().Size())
	if size != innerBytes {
		t.Errorf("an inner node has %d bytes, want %d", size, innerBytes)
	}
}

func TestReads_doNotAllocate(t *testing.T) {
	keys := ascending(10_000)
	m := New(headroom)
	plain := load(m, keys)
	e := m.Begin()
	for i := 0; i < len(keys); i += 100 {
		e.DeleteRange(keyspace.Span{Start: keys[i], End: keys[i+50]})
	}
	for name, r := range map[string]Root{"plain": plain, "ranges deleted": e.Commit()} {
		var c Cursor
		i := 0
		allocs := testing.AllocsPerRun(1000, func() {
			key := keys[i%len(keys)]
			i += 77
			r.Find(key, new(keyspace.Entry))
			r.Around(key)
			c.Init(r)
			c.Seek(key)
			c.Next()
			if c.Kind(); !bytes.Equal(key, c.Key()) {
				c.SeekBefore(key)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations, want none", name, allocs)
		}
	}
}

func TestRoot_zeroIsEmpty(t *testing.T) {
	checkRoot(t, Root{}, newModel(), []string{"", "a"})
	checkRoot(t, New(headroom).Begin().Commit(), newModel(), []string{"", "a"})
}

func TestRoot_findsKeysByTheirIndex(t *testing.T) {
	for _, n := range []int{1, 2, 55, 57, 1000, 5000} {
		edit := New(0).Begin()
		for i := range n {
			edit.PutUntil(fmt.Appendf(nil, "%06d", i*7919%n), nil, 0)
		}
		root := edit.Commit()
		var c Cursor
		c.Init(root)
		i := 0
		for ok := c.First(); ok; ok = c.Next() {
			if key := root.Key(i); string(key) != string(c.Key()) {
				t.Fatalf("key %d of %d is %q, want %q", i, n, key, c.Key())
			}
			i++
		}
		if i != root.Len() {
			t.Errorf("%d keys, want %d", i, root.Len())
		}
	}
}

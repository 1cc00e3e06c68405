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
	sizes := []struct{ leafMax, innerMax int }{{2, 4}, {3, 5}, {8, 8}, {fanout, innerFanout}}
	for name, key := range keyShapes() {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%d", name, size.leafMax), func(t *testing.T) {
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
				s := newSubject(t, newSized(headroom, size.leafMax, size.innerMax))
				s.runRandom(rand.New(rand.NewPCG(seed, 0)), key, steps)
			})
		}
	}
}

// runRandom makes random operations with keys from key.
func (s *subject) runRandom(r *rand.Rand, key func(r *rand.Rand) string, steps int) {
	for range steps {
		switch n := r.IntN(100); {
		case n < 70:
			s.put(key(r), randomValue(r))
		case n < 90:
			s.delete(key(r))
		case n < 92:
			s.snapshot()
		case n < 96:
			s.commit()
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
	for k := range s.working {
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
			e.Put(fmt.Appendf(nil, "%d/%06d", b, i), nil)
		}
	}
	r := e.Commit()
	if perLeaf := float64(r.Len()) / float64(leaves(r.top)); perLeaf < 0.9*fanout {
		t.Errorf("%.1f entries a leaf, want nearly %d", perLeaf, fanout)
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
	for _, kid := range n.inner.kids[:n.inner.count] {
		sum += leaves(kid)
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
	r := load(New(headroom), keys)
	var c Cursor
	i := 0
	allocs := testing.AllocsPerRun(1000, func() {
		key := keys[i%len(keys)]
		i += 77
		r.Get(key)
		c.Init(r)
		c.Seek(key)
		c.Next()
		if !bytes.Equal(key, c.Key()) {
			c.SeekBefore(key)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

func TestRoot_zeroIsEmpty(t *testing.T) {
	checkRoot(t, Root{}, model{}, []string{"", "a"})
	checkRoot(t, New(headroom).Begin().Commit(), model{}, []string{"", "a"})
}

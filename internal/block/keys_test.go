package block

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// parse returns the key part of b, parsed.
func parse(t testing.TB, b *Builder) Keys {
	t.Helper()
	k, err := ParseKeys(b.AppendKeys(nil))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func someValue(int) []byte { return []byte("v") }

func TestKeys_expandToWhatWasAdded(t *testing.T) {
	const seed = 1
	for _, s := range shapes(rand.New(rand.NewSource(seed))) {
		k := parse(t, fill(s.keys, someValue))
		flat := k.Expand()
		if k.Len() != len(s.keys) {
			t.Errorf("%s: %d keys, want %d, seed %d", s.name, k.Len(), len(s.keys), seed)
			continue
		}
		for i, want := range s.keys {
			if got := flat.At(i); !bytes.Equal(got, want) {
				t.Errorf("%s: key %d = %.40x, want %.40x, seed %d", s.name, i, got, want, seed)
				break
			}
		}
	}
}

func TestSearch_agreesWithASortedSlice(t *testing.T) {
	for seed := range int64(5) {
		rng := rand.New(rand.NewSource(seed))
		for _, s := range shapes(rng) {
			k := parse(t, fill(s.keys, someValue))
			for _, probe := range probes(s.keys, rng) {
				want, wantExact := slices.BinarySearchFunc(s.keys, probe, bytes.Compare)
				if got, exact := k.Search(probe); got != want || exact != wantExact {
					t.Fatalf("%s: Search(%.40x) = %d, %v, want %d, %v, seed %d", s.name, probe, got,
						exact, want, wantExact, seed)
				}
			}
		}
	}
}

func TestKeys_rememberKindsAndExpiries(t *testing.T) {
	keys := shapes(rand.New(rand.NewSource(1)))[3].keys
	const put, gone, pointer = keyspace.KindPut, keyspace.KindDelete, keyspace.KindPointer
	for _, c := range []struct {
		name    string
		kinds   []keyspace.Kind
		expires bool
		plain   bool
	}{
		{"puts", []keyspace.Kind{put}, false, true},
		{"tombstones", []keyspace.Kind{gone, put, put}, false, true},
		{"pointers", []keyspace.Kind{put, pointer}, false, false},
		{"expiring puts", []keyspace.Kind{put}, true, false},
		{"everything", []keyspace.Kind{pointer, gone, put}, true, false},
	} {
		until := func(i int) uint64 {
			if !c.expires || i%4 == 0 {
				return 0
			}
			return 1_700_000_000_000 + uint64(i)
		}
		var b Builder
		for i, key := range keys {
			b.Add(key, keyspace.Entry{Kind: c.kinds[i%len(c.kinds)], Until: until(i)})
		}
		k := parse(t, &b)
		if k.Plain() != c.plain {
			t.Errorf("%s: plain is %v", c.name, k.Plain())
		}
		for i := range keys {
			want := c.kinds[i%len(c.kinds)]
			if k.Kind(i) != want || KindAt(k.Kinds(), i) != want || k.Until(i) != until(i) {
				t.Fatalf("%s: entry %d is of kind %d until %d", c.name, i, k.Kind(i), k.Until(i))
			}
		}
	}
}

func TestParseKeys_refusesUnknownKinds(t *testing.T) {
	var b Builder
	b.Add([]byte("k"), keyspace.Entry{Kind: keyspace.KindDeleteRange})
	if _, err := ParseKeys(b.AppendKeys(nil)); err == nil {
		t.Error("a key part with a range deletion is accepted")
	}
}

func TestAppendKeys_takesFewBytes(t *testing.T) {
	const overhead = keyHeaderBytes + 8 + 4 // and the prefix, and the suffix
	for _, c := range []struct {
		name string
		key  func(i int) []byte
		want int
	}{
		{"counters", func(i int) []byte {
			return binary.BigEndian.AppendUint64(nil, uint64(200+i))
		}, overhead + 6},
		{"counters with gaps", func(i int) []byte {
			return binary.BigEndian.AppendUint64(nil, uint64(200+2*i+i/50))
		}, overhead + 6 + 100},
		{"little-endian counters", func(i int) []byte {
			return append([]byte{0x10, byte(i * 2), 1, 0, 0, 0}, make([]byte, 2)...)
		}, overhead + 1 + 6 + 100},
	} {
		keys := make([][]byte, 100)
		for i := range keys {
			keys[i] = c.key(i)
		}
		if got := len(fill(keys, someValue).AppendKeys(nil)); got != c.want {
			t.Errorf("%s: 100 keys take %d bytes, want %d", c.name, got, c.want)
		}
	}
}

func TestReset_leavesNothing(t *testing.T) {
	keys := [][]byte{[]byte("a"), []byte("b")}
	b := fill(keys, func(int) []byte { return nil })
	b.Reset()
	b.Add([]byte("c"), keyspace.Entry{Kind: keyspace.KindPut, Value: []byte("value")})
	fresh := fill([][]byte{[]byte("c")}, func(int) []byte { return []byte("value") })
	if got, want := b.AppendKeys(nil), fresh.AppendKeys(nil); !bytes.Equal(got, want) {
		t.Errorf("key part is % x, want % x", got, want)
	}
}

// reseal returns p with the right checksum at the end.
func reseal(p []byte) []byte { return seal(bytes.Clone(p[:max(0, len(p)-4)]), 0) }

func TestParseKeys_refusesEveryFlippedByte(t *testing.T) {
	for _, s := range shapes(rand.New(rand.NewSource(1))) {
		p := fill(s.keys, someValue).AppendKeys(nil)
		for at := range min(len(p), 2000) {
			p[at] ^= 0x10
			if _, err := ParseKeys(p); err == nil {
				t.Fatalf("%s: flipping byte %d goes unnoticed", s.name, at)
			}
			p[at] ^= 0x10
		}
	}
}

func TestParseKeys_refusesLies(t *testing.T) {
	fixed := fill([][]byte{[]byte("key1x"), []byte("key3x")}, someValue).AppendKeys(nil)
	variable := fill([][]byte{[]byte("k"), []byte("key3x")}, someValue).AppendKeys(nil)
	for _, c := range []struct {
		name string
		p    []byte
		at   int
		b    byte
	}{
		{"unknown form", fixed, 0, 3},
		{"width of 9", fixed, 1, 9},
		{"unknown flag", fixed, 2, 2},
		{"missing bitmap", fixed, 2, 1},
		{"reserved byte", fixed, 3, 1},
		{"no entries", fixed, 4, 0},
		{"more entries", fixed, 4, 3},
		{"too many entries", fixed, 5, 4},
		{"huge prefix", fixed, 11, 0xFF},
		{"huge suffix", fixed, 15, 0x7F},
		{"huge middle", fixed, 19, 0x7F},
		{"head beyond its bytes", fixed, keyHeaderBytes + 2 + 7, 1},
		{"width of 3", variable, 1, 3},
		{"suffix", variable, 12, 1},
		{"end beyond the middles", variable, keyHeaderBytes + 8 + 2, 9},
		{"middles beyond the end", variable, keyHeaderBytes + 8 + 2, 3},
	} {
		p := bytes.Clone(c.p)
		p[c.at] = c.b
		if _, err := ParseKeys(reseal(p)); err == nil {
			t.Errorf("%s: no error", c.name)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	for _, s := range shapes(rand.New(rand.NewSource(1))) {
		if p := fill(s.keys, someValue).AppendKeys(nil); len(p) < 5000 {
			f.Add(p, s.keys[len(s.keys)/2])
		}
	}
	f.Add(fill([][]byte{{1}, {2}}, func(int) []byte { return nil }).AppendKeys(nil), []byte{1})
	f.Fuzz(func(t *testing.T, p, key []byte) {
		k, err := ParseKeys(reseal(p))
		if err != nil {
			return
		}
		flat := k.Expand()
		if i, exact := k.Search(key); i < 0 || i > k.Len() || exact && i == k.Len() {
			t.Fatalf("Search = %d, %v of %d", i, exact, k.Len())
		}
		for i := range k.Len() {
			k.Search(flat.At(i))
			if kind := k.Kind(i); kind < keyspace.KindPut || kind > keyspace.KindPointer {
				t.Fatalf("kind %d", kind)
			}
			k.Until(i)
		}
	})
}

// FuzzSearch builds a block of keys cut out of data and searches it.
func FuzzSearch(f *testing.F) {
	f.Add([]byte("a\x00abc\x00abd"), []byte("ab"), byte(0))
	f.Add([]byte("aaaabbbbcccc"), []byte("bbbb"), byte(4))
	f.Add(bytes.Repeat([]byte("0123456789ab"), 9), []byte("bbbb"), byte(11))
	f.Fuzz(func(t *testing.T, data, key []byte, length byte) {
		var keys [][]byte
		if length == 0 {
			keys = bytes.Split(data, []byte{0})
		} else {
			keys = slices.Collect(slices.Chunk(data, int(length)))
		}
		slices.SortFunc(keys, bytes.Compare)
		keys = slices.CompactFunc(keys, bytes.Equal)
		if len(keys) == 0 || len(keys) > MaxEntries {
			return
		}
		k := parse(t, fill(keys, someValue))
		for _, probe := range append(keys, key) {
			want, wantExact := slices.BinarySearchFunc(keys, probe, bytes.Compare)
			if got, exact := k.Search(probe); got != want || exact != wantExact {
				t.Fatalf("Search(%x) = %d, %v, want %d, %v", probe, got, exact, want, wantExact)
			}
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	for _, s := range shapes(rand.New(rand.NewSource(1))) {
		if len(s.keys) < 100 {
			continue
		}
		b.Run(fmt.Sprintf("%s/%d", s.name, len(s.keys)), func(b *testing.B) {
			k := parse(b, fill(s.keys, someValue))
			rng := rand.New(rand.NewSource(2))
			var order [1 << 16]uint16 // long, or the processor learns it
			for i := range order {
				order[i] = uint16(rng.Intn(len(s.keys)))
			}
			i := 0
			for b.Loop() {
				k.Search(s.keys[order[i%len(order)]])
				i++
			}
		})
	}
}

func BenchmarkExpand(b *testing.B) {
	k := parse(b, fill(shapes(rand.New(rand.NewSource(1)))[3].keys[:82], someValue))
	for b.Loop() {
		k.Expand()
	}
}

package batch

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
)

const headroom = 28

// entry is a decoded entry, or one to encode.
type entry struct {
	kind       keyspace.Kind
	key, value string
}

func appendAll(a *Arena, entries []entry) []Ref {
	refs := make([]Ref, len(entries))
	for i, e := range entries {
		refs[i] = a.Append(e.kind, []byte(e.key), []byte(e.value))
	}
	return refs
}

func decodeAll(t testing.TB, frames [][]byte) []entry {
	t.Helper()
	var all []entry
	for _, f := range frames {
		if len(f) <= headroom {
			t.Fatalf("frame of %d bytes", len(f))
		}
		err := Decode(f[headroom:], func(kind keyspace.Kind, key, value []byte) {
			all = append(all, entry{kind, string(key), string(value)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func checkRefs(t testing.TB, chunks Chunks, refs []Ref, want []entry) {
	t.Helper()
	for i, r := range refs {
		key, value := chunks.Key(r), chunks.Value(r)
		if got := (entry{r.Kind(), string(key), string(value)}); got != want[i] {
			t.Fatalf("ref %d resolves to %.50q, want %.50q", i, got, want[i])
		}
		if r.KeyLen() != len(key) || cap(key) != len(key) || cap(value) != len(value) || value == nil {
			t.Fatalf("ref %d: wrong length, spare capacity, or a nil value", i)
		}
	}
}

// randomEntries returns n entries; sizes around those of chunks are among them.
func randomEntries(r *rand.Rand, n int) []entry {
	entries := make([]entry, n)
	for i := range entries {
		e := entry{keyspace.KindPut, strings.Repeat("k", 1+r.IntN(40)), strings.Repeat("v", r.IntN(300))}
		switch r.IntN(40) {
		case 0:
			e.key = strings.Repeat("K", 60_000+r.IntN(keyspace.MaxInternalKeyBytes-60_000+1))
		case 1:
			e.value = strings.Repeat("V", largeBytes-100+r.IntN(200))
		case 2:
			e.value = strings.Repeat("W", maxChunkBytes-100+r.IntN(200))
		case 3:
			e.value = strings.Repeat("x", minChunkBytes-100+r.IntN(200))
		case 4, 5, 6:
			e.kind, e.value = keyspace.KindDelete, ""
		}
		entries[i] = e
	}
	return entries
}

func TestArena_keepsEveryCommittedBatch(t *testing.T) {
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	r := rand.New(rand.NewPCG(seed, 0))
	a := NewArena(headroom)
	var refs []Ref
	var want []entry
	for range 120 {
		a.Begin()
		entries := randomEntries(r, r.IntN(12))
		got := appendAll(a, entries)
		before := a.Bytes()
		frames := a.Take()
		for _, f := range frames {
			copy(f[:headroom], strings.Repeat("H", headroom))
		}
		if all := decodeAll(t, frames); !slices.Equal(all, entries) {
			t.Fatalf("the frames hold %d entries, want the %d appended", len(all), len(entries))
		}
		if r.IntN(3) == 0 {
			a.Rollback()
			if a.Bytes() > before || len(a.Take()) != 0 {
				t.Fatalf("rolled back from %d to %d bytes", before, a.Bytes())
			}
			continue
		}
		a.Commit()
		refs, want = append(refs, got...), append(want, entries...)
	}
	checkRefs(t, a.Chunks(), refs, want)
}

func TestRollback_returnsToWhereTheBatchBegan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a := NewArena(headroom)
	for range 50 {
		a.Begin()
		appendAll(a, randomEntries(r, 5))
		a.Commit()

		a.Begin()
		bytes, chunks, current, tail := a.bytes, len(a.chunks), a.current, a.tail
		appendAll(a, randomEntries(r, 20))
		a.Rollback()
		if a.bytes != bytes || len(a.chunks) != chunks || a.current != current || a.tail != tail {
			t.Fatal("the arena differs from before the batch")
		}
	}
}

func TestTake_completesFramesWhileTheBatchGoesOn(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	a := NewArena(headroom)
	a.Begin()
	var frames [][]byte
	var want []entry
	for range 40 {
		entries := randomEntries(r, r.IntN(6))
		appendAll(a, entries)
		want = append(want, entries...)
		if r.IntN(2) == 0 {
			frames = append(frames, a.Take()...)
		}
	}
	frames = append(frames, a.Take()...)
	if got := decodeAll(t, frames); !slices.Equal(got, want) {
		t.Fatalf("seed %d: the frames hold %d entries, want the %d appended", seed, len(got), len(want))
	}
	if again := a.Take(); len(again) != 0 {
		t.Errorf("%d frames are handed out twice", len(again))
	}
}

func TestTake_ofSmallBatchesAdjoin(t *testing.T) {
	a := NewArena(headroom)
	var end int
	for i := range 20 {
		a.Begin()
		appendAll(a, []entry{{keyspace.KindPut, "key", "value"}, {keyspace.KindDelete, "key", ""}})
		if n := len(a.Take()); n != 1 {
			t.Fatalf("%d frames, want 1", n)
		}
		if a.frames[0].start != end || a.frames[0].chunk != 0 {
			t.Fatalf("batch %d starts at %d, want %d", i, a.frames[0].start, end)
		}
		end = a.frames[0].end
		a.Commit()
	}
}

func TestArena_holdsLittleMoreThanItsEntries(t *testing.T) {
	sizes := map[string]int{"small": 100, "quarter": largeBytes - 100, "large": largeBytes + 1,
		"most of a chunk": maxChunkBytes * 3 / 4, "several chunks": 3*maxChunkBytes + 5}
	for name, size := range sizes {
		a := NewArena(headroom)
		total := 0
		value := make([]byte, size)
		for total < 32<<20 {
			a.Begin()
			a.Append(keyspace.KindPut, []byte("key"), value)
			a.Commit()
			total += size + headroom
		}
		if ratio := float64(a.Bytes()) / float64(total); ratio > 1.4 {
			t.Errorf("%s: %.2f bytes held for a byte stored", name, ratio)
		}
	}
}

func TestArena_isSmallWhenNew(t *testing.T) {
	a := NewArena(headroom)
	if a.Bytes() != 0 {
		t.Errorf("an empty arena holds %d bytes", a.Bytes())
	}
	a.Begin()
	a.Append(keyspace.KindPut, []byte("key"), []byte("value"))
	if a.Bytes() != minChunkBytes {
		t.Errorf("an arena of one entry holds %d bytes, want %d", a.Bytes(), minChunkBytes)
	}
}

func TestAppend_reusesItsMemory(t *testing.T) {
	a := NewArena(headroom)
	key, value := []byte("key"), make([]byte, 100)
	allocs := testing.AllocsPerRun(100, func() {
		a.Begin()
		a.Append(keyspace.KindPut, key, value)
		a.Commit()
	})
	if allocs >= 1 {
		t.Errorf("%v allocations an entry, want less than 1", allocs)
	}
}

func TestDecode_refusesWhatAnArenaNeverWrites(t *testing.T) {
	tests := map[string]string{
		"kind 0":                 "\x00\x01\x00k",
		"unknown kind":           "\x03\x01\x00k",
		"nothing behind kind":    "\x01",
		"no key":                 "\x01\x00\x00",
		"no value length":        "\x01\x01",
		"key cut off":            "\x02\x02k",
		"value cut off":          "\x01\x01\x02kv",
		"long form of a length":  "\x01\x81\x00\x00k",
		"length without an end":  "\x01\x81",
		"length above 64 bits":   "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00k",
		"key longer than any":    "\x01\x8a\x80\x04\x00" + strings.Repeat("k", 65_546),
		"value longer than any":  "\x01\x01\x81\x80\x80\x80\x04k" + strings.Repeat("v", 100),
		"sum of lengths is huge": "\x01\x89\x80\x04\x80\x80\x80\x80\x04kv",
	}
	good := "\x01\x01\x01kv"
	for name, payload := range tests {
		calls := 0
		err := Decode([]byte(good+payload), func(keyspace.Kind, []byte, []byte) { calls++ })
		var damage *corrupt.Error
		if !errors.As(err, &damage) || damage.Offset != int64(len(good)) || calls != 1 {
			t.Errorf("%s: error %v after %d entries, want damage at %d after 1", name, err, calls,
				len(good))
		}
	}
}

func TestDecode_takesTheLongestKeyAndValue(t *testing.T) {
	longest := "\x01\x89\x80\x04\x80\x80\x80\x80\x04" // the lengths of a put
	_, reason := decode([]byte(longest), func(keyspace.Kind, []byte, []byte) {})
	if reason != "entry is cut off" {
		t.Errorf("lengths at the limits: %q, want them to pass", reason)
	}
}

// A frame of the largest entry, and every place in it, must be a number that 32 bits hold, for the
// log and for refs, and that an int of a 32-bit platform holds.
func TestLimits_fitIntoTheFieldsOfFrameAndRef(t *testing.T) {
	const lengths = 1 + 3 + 5 // kind, length of key, length of value
	const frame = headroom + lengths + keyspace.MaxInternalKeyBytes + keyspace.MaxValueBytes
	if uint64(frame) > math.MaxInt32 {
		t.Errorf("a frame may have %d bytes", uint64(frame))
	}
	if got := uvarintLen(keyspace.MaxInternalKeyBytes) + uvarintLen(keyspace.MaxValueBytes); got != 8 {
		t.Errorf("the lengths of the largest entry take %d bytes, want 8", got)
	}
	ref := Ref{
		offset:     headroom + lengths,
		keyAndKind: keyspace.MaxInternalKeyBytes<<8 | uint32(keyspace.KindPut),
		valueBytes: keyspace.MaxValueBytes,
	}
	if ref.KeyLen() != keyspace.MaxInternalKeyBytes || ref.Kind() != keyspace.KindPut {
		t.Errorf("a ref holds a key of %d bytes", ref.KeyLen())
	}
	if end := ref.offset + uint32(ref.KeyLen()) + ref.valueBytes; end != frame {
		t.Errorf("the value ends at %d, want %d", end, uint64(frame))
	}
}

func TestDecode_givesTombstonesNoValue(t *testing.T) {
	err := Decode([]byte("\x02\x01k\x01\x01\x00k"), func(kind keyspace.Kind, _, value []byte) {
		if (value == nil) != (kind == keyspace.KindDelete) {
			t.Errorf("value of kind %d is %v", kind, value)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzDecode checks that Decode accepts only what encodes to the same bytes again.
func FuzzDecode(f *testing.F) {
	a := NewArena(0)
	a.Begin()
	appendAll(a, []entry{
		{keyspace.KindPut, "key", "value"},
		{keyspace.KindDelete, "\x00", ""},
		{keyspace.KindPut, strings.Repeat("k", 300), ""},
	})
	f.Add(a.Take()[0])
	f.Add([]byte("\x01\x81\x00\x00k"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		a := NewArena(0)
		a.Begin()
		err := Decode(payload, func(kind keyspace.Kind, key, value []byte) {
			a.Append(kind, key, value)
		})
		again := bytes.Join(a.Take(), nil)
		if err == nil && !bytes.Equal(again, payload) {
			t.Errorf("decoded %x, which encodes to %x", payload, again)
		}
		if err != nil && (!errors.Is(err, corrupt.Err) || !bytes.HasPrefix(payload, again)) {
			t.Errorf("error %v for %x after %x", err, payload, again)
		}
	})
}

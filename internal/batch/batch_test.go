package batch

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

const headroom = 28

// entry is a decoded entry, or one to encode.
type entry struct {
	kind       keyspace.Kind
	until      uint64
	key, value string
}

func put(key, value string) entry { return entry{keyspace.KindPut, 0, key, value} }

func putUntil(until uint64, key, value string) entry {
	return entry{keyspace.KindPut, until, key, value}
}

func tombstone(key string) entry { return entry{keyspace.KindDelete, 0, key, ""} }

func deleteRange(from, to string) entry { return entry{keyspace.KindDeleteRange, 0, from, to} }

func appendAll(a *Arena, entries []entry) []Ref {
	refs := make([]Ref, len(entries))
	for i, e := range entries {
		refs[i] = a.Append(e.kind, e.until, []byte(e.key), []byte(e.value))
	}
	return refs
}

// resolve returns the entry that r refers to.
func resolve(chunks Chunks, r Ref) entry {
	return entry{r.Kind(), chunks.Until(r), string(chunks.Key(r)), string(chunks.Value(r))}
}

// decode returns the entries of a payload, and what ends it too early.
func decode(payload []byte) ([]entry, error) {
	a := NewArena(0)
	a.Begin()
	var all []entry
	err := a.Replay(payload, 0, func(r Ref) { all = append(all, resolve(a.Chunks(), r)) })
	return all, err
}

func decodeAll(t testing.TB, frames [][]byte) []entry {
	t.Helper()
	var all []entry
	for _, f := range frames {
		if len(f) <= headroom {
			t.Fatalf("frame of %d bytes", len(f))
		}
		entries, err := decode(f[headroom:])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entries...)
	}
	return all
}

func checkRefs(t testing.TB, chunks Chunks, refs []Ref, want []entry) {
	t.Helper()
	for i, r := range refs {
		key, value := chunks.Key(r), chunks.Value(r)
		if got := resolve(chunks, r); got != want[i] {
			t.Fatalf("ref %d resolves to %.50q, want %.50q", i, got, want[i])
		}
		if r.Expires() != (want[i].until != 0) || r.KeyLen() != len(key) || cap(key) != len(key) ||
			cap(value) != len(value) || value == nil {
			t.Fatalf("ref %d: wrong length or expiry, spare capacity, or a nil value", i)
		}
	}
}

// randomEntries returns n entries; sizes around those of chunks are among them.
func randomEntries(r *rand.Rand, n int) []entry {
	entries := make([]entry, n)
	for i := range entries {
		e := put(strings.Repeat("k", 1+r.IntN(40)), strings.Repeat("v", r.IntN(300)))
		switch r.IntN(40) {
		case 0:
			e.key = strings.Repeat("K", 60_000+r.IntN(keyspace.MaxInternalKeyBytes-60_000+1))
		case 1:
			e.value = strings.Repeat("V", maxChunkBytes/largeShare-100+r.IntN(200))
		case 2:
			e.value = strings.Repeat("W", maxChunkBytes-100+r.IntN(200))
		case 3:
			e.value = strings.Repeat("x", minChunkBytes-100+r.IntN(200))
		case 4, 5, 6:
			e = tombstone(e.key)
		case 7, 8, 9:
			e.until = r.Uint64()
		case 10, 11, 12:
			e = deleteRange(e.key, e.key+"\x00")
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
		frames := a.Take(0)
		for _, f := range frames {
			copy(f[:headroom], strings.Repeat("H", headroom))
		}
		if all := decodeAll(t, frames); !slices.Equal(all, entries) {
			t.Fatalf("the frames hold %d entries, want the %d appended", len(all), len(entries))
		}
		if r.IntN(3) == 0 {
			a.Rollback()
			if a.Bytes() > before || len(a.Take(0)) != 0 {
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
		bytes, mark := a.bytes, a.Mark()
		appendAll(a, randomEntries(r, 20))
		a.Rollback()
		if a.bytes != bytes || a.Mark() != mark {
			t.Fatal("the arena differs from before the batch")
		}
	}
}

func TestPrepare_makesTheChunkThatIsFilledNext(t *testing.T) {
	const size = 1 << 10
	a := NewSizedArena(headroom, size/4, size)
	put := func(bytes int) { a.Append(keyspace.KindPut, 0, []byte("k"), make([]byte, bytes)) }
	fill := func() {
		for chunks := len(a.Chunks()); len(a.Chunks()) == chunks; {
			put(20)
		}
	}
	a.Begin()
	if a.Prepare() != nil {
		t.Error("an empty arena prepares for much")
	}
	fill()
	if a.Prepare() != nil {
		t.Error("chunks still grow")
	}
	fill()
	fill()
	before := a.Bytes()
	next := a.Prepare()
	if len(next) != size || a.Bytes() != before+size || a.Prepare() != nil {
		t.Fatalf("%d bytes are prepared, the arena has %d", len(next), a.Bytes()-before)
	}
	put(size / 2) // has a chunk of its own
	put(2 * size)
	fill()
	if last := a.Chunks()[len(a.Chunks())-1]; &last[0] != &next[0] {
		t.Error("what was prepared is not used")
	}
	a.Prepare()
	a.Rollback()
	if a.Bytes() != 0 || len(a.Chunks()) != 0 {
		t.Errorf("%d bytes are left", a.Bytes())
	}
	a.Begin()
	fill()
	if a.Prepare() != nil {
		t.Error("the empty arena has not forgotten its chunks")
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
			frames = append(frames, a.Take(0)...)
		}
	}
	frames = append(frames, a.Take(0)...)
	if got := decodeAll(t, frames); !slices.Equal(got, want) {
		t.Fatalf("seed %d: the frames hold %d entries, want the %d appended", seed, len(got), len(want))
	}
	if again := a.Take(0); len(again) != 0 {
		t.Errorf("%d frames are handed out twice", len(again))
	}
}

func TestTake_ofSmallBatchesAdjoin(t *testing.T) {
	a := NewArena(headroom)
	var end int
	for i := range 20 {
		a.Begin()
		appendAll(a, []entry{put("key", "value"), tombstone("key")})
		if n := len(a.Take(0)); n != 1 {
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
	sizes := map[string]int{"small": 100, "quarter": maxChunkBytes/largeShare - 100,
		"large": maxChunkBytes/largeShare + 1, "most of a chunk": maxChunkBytes * 3 / 4,
		"several chunks": 3*maxChunkBytes + 5}
	for name, size := range sizes {
		a := NewArena(headroom)
		total := 0
		value := make([]byte, size)
		for total < 32<<20 {
			a.Begin()
			a.Append(keyspace.KindPut, 0, []byte("key"), value)
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
	a.Append(keyspace.KindPut, 0, []byte("key"), []byte("value"))
	if a.Bytes() != minChunkBytes {
		t.Errorf("an arena of one entry holds %d bytes, want %d", a.Bytes(), minChunkBytes)
	}
}

func TestAppend_reusesItsMemory(t *testing.T) {
	a := NewArena(headroom)
	key, value := []byte("key"), make([]byte, 100)
	allocs := testing.AllocsPerRun(100, func() {
		a.Begin()
		a.Append(keyspace.KindPut, 1<<40, key, value)
		a.Commit()
	})
	if allocs >= 1 {
		t.Errorf("%v allocations an entry, want less than 1", allocs)
	}
}

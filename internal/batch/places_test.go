package batch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// written is an entry in an arena, and what should be known about it.
type written struct {
	entry
	ref    Ref
	time   int
	logged bool
}

// timed is a mark and when it was taken.
type timed struct {
	mark Mark
	time int
}

// history is an arena of tiny chunks and what has happened to it.
type history struct {
	t     testing.TB
	r     *rand.Rand
	arena *Arena
	log   []byte // the file
	time  int

	kept, batch           []written
	keptMarks, batchMarks []timed
	appended              []entry
}

func newHistory(t testing.TB, r *rand.Rand) *history {
	h := &history{t: t, r: r, arena: NewSizedArena(headroom, 64, 1024)}
	h.log = make([]byte, r.IntN(100))
	h.arena.Begin()
	return h
}

// some returns n entries of which some need a chunk of their own.
func (h *history) some(n int) []entry {
	entries := make([]entry, n)
	for i := range entries {
		key := fmt.Sprint(h.r.Uint32())
		switch h.r.IntN(12) {
		case 0:
			entries[i] = tombstone(key)
		case 1:
			entries[i] = deleteRange(key, key+"0")
		case 2:
			entries[i] = putUntil(h.r.Uint64(), key, "expires")
		case 3, 4:
			entries[i] = put(key, strings.Repeat(key, h.r.IntN(120)))
		default:
			entries[i] = put(key, strings.Repeat("v", h.r.IntN(20)))
		}
	}
	return entries
}

func (h *history) note(e entry, ref Ref, logged bool) {
	h.batch = append(h.batch, written{e, ref, h.time, logged})
	h.time++
	if h.r.IntN(4) == 0 {
		h.batchMarks = append(h.batchMarks, timed{h.arena.Mark(), h.time})
		h.time++
	}
}

func (h *history) append() {
	for _, e := range h.some(1 + h.r.IntN(4)) {
		ref := h.arena.Append(e.kind, e.until, []byte(e.key), []byte(e.value))
		h.note(e, ref, false)
		h.appended = append(h.appended, e)
	}
}

func (h *history) take() {
	h.t.Helper()
	frames := h.arena.Take(int64(len(h.log)))
	if got := decodeAll(h.t, frames); !slices.Equal(got, h.appended) {
		h.t.Fatalf("the frames hold %.60q, want what was appended: %.60q", got, h.appended)
	}
	h.log = append(h.log, bytes.Join(frames, nil)...)
	for i := range h.batch {
		h.batch[i].logged = true
	}
	h.appended = h.appended[:0]
}

// replay replays a frame that lies in the log, now and then behind a gap.
func (h *history) replay() {
	h.t.Helper()
	other := NewSizedArena(headroom, 1<<16, 1<<18)
	other.Begin()
	entries := h.some(1 + h.r.IntN(12))
	appendAll(other, entries)
	frame := other.Take(0)[0]
	if h.r.IntN(4) == 0 {
		h.log = append(h.log, "gap"...)
	}
	at := int64(len(h.log) + headroom)
	h.log = append(h.log, frame...)
	i := 0
	err := h.arena.Replay(frame[headroom:], at, func(r Ref) {
		if got := resolve(h.arena.Chunks(), r); i == len(entries) || got != entries[i] {
			h.t.Fatalf("entry %d is replayed as %.60q", i, got)
		}
		h.note(entries[i], r, true)
		i++
	})
	if err != nil || i != len(entries) {
		h.t.Fatalf("%d of %d entries were replayed: %v", i, len(entries), err)
	}
}

// end ends the batch and begins another.
func (h *history) end(commit bool) {
	if commit {
		h.arena.Commit()
		h.kept = append(h.kept, h.batch...)
		h.keptMarks = append(h.keptMarks, h.batchMarks...)
	} else {
		h.arena.Rollback()
	}
	h.batch, h.batchMarks, h.appended = nil, nil, nil
	h.arena.Begin()
}

func (h *history) check() {
	h.t.Helper()
	chunks, places := h.arena.Chunks(), h.arena.Places()
	for _, w := range slices.Concat(h.kept, h.batch) {
		if got := resolve(chunks, w.ref); got != w.entry {
			h.t.Fatalf("an entry is %.60q, want %.60q", got, w.entry)
		}
		offset, ok := places.Value(w.ref)
		if ok != w.logged {
			h.t.Fatalf("%.60q has a place in the log: %v, want %v", w.entry, ok, w.logged)
		}
		if ok && string(h.log[offset:][:len(w.value)]) != w.value {
			h.t.Fatalf("the value of %.60q is not at offset %d", w.entry, offset)
		}
		for _, m := range slices.Concat(h.keptMarks, h.batchMarks) {
			if got := m.mark.follows(int32(w.ref.chunk), int32(w.ref.offset)); got != (w.time < m.time) {
				h.t.Fatalf("entry %d is before mark %d: %v", w.time, m.time, got)
			}
		}
	}
	h.checkExtents(places)
}

// checkExtents checks that extents are in order and none that continue each other are apart.
func (h *history) checkExtents(places *Places) {
	h.t.Helper()
	for i, x := range places.extents {
		if x.start >= x.end || int(x.end) > len(h.arena.chunks[x.chunk]) {
			h.t.Fatalf("extent %+v is empty or too long", x)
		}
		if i == 0 {
			continue
		}
		before := places.extents[i-1]
		if before.chunk == x.chunk && (before.end > x.start || before.end == x.start &&
			before.offset+int64(before.end-before.start) == x.offset) || before.chunk > x.chunk {
			h.t.Fatalf("extent %+v follows %+v", x, before)
		}
	}
}

func TestArena_knowsWhenAndWhereItsEntriesWereWritten(t *testing.T) {
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		h := newHistory(t, r)
		for range 60 {
			switch n := r.IntN(20); {
			case n < 10:
				h.append()
			case n < 14:
				h.take()
			case n < 16:
				h.replay()
			case n < 18:
				h.take()
				h.end(true)
			case n < 19:
				h.end(true)
			default:
				h.end(false)
				h.check()
			}
		}
		h.check()
	}
}

func TestPlaces_takeOneExtentAChunk(t *testing.T) {
	written := NewSizedArena(headroom, 1<<10, 1<<12)
	replayed := NewSizedArena(headroom, 1<<10, 1<<12)
	at := int64(100)
	for i := range 1000 {
		written.Begin()
		replayed.Begin()
		appendAll(written, []entry{put(fmt.Sprint(i), "value"), tombstone("key")})
		for _, frame := range written.Take(at) {
			err := replayed.Replay(frame[headroom:], at+headroom, func(Ref) {})
			if err != nil {
				t.Fatal(err)
			}
			at += int64(len(frame))
		}
		written.Commit()
		replayed.Commit()
	}
	for name, a := range map[string]*Arena{"written": written, "replayed": replayed} {
		if got, want := len(a.Places().extents), len(a.Chunks()); got != want || want < 5 {
			t.Errorf("%s: %d extents for %d chunks", name, got, want)
		}
	}
}

func TestReplay_isRolledBackAfterDamage(t *testing.T) {
	a := NewSizedArena(headroom, 64, 256)
	a.Begin()
	kept := a.Append(keyspace.KindPut, 0, []byte("key"), []byte("kept"))
	a.Take(0)
	a.Commit()
	mark := a.Mark()
	for _, good := range []string{"", "\x01\x01\x01kv", strings.Repeat("\x01\x01\x01kv", 100)} {
		a.Begin()
		if err := a.Replay([]byte(good+"\x01"), 1000, func(Ref) {}); err == nil {
			t.Fatal("damage is accepted")
		}
		a.Rollback()
		if a.Mark() != mark || len(a.places.extents) != 1 {
			t.Fatalf("the arena differs from before the batch: %+v", a.Mark())
		}
	}
	if offset, ok := a.Places().Value(kept); !ok || offset != headroom+3+3 {
		t.Errorf("the value lies at %d, %v", offset, ok)
	}
}

func TestReplay_holdsLittleMoreThanItsFrames(t *testing.T) {
	for _, size := range []int{100, maxChunkBytes / 3, maxChunkBytes * 2 / 3, 3 * maxChunkBytes} {
		a := NewArena(headroom)
		frame := NewArena(0)
		frame.Begin()
		frame.Append(keyspace.KindPut, 0, []byte("key"), make([]byte, size))
		payload := frame.Take(0)[0]
		total := 0
		for total < 16<<20 {
			a.Begin()
			if err := a.Replay(payload, int64(total), func(Ref) {}); err != nil {
				t.Fatal(err)
			}
			a.Commit()
			total += headroom + len(payload)
		}
		if ratio := float64(a.Bytes()) / float64(total); ratio > 1.4 {
			t.Errorf("%d: %.2f bytes held for a byte stored", size, ratio)
		}
	}
}

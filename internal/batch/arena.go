package batch

import (
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
)

const (
	minChunkBytes = 16 << 10 // keeps a small database small in memory
	maxChunkBytes = 1 << 20

	// largeShare: a frame of at least maxChunk/largeShare bytes gets a chunk of exactly its size.
	// This limits the waste at the end of a chunk into which the next entry does not fit.
	largeShare = 4

	// maxPayloadBytes is the payload of the largest entry, which has a frame to itself.
	maxPayloadBytes = 1 + 3 + 5 + untilBytes + keyspace.MaxInternalKeyBytes + keyspace.MaxValueBytes
)

// Arena is the byte store of one memtable: batches of entries in chunks. Bytes that were committed
// never change or move, except for the headroom of frames, which belongs to the log. Chunks double
// in size up to a limit. Not safe for concurrent use, except that appended entries may be read
// while more are appended.
type Arena struct {
	headroom           int
	minChunk, maxChunk int    // sizes in bytes
	chunks             Chunks // each of full length, used or not
	current            int    // the chunk being filled; -1 if none
	tail               int    // the first unused byte in it
	bytes              int64  // in all chunks
	next               []byte // the next chunk, if Prepare has made it
	places             *Places

	frames []frame // of the current batch
	taken  int     // how many of them Take has returned
	placed bool    // the current batch has changed places
	begun  start
}

// frame is the place of one frame, headroom included.
type frame struct{ chunk, start, end int }

// start is what Rollback restores.
type start struct {
	Mark
	bytes int64
}

// NewArena returns an empty arena whose frames start with headroom bytes for the log's use.
func NewArena(headroom int) *Arena { return NewSizedArena(headroom, minChunkBytes, maxChunkBytes) }

// NewSizedArena is NewArena with the given chunk sizes, for tests with many small chunks.
func NewSizedArena(headroom, minChunkBytes, maxChunkBytes int) *Arena {
	return &Arena{headroom: headroom, minChunk: minChunkBytes, maxChunk: maxChunkBytes,
		current: -1, places: new(Places)}
}

// Begin starts a batch. The previous one must have been committed or rolled back.
func (a *Arena) Begin() {
	a.frames, a.taken, a.placed = a.frames[:0], 0, false
	a.begun = start{a.Mark(), a.bytes}
}

// Append copies an entry into the current batch. The key has 1 to
// [keyspace.MaxInternalKeyBytes] bytes, the value at most [keyspace.MaxValueBytes]. The value of a
// tombstone is ignored; the value of a range deletion is the end of the range and greater than the
// key. Only a put expires: until counts for no other kind.
func (a *Arena) Append(kind keyspace.Kind, until uint64, key, value []byte) Ref {
	code := byte(kind)
	switch {
	case kind == keyspace.KindDelete:
		value = nil
	case kind == keyspace.KindPut && until != 0:
		code |= untilFlag
	}
	f := a.frameFor(entryLen(code, key, value))
	ref, n := putEntry(a.chunks[f.chunk][f.end:], code, until, key, value)
	ref = ref.moved(f.chunk, f.end)
	f.end += n
	if f.chunk == a.current {
		a.tail = f.end
	}
	return ref
}

// Take returns the frames of the current batch that it has not returned before, oldest first, each
// with its headroom, and completes them: what is appended next starts a new frame. None is empty.
// They alias the arena; the caller may write to the headroom and nothing else. They will lie in the
// log file one after the other from the offset at on, unless the batch is rolled back.
func (a *Arena) Take(at int64) [][]byte {
	if a.taken == len(a.frames) {
		return nil
	}
	frames := make([][]byte, 0, len(a.frames)-a.taken)
	for _, f := range a.frames[a.taken:] {
		frames = append(frames, a.chunks[f.chunk][f.start:f.end])
		a.place(f, at)
		at += int64(f.end - f.start)
	}
	a.taken = len(a.frames)
	return frames
}

// Pending returns the payloads of the frames that Take would return. They alias the arena, must not
// be modified, and are valid unless the batch is rolled back.
func (a *Arena) Pending() [][]byte {
	payloads := make([][]byte, 0, len(a.frames)-a.taken)
	for _, f := range a.frames[a.taken:] {
		payloads = append(payloads, a.chunks[f.chunk][f.start+a.headroom:f.end:f.end])
	}
	return payloads
}

// Replay copies the payload of a frame, which lies in a log file at the offset at, into the current
// batch, in one piece, and calls fn for each entry, oldest first. When it does, the arena is as if
// the entry had just been appended; fn must not append. Take does not return the frame.
//
// The first entry that no arena would have written ends it with an error that matches corrupt.Err
// and says where in the payload it starts. The batch must be rolled back then.
func (a *Arena) Replay(payload []byte, at int64, fn func(Ref)) error {
	if len(payload) > maxPayloadBytes {
		return corrupt.New("batch", 0, "%d bytes are more than any batch has", len(payload))
	}
	// With the headroom kept, frames that follow each other in the log do so here: one extent.
	n := a.headroom + len(payload)
	a.makeRoom(n)
	f := frame{a.current, a.tail, a.tail + n}
	a.place(f, at-int64(a.headroom))
	first := f.start + a.headroom
	chunk := a.chunks[f.chunk]
	copy(chunk[first:f.end], payload)
	for next := first; next < f.end; next = a.tail {
		ref, n, reason := parseEntry(chunk[next:f.end])
		if reason != "" {
			return corrupt.New("batch", int64(next-first), "%s", reason)
		}
		a.tail = next + n
		fn(ref.moved(f.chunk, next))
	}
	a.tail = f.end
	return nil
}

// Commit ends the batch and keeps its bytes.
func (a *Arena) Commit() { a.frames, a.taken = a.frames[:0], 0 }

// Rollback ends the batch and frees its space. Its refs, marks and frames must not be used again.
func (a *Arena) Rollback() {
	begun := a.begun
	clear(a.chunks[begun.chunks:])
	a.chunks, a.next = a.chunks[:begun.chunks], nil
	a.current, a.tail, a.bytes = int(begun.current), int(begun.tail), begun.bytes
	if a.placed {
		a.places.forget(begun.Mark)
	}
	a.frames, a.taken = a.frames[:0], 0
}

// Mark returns the present moment.
func (a *Arena) Mark() Mark { return Mark{int32(len(a.chunks)), int32(a.current), int32(a.tail)} }

// Chunks returns the arena's memory, which resolves all refs handed out so far.
func (a *Arena) Chunks() Chunks { return a.chunks }

// Places returns where in the log the arena's bytes lie, now and after each change.
func (a *Arena) Places() *Places { return a.places }

// Bytes returns how much memory the arena holds, used or not.
func (a *Arena) Bytes() int64 { return a.bytes + int64(len(a.next)) }

// place records that a frame lies in the log at the given offset.
func (a *Arena) place(f frame, offset int64) {
	a.places.add(extent{int32(f.chunk), int32(f.start), int32(f.end), offset})
	a.placed = true
}

// frameFor returns the frame to append an entry of n bytes to, with room for it. The pointer is
// valid until the next call.
func (a *Arena) frameFor(n int) *frame {
	if last := len(a.frames) - 1; last >= a.taken {
		// What was replayed in between lies behind the last frame.
		f := &a.frames[last]
		if f.chunk == a.current && f.end == a.tail && n <= len(a.chunks[f.chunk])-f.end {
			return f
		}
	}
	n += a.headroom
	var f frame
	if n >= a.large() && !a.fits(n) {
		f.chunk = a.grow(n) // filled at once: a.current goes on being filled
	} else {
		a.makeRoom(n)
		f.chunk, f.start = a.current, a.tail
	}
	f.end = f.start + a.headroom
	a.frames = append(a.frames, f)
	return &a.frames[len(a.frames)-1]
}

// fits reports whether the chunk being filled has room for n bytes.
func (a *Arena) fits(n int) bool {
	return a.current >= 0 && n <= len(a.chunks[a.current])-a.tail
}

func (a *Arena) large() int { return a.maxChunk / largeShare }

// makeRoom makes sure that the chunk being filled has room for n bytes.
func (a *Arena) makeRoom(n int) {
	if a.fits(n) {
		return
	}
	size := n
	if n < a.large() {
		size = a.minChunk
		if a.current >= 0 {
			size = min(2*len(a.chunks[a.current]), a.maxChunk)
		}
		for size < n {
			size *= 2
		}
	}
	a.current, a.tail = a.grow(size), 0
}

// Prepare makes the next chunk ahead of its use and returns it, so that the caller can have the
// system provide its memory meanwhile. It returns nil if there is one already, or as long as chunks
// grow. The caller must not write to it.
func (a *Arena) Prepare() []byte {
	if a.next != nil || a.current < 0 || len(a.chunks[a.current]) < a.maxChunk {
		return nil
	}
	a.next = make([]byte, a.maxChunk)
	return a.next
}

// grow adds a chunk and returns its index.
func (a *Arena) grow(size int) int {
	chunk := a.next
	if len(chunk) == size {
		a.next = nil
	} else {
		chunk = make([]byte, size)
	}
	a.chunks = append(a.chunks, chunk)
	a.bytes += int64(size)
	return len(a.chunks) - 1
}

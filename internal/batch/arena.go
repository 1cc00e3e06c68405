package batch

import (
	"encoding/binary"
	"math/bits"

	"github.com/stoatdb/stoat/internal/keyspace"
)

const (
	minChunkBytes = 16 << 10 // so that a database of a few entries takes little memory
	maxChunkBytes = 1 << 20

	// largeBytes is the size from which a frame gets a chunk of exactly its size. It bounds what is
	// lost at the end of a chunk into which the next entry does not fit.
	largeBytes = maxChunkBytes / 4
)

// Arena is the byte store of one memtable: batches of entries in chunks. Bytes that were committed
// never change or move, except for the headroom of frames, which belongs to the log. Chunks double
// in size up to a limit. Not safe for concurrent use, but readers of what was appended may go on
// while more is.
type Arena struct {
	headroom int
	chunks   Chunks // each of full length, used or not
	current  int    // the chunk being filled, which is none of the large ones; -1 if there is none
	tail     int    // the first unused byte in it
	bytes    int64  // in all chunks

	frames []frame // of the current batch
	taken  int     // so many of them were handed out and are complete
	begun  mark
}

// frame is the place of one frame, headroom included.
type frame struct{ chunk, start, end int }

// mark is what Rollback restores.
type mark struct {
	chunks, current, tail int
	bytes                 int64
}

// NewArena returns an empty arena whose frames start with headroom bytes for the log's use.
func NewArena(headroom int) *Arena { return &Arena{headroom: headroom, current: -1} }

// Begin starts a batch. The one before must have been committed or rolled back.
func (a *Arena) Begin() {
	a.frames, a.taken = a.frames[:0], 0
	a.begun = mark{len(a.chunks), a.current, a.tail, a.bytes}
}

// Append copies an entry into the current batch. The key has 1 to
// [keyspace.MaxInternalKeyBytes] bytes, the value at most [keyspace.MaxValueBytes]; the value of a
// tombstone is ignored.
func (a *Arena) Append(kind keyspace.Kind, key, value []byte) Ref {
	if kind == keyspace.KindDelete {
		value = nil
	}
	f := a.frameFor(entryLen(kind, key, value))
	chunk := a.chunks[f.chunk]
	at := f.end
	chunk[at] = byte(kind)
	at += 1 + binary.PutUvarint(chunk[at+1:], uint64(len(key)))
	if kind == keyspace.KindPut {
		at += binary.PutUvarint(chunk[at:], uint64(len(value)))
	}
	ref := Ref{
		chunk:      uint32(f.chunk),
		offset:     uint32(at),
		keyAndKind: uint32(len(key))<<8 | uint32(kind),
		valueBytes: uint32(len(value)),
	}
	at += copy(chunk[at:], key)
	at += copy(chunk[at:], value)
	f.end = at
	if f.chunk == a.current {
		a.tail = at
	}
	return ref
}

// Take returns the frames of the current batch that it has not returned before, oldest first, each
// with its headroom, and completes them: what is appended next starts a new frame. None is empty.
// They alias the arena; the caller may write to the headroom and nothing else.
func (a *Arena) Take() [][]byte {
	if a.taken == len(a.frames) {
		return nil
	}
	frames := make([][]byte, 0, len(a.frames)-a.taken)
	for _, f := range a.frames[a.taken:] {
		frames = append(frames, a.chunks[f.chunk][f.start:f.end])
	}
	a.taken = len(a.frames)
	return frames
}

// Commit ends the batch and makes its bytes permanent.
func (a *Arena) Commit() { a.frames, a.taken = a.frames[:0], 0 }

// Rollback ends the batch and gives its space back. Nothing may use its refs or frames any more.
func (a *Arena) Rollback() {
	clear(a.chunks[a.begun.chunks:])
	a.chunks = a.chunks[:a.begun.chunks]
	a.current, a.tail, a.bytes = a.begun.current, a.begun.tail, a.begun.bytes
	a.frames, a.taken = a.frames[:0], 0
}

// Chunks returns the arena's memory, which resolves all refs handed out so far.
func (a *Arena) Chunks() Chunks { return a.chunks }

// Bytes returns how much memory the arena holds, used or not.
func (a *Arena) Bytes() int64 { return a.bytes }

// frameFor returns the frame to append an entry of n bytes to, with room for it. The pointer is
// valid until the next call.
func (a *Arena) frameFor(n int) *frame {
	if last := len(a.frames) - 1; last >= a.taken && a.frames[last].chunk == a.current &&
		n <= len(a.chunks[a.current])-a.tail {
		return &a.frames[last]
	}
	n += a.headroom
	chunk, start := a.current, a.tail
	switch {
	case chunk >= 0 && n <= len(a.chunks[chunk])-start:
	case n >= largeBytes:
		chunk, start = a.grow(n), 0
	default:
		size := minChunkBytes
		if chunk >= 0 {
			size = min(2*len(a.chunks[chunk]), maxChunkBytes)
		}
		for size < n {
			size *= 2
		}
		chunk, start = a.grow(size), 0
		a.current = chunk
	}
	a.frames = append(a.frames, frame{chunk, start, start + a.headroom})
	return &a.frames[len(a.frames)-1]
}

// grow adds a chunk and returns its index.
func (a *Arena) grow(size int) int {
	a.chunks = append(a.chunks, make([]byte, size))
	a.bytes += int64(size)
	return len(a.chunks) - 1
}

func entryLen(kind keyspace.Kind, key, value []byte) int {
	n := 1 + uvarintLen(uint64(len(key))) + len(key)
	if kind == keyspace.KindPut {
		n += uvarintLen(uint64(len(value))) + len(value)
	}
	return n
}

// uvarintLen returns how many bytes v takes as a uvarint.
func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

package cryptfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
)

// chunkReader reads a file of chunks. What was lost before it was durable reads as zeros: the
// formats of logs and manifests know what to do with those. If a chunk says that it was durable, it
// is damage. Safe for concurrent use.
type chunkReader struct {
	sealed
	keys   fileKeys
	writer *chunkWriter // that writes the file in this process; nil if there is none

	mu     sync.Mutex
	starts []int64 // of the content, by block; -1 if the header at its start is lost
	size   int64   // of the content; -1 if not known yet
}

func newChunkReader(inner vfs.File, name string, keys fileKeys) *chunkReader {
	return &chunkReader{sealed: sealed{inner, name}, keys: keys, size: -1}
}

// InPieces implements vfs.Pieced: a crash loses chunks, which need not end where sectors do.
func (r *chunkReader) InPieces() bool { return true }

// stored returns how long the file is.
func (r *chunkReader) stored() (int64, error) {
	if r.writer != nil {
		return r.writer.stored.Load(), nil
	}
	return r.inner.Size()
}

// Size returns where the last chunk ends. Of a file that another process writes, the answer stays
// the first one.
func (r *chunkReader) Size() (int64, error) {
	if r.writer != nil {
		return r.writer.size.Load(), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size >= 0 {
		return r.size, nil
	}
	stored, err := r.stored()
	if err != nil {
		return 0, err
	}
	block := (stored - 1) / blockBytes
	for ; block > 0; block-- { // the last block whose first header is there
		if start, err := r.startOf(block, stored); err != nil {
			return 0, err
		} else if start >= 0 {
			break
		}
	}
	size := int64(0)
	err = r.walk(block, stored, func(c chunk, _ []byte) bool {
		size = c.end()
		return true
	})
	if err == nil {
		r.size = size
	}
	return size, err
}

// startOf returns where the content of a block starts, or -1 if the first header is lost.
func (r *chunkReader) startOf(block, stored int64) (int64, error) {
	var p [chunkHead]byte
	at := max(block*blockBytes, headerBytes)
	if at+chunkHead > stored {
		return -1, nil
	}
	if err := r.read(p[:], at); err != nil {
		return 0, err
	}
	if c, ok := parseChunk(p[:], at, r.keys); ok {
		return c.start, nil
	}
	return -1, nil
}

func (r *chunkReader) read(p []byte, at int64) error {
	n, err := r.inner.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) { // its writer has just cut off what was preallocated
		clear(p[n:])
		return nil
	}
	return fmt.Errorf("read %s at offset %d: %w", r.name, at, err)
}

// find returns the last block whose content starts at or before an offset of the content.
func (r *chunkReader) find(off, stored int64) (block int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	blocks := (stored + blockBytes - 1) / blockBytes
	for n := int64(len(r.starts)); n < blocks; n++ {
		if n > 0 && r.starts[n-1] > off {
			break
		}
		start, err := r.startOf(n, stored)
		if err != nil {
			return 0, err
		}
		r.starts = append(r.starts, start)
	}
	for n := len(r.starts) - 1; n > 0; n-- {
		if r.starts[n] >= 0 && r.starts[n] <= off {
			return int64(n), nil
		}
	}
	return 0, nil
}

// walk calls fn with the chunks from a block on until it returns false. It passes what is stored of
// the chunk, nil if it is cut off.
func (r *chunkReader) walk(block, stored int64, fn func(c chunk, p []byte) bool) error {
	buffer := r.keys.buffers.take()
	defer r.keys.buffers.pool.Put(buffer)
	for ; block*blockBytes < stored; block++ {
		p := buffer.stored[:min(blockBytes, stored-block*blockBytes)]
		if err := r.read(p, block*blockBytes); err != nil {
			return err
		}
		at := 0
		if block == 0 {
			at = headerBytes
		}
		for at+chunkHead <= len(p) {
			c, ok := parseChunk(p[at:], block*blockBytes+int64(at), r.keys)
			if !ok {
				at = skip(p, at)
				continue
			}
			end := at + chunkExtra + c.length
			var all []byte
			if end <= len(p) {
				all = p[at:end]
			}
			if !fn(c, all) {
				return nil
			}
			at = end
		}
	}
	return nil
}

// skip returns the next place in a block after at where a header may be: one is never all zeros.
func skip(p []byte, at int) int {
	at++
	if end := min(at+chunkHead, len(p)); len(bytes.TrimRight(p[at:end], "\x00")) > 0 {
		return at
	}
	zeros := len(p) - len(bytes.TrimLeft(p[at:], "\x00"))
	return max(at, zeros-chunkHead+1)
}

// ReadAt reads the content, with zeros for what was lost.
func (r *chunkReader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, r.refuse("read", fs.ErrInvalid)
	}
	stored, err := r.stored()
	if err != nil {
		return 0, err
	}
	block, err := r.find(off, stored)
	if err != nil {
		return 0, err
	}
	g := gather{chunkReader: r, p: p, off: off, hole: -1}
	if err := r.walk(block, stored, g.take); err != nil {
		return 0, err
	}
	if g.hole >= 0 {
		if err := r.checkLost(g.hole, block, stored); err != nil {
			return 0, err
		}
	}
	if g.n < len(p) {
		return g.n, io.EOF
	}
	return g.n, nil
}

// gather is a read of some content.
type gather struct {
	*chunkReader
	p    []byte
	off  int64
	n    int   // how much of p is filled
	hole int64 // the offset of the first content that was lost; -1 if none was
}

// take fills p with what a chunk has of it, and reports whether p is not full yet.
func (g *gather) take(c chunk, stored []byte) bool {
	at := g.off + int64(g.n)
	if c.end() <= at {
		return g.n < len(g.p)
	}
	if gap := min(c.start-at, int64(len(g.p)-g.n)); gap > 0 {
		clear(g.p[g.n : g.n+int(gap)])
		g.lost(at)
		g.n, at = g.n+int(gap), at+gap
	}
	n := min(int(c.end()-at), len(g.p)-g.n)
	if n <= 0 {
		return false
	}
	skip := int(at - c.start)
	ok := false
	if part := g.p[g.n : g.n+n : g.n+n]; n == c.length && stored != nil {
		_, ok = c.open(part[:0], stored, g.keys)
	} else if stored != nil {
		var content []byte
		content, ok = c.open(stored[chunkHead:chunkHead], stored, g.keys)
		if ok {
			copy(part, content[skip:])
		}
	}
	if !ok {
		clear(g.p[g.n : g.n+n])
		g.lost(at)
	}
	g.n += n
	return g.n < len(g.p)
}

func (g *gather) lost(at int64) {
	if g.hole < 0 {
		g.hole = at
	}
}

// checkLost returns an error if content that is lost was durable, as a chunk further on says.
func (r *chunkReader) checkLost(hole, block, stored int64) error {
	var witness chunk
	err := r.walk(block, stored, func(c chunk, _ []byte) bool {
		if c.durable > hole && c.start >= c.durable {
			witness = c
		}
		return witness.length == 0
	})
	if err == nil && witness.length > 0 {
		err = corrupt.New(r.name, hole, "the encrypted bytes do not verify, but the chunk at offset %d "+
			"of the file says that they were durable", witness.at)
	}
	return err
}

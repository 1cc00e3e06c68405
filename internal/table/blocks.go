package table

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Blocks reads a table block by block, for who takes what can still be read of a damaged one. It
// needs the footer and the index only: what is wrong with the header is no matter, nor is damage in
// a block for the others. It uses no map and no cache. Not safe for concurrent use.
type Blocks struct {
	file         vfs.File
	path         string
	index        *index
	flaw         error
	decompressor *block.Decompressor
}

// OpenBlocks opens the file of c, of which the cache and the dictionaries do not matter, and the
// size, if it is 0, is that of the file. A longer file is one with something behind the table.
func OpenBlocks(c Config, d *block.Decompressor) (*Blocks, error) {
	file, err := c.FS.Open(c.Path)
	if err != nil {
		return nil, err
	}
	b := &Blocks{file: file, path: c.Path, decompressor: d}
	if err := b.load(c); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return b, nil
}

func (b *Blocks) load(c Config) error {
	size, err := b.file.Size()
	if err != nil {
		return err
	}
	if c.Size == 0 {
		c.Size = size
	}
	if size < c.Size || c.Size < headerBytes+footerBytes {
		return corrupt.New(c.Path, size, "file has %d bytes, want %d", size, c.Size)
	}
	id := identity{c.Number, c.Database}
	if size > c.Size {
		b.flaw = corrupt.New(c.Path, c.Size, "file has %d bytes, want %d", size, c.Size)
	}
	p, err := b.read(0, headerBytes)
	if err == nil && b.flaw == nil {
		b.flaw = id.checkHeader(c.Path, p)
	}
	end := uint64(c.Size) - footerBytes
	if p, err = b.read(end, uint64(c.Size)); err != nil {
		return err
	}
	f, err := parseFooter(p, id, uint64(c.Size))
	if err != nil {
		return corrupt.New(c.Path, int64(end), "%v", err)
	}
	if p, err = b.read(f.index, end); err != nil {
		return err
	}
	if checksum.Of(p) != f.indexSum {
		return corrupt.New(c.Path, int64(f.index), "checksum of the index does not match")
	}
	if b.index, err = parseIndex(p, f); err != nil {
		return corrupt.New(c.Path, int64(f.index), "%v", err)
	}
	return nil
}

// Flaw returns what is wrong with the file though all of it can be read, or nil.
func (b *Blocks) Flaw() error { return b.flaw }

// Close closes the file.
func (b *Blocks) Close() error { return b.file.Close() }

// Len returns the number of blocks.
func (b *Blocks) Len() int { return len(b.index.fences) }

// Keys returns the keys of block i.
func (b *Blocks) Keys(i int) (keys block.Keys, err error) {
	at := b.index.places[i].keys
	p, err := b.read(at, b.index.places[i+1].keys)
	if err != nil {
		return block.Keys{}, err
	}
	if err = checkPart(p, b.index.sums[i].keys); err == nil {
		keys, err = block.ParseKeys(p)
	}
	if err != nil {
		err = corrupt.New(b.path, int64(at), "%v", err)
	}
	return keys, err
}

// Values returns the values of block i, which has so many entries.
func (b *Blocks) Values(i, count int) (values block.Values, err error) {
	at := b.index.places[i].values
	p, err := b.read(at, b.index.places[i+1].values)
	if err != nil {
		return block.Values{}, err
	}
	if err = checkPart(p, b.index.sums[i].values); err == nil {
		values, err = block.ParseValues(p, count, b.decompressor)
	}
	if err != nil {
		err = corrupt.New(b.path, int64(at), "%v", err)
	}
	return values, err
}

// Span returns a span that all keys of block i are in, as far as the index can tell.
func (b *Blocks) Span(i int) (span keyspace.Span) {
	first, _ := b.near(i)
	if i+1 == b.Len() {
		return keyspace.Span{Start: first}
	}
	_, end := b.near(i + 1)
	return keyspace.Span{Start: first, End: end}
}

// near returns bounds of the first key of block i, which is not below first and below end.
func (b *Blocks) near(i int) (first, end []byte) {
	s := b.index.spans[0]
	for _, next := range b.index.spans {
		if next.first > i {
			break
		}
		s = next
	}
	if s.first == i {
		return s.key, append(s.key[:len(s.key):len(s.key)], 0)
	}
	p := append([]byte(nil), s.key[:s.prefix]...)
	p = binary.BigEndian.AppendUint64(p, b.index.fences[i])
	end = keyspace.Successor(p)
	for len(p) > s.prefix && p[len(p)-1] == 0 { // of a shorter key it may be a part or not
		p = p[:len(p)-1]
	}
	return p, end
}

// read reads the bytes of the file in [from, to), which lie within it, into new memory.
func (b *Blocks) read(from, to uint64) ([]byte, error) {
	p := make([]byte, to-from)
	if _, err := b.file.ReadAt(p, int64(from)); err != nil {
		return nil, fmt.Errorf("read %s at offset %d: %w", b.path, from, err)
	}
	return p, nil
}

package table

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Layout is where the parts of a table file lie and what its index says, as far as they are
// intact: it is for programs that show or save what is in damaged files. Immutable.
type Layout struct {
	Number   uint64 // as the file says
	Database [16]byte
	Size     int64 // of the file

	// Where sections start; each ends where the next does. A table without a filter has it empty.
	Keys, Filter, Index, Footer int64

	Entries, Tombstones uint64
	RawBytes            uint64 // keys and values before compression
	Compressed          bool   // a block at least is
	Spans               []Span
	Blocks              []Place

	file vfs.File
	path string
}

// Span is neighbouring blocks whose first keys share a prefix.
type Span struct {
	First  int    // its first block
	Prefix int    // bytes of Key that are the prefix
	Key    []byte // that block's first key
}

// Place is where the two parts of a block lie.
type Place struct {
	Values, ValueBytes int64
	Keys, KeyBytes     int64

	sums sums
}

// ReadLayout reads the layout of a table. What cannot be read is zero in it, and damage says why;
// without a footer that is everything but the size, and without an index there are no blocks. The
// layout uses the file as long as its blocks are read. Another error than of damage is in err.
func ReadLayout(file vfs.File, path string) (l *Layout, damage []error, err error) {
	size, err := file.Size()
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	l = &Layout{Size: size, file: file, path: path}
	if size < headerBytes+footerBytes {
		return l, []error{corrupt.New(path, 0, "file has only %d bytes", size)}, nil
	}
	l.Footer = size - footerBytes
	head, err := l.read(0, headerBytes)
	if err != nil {
		return nil, nil, err
	}
	tail, err := l.read(l.Footer, size)
	if err != nil {
		return nil, nil, err
	}
	id := identityOf(head)
	if !sealed(head) {
		id = identityOf(tail)
	}
	l.Number, l.Database = id.number, id.database
	if err := id.checkHeader(path, head); err != nil {
		damage = append(damage, err)
	}
	f, err := parseFooter(tail, id, uint64(size))
	if err != nil {
		return l, append(damage, corrupt.New(path, l.Footer, "%v", err)), nil
	}
	l.Keys, l.Filter, l.Index = int64(f.keys), int64(f.filter), int64(f.index)
	more, err := l.readSections(f)
	return l, append(damage, more...), err
}

// identityOf returns what a header or footer starts with.
func identityOf(p []byte) identity {
	return identity{binary.LittleEndian.Uint64(p[16:]), [16]byte(p[24:])}
}

// readSections checks the filter and reads the index.
func (l *Layout) readSections(f footer) (damage []error, err error) {
	p, err := l.read(l.Filter, l.Index)
	if err != nil {
		return nil, err
	}
	if err := checkFilter(p, f.filterSum); err != nil {
		damage = append(damage, corrupt.New(l.path, l.Filter, "%v", err))
	}
	if p, err = l.read(l.Index, l.Footer); err != nil {
		return nil, err
	}
	if checksum.Of(p) != f.indexSum {
		return append(damage, corrupt.New(l.path, l.Index, "checksum of the index does not match")), nil
	}
	x, err := parseIndex(p, f)
	if err != nil {
		return append(damage, corrupt.New(l.path, l.Index, "%v", err)), nil
	}
	l.Entries, l.Tombstones, l.RawBytes = x.entries, x.tombstones, x.rawBytes
	l.Compressed = x.compressed
	for _, s := range x.spans {
		l.Spans = append(l.Spans, Span{First: s.first, Prefix: s.prefix, Key: s.key})
	}
	for i := range x.fences {
		at, next := x.places[i], x.places[i+1]
		l.Blocks = append(l.Blocks, Place{
			Values: int64(at.values), ValueBytes: int64(next.values - at.values),
			Keys: int64(at.keys), KeyBytes: int64(next.keys - at.keys),
			sums: x.sums[i],
		})
	}
	return damage, nil
}

func checkFilter(p []byte, sum uint32) error {
	if len(p) == 0 {
		return nil
	}
	if checksum.Of(p) != sum {
		return errors.New("checksum of the filter does not match")
	}
	_, err := filter.Parse(p)
	return err
}

// ReadKeys reads and verifies the key part of block i, in new memory.
func (l *Layout) ReadKeys(i int) (block.Keys, error) {
	at := l.Blocks[i]
	p, err := l.read(at.Keys, at.Keys+at.KeyBytes)
	if err != nil {
		return block.Keys{}, err
	}
	if err := checkPart(p, at.sums.keys); err != nil {
		return block.Keys{}, corrupt.New(l.path, at.Keys, "%v", err)
	}
	keys, err := block.ParseKeys(p)
	if err != nil {
		err = corrupt.New(l.path, at.Keys, "%v", err)
	}
	return keys, err
}

// ReadValues reads and verifies the value block of block i, in new memory. If count is less than 0,
// it has as many values as it says itself.
func (l *Layout) ReadValues(i, count int, d *block.Decompressor) (block.Values, error) {
	at := l.Blocks[i]
	p, err := l.read(at.Values, at.Values+at.ValueBytes)
	if err != nil {
		return block.Values{}, err
	}
	if err := checkPart(p, at.sums.values); err != nil {
		return block.Values{}, corrupt.New(l.path, at.Values, "%v", err)
	}
	if count < 0 {
		count = block.CountValues(p)
	}
	values, err := block.ParseValues(p, count, d)
	if err != nil {
		err = corrupt.New(l.path, at.Values, "%v", err)
	}
	return values, err
}

// read returns the bytes [from, to), which lie within the file.
func (l *Layout) read(from, to int64) ([]byte, error) {
	p := make([]byte, to-from)
	if n, err := l.file.ReadAt(p, from); n < len(p) {
		return nil, fmt.Errorf("read %s at offset %d: %w", l.path, from, err)
	}
	return p, nil
}

package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Layout is where the parts of a table file lie and what its index says, as far as they are intact.
// It is for programs that show or salvage damaged files. It uses no map and no cache. Immutable.
type Layout struct {
	Number   uint64 // as the file says
	Database [16]byte
	Size     int64 // of the file

	// Where sections start. Each ends where the next starts. Without a filter, its section is
	// empty.
	Keys, Filter, Index, Footer int64

	Entries, Tombstones uint64
	RawBytes            uint64 // of keys and values before compression
	Compressed          bool   // at least one block is
	Spans               []Span
	Blocks              []Place

	file  vfs.File
	path  string
	index *index // nil if there are no blocks
}

// Place is where the two parts of a block lie.
type Place struct {
	Values, ValueBytes int64
	Keys, KeyBytes     int64
}

// Want is what a table file should be. A zero field stands for what the file says.
type Want struct {
	Number   uint64
	Database [16]byte
	Size     int64 // of the table; anything beyond that in the file does not belong to it
}

// Damage is a part of a file that is not as it should be.
type Damage struct {
	At  int64 // the offset of the part
	Err error // of another kind than corrupt.Err if the part cannot be read
}

// ReadLayout reads the layout of a table. What cannot be read is zero in it, and damage says why.
// If the size, the footer or the index is wrong, there are no blocks, and the last damage is why.
// Damage to the header and the filter does not matter to blocks. The layout uses the file as long
// as its blocks are read.
func ReadLayout(file vfs.File, path string, want Want) (l *Layout, damage []Damage) {
	l = &Layout{file: file, path: path}
	note := func(at int64, err error) bool {
		if err != nil {
			damage = append(damage, Damage{at, err})
		}
		return err != nil
	}
	fits, err := l.measure(&want)
	if note(min(l.Size, want.Size), err); !fits {
		return l, damage
	}
	l.Footer = want.Size - FooterSize
	tail, err := l.read(l.Footer, want.Size)
	note(0, l.identify(tail, &want))
	if note(l.Footer, err) {
		return l, damage
	}
	f, err := parseFooter(tail, headerOf(want.Number, want.Database), uint64(want.Size))
	if err != nil {
		note(l.Footer, corrupt.New(path, l.Footer, "%v", err))
		return l, damage
	}
	l.Keys, l.Filter, l.Index = int64(f.keys), int64(f.filter), int64(f.index)
	note(l.Filter, l.checkFilter(f.filterSum))
	note(l.Index, l.readIndex(f))
	return l, damage
}

// measure fills in the size and reports whether the file is large enough for the wanted table. The
// error says what is wrong with the size.
func (l *Layout) measure(want *Want) (fits bool, err error) {
	if l.Size, err = l.file.Size(); err != nil {
		return false, fmt.Errorf("read %s: %w", l.path, err)
	}
	if want.Size == 0 {
		want.Size = l.Size
	}
	switch {
	case want.Size < fileheader.Size+FooterSize:
		return false, corrupt.New(l.path, 0, "file has only %d bytes", l.Size)
	case l.Size != want.Size:
		err = corrupt.New(l.path, min(l.Size, want.Size), "file has %d bytes, want %d", l.Size,
			want.Size)
	}
	return l.Size >= want.Size, err
}

// identify reads the header and fills in the identity that is wanted: from the tail, which may be
// nil, if the header cannot be trusted. It returns what is wrong with the header.
func (l *Layout) identify(tail []byte, want *Want) error {
	head, err := l.read(0, fileheader.Size)
	says := fileheader.Header{}
	switch {
	case err == nil && (sealed(head) || tail == nil):
		says = fileheader.ParseFields(head).Header
	case tail != nil:
		says = fileheader.ParseFields(tail).Header
	}
	l.Number, l.Database = says.Number, says.Database
	if want.Number == 0 {
		want.Number = says.Number
	}
	if want.Database == ([16]byte{}) {
		want.Database = says.Database
	}
	if err != nil {
		return err
	}
	return headerOf(want.Number, want.Database).Check(l.path, head)
}

func (l *Layout) readIndex(f footer) error {
	p, err := l.read(l.Index, l.Footer)
	if err != nil {
		return err
	}
	if checksum.Of(p) != f.indexSum {
		return corrupt.New(l.path, l.Index, "checksum of the index does not match")
	}
	x, err := parseIndex(p, f)
	if err != nil {
		return corrupt.New(l.path, l.Index, "%v", err)
	}
	l.index, l.Spans = x, x.spans
	l.Entries, l.Tombstones, l.RawBytes = x.entries, x.tombstones, x.rawBytes
	l.Compressed = x.compressed
	for i := range x.fences {
		at, next := x.places[i], x.places[i+1]
		l.Blocks = append(l.Blocks, Place{
			Values: int64(at.values), ValueBytes: int64(next.values - at.values),
			Keys: int64(at.keys), KeyBytes: int64(next.keys - at.keys),
		})
	}
	return nil
}

// checkFilter returns what is wrong with the filter, if there is one.
func (l *Layout) checkFilter(sum uint32) error {
	p, err := l.read(l.Filter, l.Index)
	switch {
	case err != nil:
		return err
	case len(p) == 0:
		return nil
	case checksum.Of(p) != sum:
		return corrupt.New(l.path, l.Filter, "checksum of the filter does not match")
	}
	if _, err := filter.Parse(p); err != nil {
		return corrupt.New(l.path, l.Filter, "%v", err)
	}
	return nil
}

// ReadKeys reads and verifies the key part of block i, in new memory.
func (l *Layout) ReadKeys(i int) (block.Keys, error) {
	at := l.Blocks[i]
	p, err := l.read(at.Keys, at.Keys+at.KeyBytes)
	if err != nil {
		return block.Keys{}, err
	}
	if err := checkPart(p, l.index.sums[i].keys); err != nil {
		return block.Keys{}, corrupt.New(l.path, at.Keys, "%v", err)
	}
	keys, err := block.ParseKeys(p)
	if err != nil {
		err = corrupt.New(l.path, at.Keys, "%v", err)
	}
	return keys, err
}

// ReadValues reads and verifies the value block of block i, in new memory. If count is negative,
// the block itself says how many values it has.
func (l *Layout) ReadValues(i, count int, d *block.Decompressor) (block.Values, error) {
	at := l.Blocks[i]
	p, err := l.read(at.Values, at.Values+at.ValueBytes)
	if err != nil {
		return block.Values{}, err
	}
	if err := checkPart(p, l.index.sums[i].values); err != nil {
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

// Span returns a span that all keys of block i are in, as far as the index can tell.
func (l *Layout) Span(i int) (span keyspace.Span) {
	first, _ := l.near(i)
	if i+1 == len(l.Blocks) {
		return keyspace.Span{Start: first}
	}
	_, end := l.near(i + 1)
	return keyspace.Span{Start: first, End: end}
}

// near returns bounds of the first key of block i: it is in [first, end).
func (l *Layout) near(i int) (first, end []byte) {
	s := l.index.spans[0]
	for _, next := range l.index.spans {
		if next.First > i {
			break
		}
		s = next
	}
	if s.First == i {
		return s.Key, append(slices.Clip(s.Key), 0)
	}
	p := bytes.Clone(s.Key[:s.Prefix])
	p = binary.BigEndian.AppendUint64(p, l.index.fences[i])
	end = keyspace.Successor(p)
	for len(p) > s.Prefix && p[len(p)-1] == 0 { // part of the key, or padding
		p = p[:len(p)-1]
	}
	return p, end
}

// read returns the bytes [from, to), which must lie within the file.
func (l *Layout) read(from, to int64) ([]byte, error) {
	p := make([]byte, to-from)
	if n, err := l.file.ReadAt(p, from); n < len(p) {
		return nil, fmt.Errorf("read %s at offset %d: %w", l.path, from, err)
	}
	return p, nil
}

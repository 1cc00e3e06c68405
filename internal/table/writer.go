package table

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// defaultBlockBytes is how many bytes of values a block holds. Twice as many save 1 % of a
	// compressed table; half as many decode in half the time but take 2 % more.
	defaultBlockBytes = 32 << 10
	maxBlockBytes     = 16 << 20
	aloneBlocks       = 4 // a value as large as this many blocks gets its own
	// bufferBytes is how much is written at a time, at a multiple of it: a huge page. Linux keeps in
	// one piece what was written in one, where the file system can, and maps it by one fault.
	// docs/design/reading.md has what that saves.
	bufferBytes = 2 << 20
	// spareBytes is the room in a full buffer for the rest of a block.
	spareBytes = 128 << 10
)

// WriterOptions says how to write a table.
type WriterOptions struct {
	Number     uint64
	Database   [16]byte
	Encoding   block.Encoding // of values, as [Writer.Encode] changes it
	Filter     bool           // write a filter, so that lookups of absent keys are cheap
	BlockBytes int            // bytes of values, or of keys, in a block; 0 for the default
}

// Summary describes a finished table.
type Summary struct {
	Size       uint64 // of the file
	Entries    uint64 // tombstones included
	Tombstones uint64
	RawBytes   uint64 // of keys and values, before compression
	Smallest   []byte // key
	Largest    []byte // key

	Stored       Stored
	Dictionaries []uint64 // that blocks refer to, by number, in ascending order
}

// Stored is how values are stored in complete blocks.
type Stored struct {
	Bytes  uint64               // of the blocks
	Codecs [block.Codecs]uint64 // bytes of the values before encoding, by the block's codec
}

// Writer writes a table file from front to back. It streams value blocks and keeps the rest, a few
// per cent, until Finish. Not safe for concurrent use. The first error is permanent.
type Writer struct {
	file    vfs.File
	options WriterOptions
	err     error

	buffer []byte // follows what is written
	offset uint64 // bytes written
	block  block.Builder
	held   block.Builder // the previous block, which is full; empty if it was written

	places   []place // the starts of the blocks so far; keys relative to their section
	sums     []sums  // of the blocks so far
	keys     []byte  // the key section so far
	firsts   [][]byte
	hashes   []uint64
	smallest []byte
	largest  []byte
	summary  Summary // what is counted per block
	properties
}

// NewWriter returns a writer to the empty file f, which the caller closes.
func NewWriter(f vfs.File, o WriterOptions) *Writer {
	if o.BlockBytes <= 0 {
		o.BlockBytes = defaultBlockBytes
	}
	o.BlockBytes = min(o.BlockBytes, maxBlockBytes)
	header := headerOf(o.Number, o.Database).Bytes()
	w := &Writer{file: f, options: o, buffer: header[:]}
	w.block.Encode(o.Encoding)
	w.held.Encode(o.Encoding)
	return w
}

// Encode says how the values of the following entries are stored, in blocks of their own.
func (w *Writer) Encode(e block.Encoding) error {
	if err := w.endBlocks(); err != nil {
		return err
	}
	w.options.Encoding = e
	w.block.Encode(e)
	w.held.Encode(e)
	return nil
}

// stored counts a block of the given size, and the bytes of its values before encoding.
func (w *Writer) stored(bytes, values int, codec block.Codec, dictionary uint64) {
	s := &w.summary
	s.Stored.Bytes += uint64(bytes)
	s.Stored.Codecs[codec] += uint64(values)
	w.compressed = w.compressed || codec == block.Zstd
	if codec == block.Pattern && !slices.Contains(s.Dictionaries, dictionary) {
		s.Dictionaries = append(s.Dictionaries, dictionary)
	}
}

// Add appends an entry. Keys must be strictly increasing. A tombstone's value is ignored.
func (w *Writer) Add(key []byte, e keyspace.Entry) error {
	if w.err != nil {
		return w.err
	}
	if e.Kind < keyspace.KindPut || e.Kind > keyspace.KindPointer {
		return w.fail(fmt.Errorf("add entry of kind %d", e.Kind))
	}
	if w.entries > 0 && bytes.Compare(key, w.largest) <= 0 {
		return w.fail(fmt.Errorf("add key %q after %q", key, w.largest))
	}
	if len(key) > keyspace.MaxInternalKeyBytes || len(e.Value) > keyspace.MaxValueBytes {
		return w.fail(fmt.Errorf("add key of %d and value of %d bytes", len(key), len(e.Value)))
	}
	if e.Kind == keyspace.KindDelete {
		e = keyspace.Entry{Kind: e.Kind}
		w.tombstones++
	}
	if err := w.append(key, e); err != nil {
		return err
	}
	if w.entries == 0 {
		w.smallest = bytes.Clone(key)
	}
	w.largest = append(w.largest[:0], key...)
	w.entries++
	w.rawBytes += uint64(len(key) + e.Size())
	if w.options.Filter {
		w.hashes = append(w.hashes, filter.Hash(key))
	}
	return nil
}

// append appends an entry to the current block. A value that is much larger than others gets a
// block of its own and is compressed where it lies, without a copy.
func (w *Writer) append(key []byte, e keyspace.Entry) error {
	if w.full(len(key), e.Size()) {
		if err := w.hold(); err != nil {
			return err
		}
	}
	if len(e.Value)/aloneBlocks < w.options.BlockBytes {
		w.block.Add(key, e)
		return nil
	}
	if err := w.endBlocks(); err != nil {
		return err
	}
	w.held.AddAlone(key, e)
	return w.endHeld()
}

// Size returns about how large the file would be if it were finished now. The current block counts
// as if it were not compressed.
func (w *Writer) Size() int64 {
	n := len(w.buffer) + len(w.keys) + w.block.ValueBytes() + w.block.KeyBytes()
	n += w.held.ValueBytes() + w.held.KeyBytes()
	n += len(w.places)*(fenceBytes+placeBytes) + len(w.hashes)*9/8 + FooterSize
	return int64(w.offset) + int64(n)
}

// Pending returns how many bytes of values were added to the block in progress.
func (w *Writer) Pending() int { return w.block.ValueBytes() }

// Stored returns how the values of complete blocks are stored.
func (w *Writer) Stored() Stored { return w.summary.Stored }

// Finish writes what is left and syncs the file. A table must have at least one entry.
func (w *Writer) Finish() (Summary, error) {
	if w.err != nil {
		return Summary{}, w.err
	}
	if w.entries == 0 {
		return Summary{}, w.fail(errors.New("finish a table without entries"))
	}
	if err := w.endBlocks(); err != nil {
		return Summary{}, err
	}
	if err := w.appendSections(); err != nil {
		return Summary{}, w.fail(err)
	}
	if err := w.write(len(w.buffer)); err != nil {
		return Summary{}, err
	}
	if err := w.file.Sync(); err != nil {
		return Summary{}, w.fail(fmt.Errorf("sync: %w", err))
	}
	w.err = errors.New("table is finished")
	s := w.summary
	s.Size, s.Entries, s.Tombstones, s.RawBytes = w.offset, w.entries, w.tombstones, w.rawBytes
	s.Smallest, s.Largest = w.smallest, w.largest
	slices.Sort(s.Dictionaries)
	return s, nil
}

// full reports whether the block has no room for another entry of this size.
func (w *Writer) full(key, value int) bool {
	b, limit := &w.block, w.options.BlockBytes
	return b.Len() == block.MaxEntries || b.Len() > 0 &&
		(exceeds(b.ValueBytes(), value, limit) || exceeds(b.KeyBytes(), key, limit))
}

// exceeds reports whether used + more, which need not fit into an int, is above limit.
func exceeds(used, more, limit int) bool { return more > limit-used }

// endBlocks ends the current block and the held one.
func (w *Writer) endBlocks() error {
	if err := w.hold(); err != nil {
		return err
	}
	return w.endHeld()
}

// hold starts a new block. It holds the previous one, unless that is large, so that the entries of
// both can still be divided between them; see AddBlock.
func (w *Writer) hold() error {
	if err := w.endHeld(); err != nil {
		return err
	}
	w.held, w.block = w.block, w.held
	if w.held.ValueBytes()+w.held.KeyBytes() > 2*w.options.BlockBytes {
		return w.endHeld()
	}
	return nil
}

// endHeld appends the two parts of the held block, if there is one, to where they belong, and
// writes the buffer if it is full.
func (w *Writer) endHeld() error {
	b := &w.held
	if b.Len() == 0 {
		return nil
	}
	w.place(b.Key(0))
	w.keys = b.AppendKeys(w.keys)
	before := len(w.buffer)
	buffer, codec, err := b.AppendValues(w.buffer)
	if err != nil {
		return w.fail(err)
	}
	w.buffer = buffer
	dictionary := uint64(0)
	if codec == block.Pattern {
		dictionary = w.options.Encoding.Encoder.Dictionary.Number
	}
	w.sums = append(w.sums, sums{sumAtEnd(w.buffer), sumAtEnd(w.keys)})
	w.stored(len(buffer)-before, b.ValueBytes(), codec, dictionary)
	b.Reset()
	return w.writeFull()
}

// place notes that the next block to be appended has this first key.
func (w *Writer) place(first []byte) {
	w.places = append(w.places, place{w.end(), uint64(len(w.keys))})
	w.firsts = append(w.firsts, bytes.Clone(first))
}

// writeFull writes the buffer as far as it fills multiples of bufferBytes.
func (w *Writer) writeFull() error {
	if n := len(w.buffer) / bufferBytes * bufferBytes; n > 0 {
		return w.write(n)
	}
	if n := cap(w.buffer); n < bufferBytes && len(w.buffer) > n/4*3 {
		w.buffer = append(make([]byte, 0, min(2*n, bufferBytes+spareBytes)), w.buffer...)
	}
	return nil
}

// appendSections appends everything that follows the value blocks.
func (w *Writer) appendSections() error {
	f := footer{keys: w.end(), blocks: uint32(len(w.places))}
	f.filter = f.keys + uint64(len(w.keys))
	for i := range w.places {
		w.places[i].keys += f.keys
	}
	x := index{
		places: append(w.places, place{f.keys, f.filter}), sums: w.sums, properties: w.properties,
	}
	x.spans, x.fences = newSpans(nil, nil, w.firsts, 0)
	f.spans = uint32(len(x.spans))

	w.buffer = append(w.buffer, w.keys...)
	start := len(w.buffer)
	if w.options.Filter {
		var err error
		if w.buffer, err = filter.Append(w.buffer, w.hashes); err != nil {
			return err
		}
	}
	f.filterSum = checksum.Of(w.buffer[start:])
	f.index = w.end()
	start = len(w.buffer)
	w.buffer = x.append(w.buffer)
	f.indexSum = checksum.Of(w.buffer[start:])
	w.buffer = f.append(w.buffer, headerOf(w.options.Number, w.options.Database))
	return nil
}

// end returns the offset of what is appended next.
func (w *Writer) end() uint64 { return w.offset + uint64(len(w.buffer)) }

// write writes the first n bytes of the buffer, and keeps the rest.
func (w *Writer) write(n int) error {
	if _, err := w.file.WriteAt(w.buffer[:n], int64(w.offset)); err != nil {
		return w.fail(fmt.Errorf("write at offset %d: %w", w.offset, err))
	}
	w.file.StartSync(int64(w.offset), int64(n))
	w.offset += uint64(n)
	if w.buffer = append(w.buffer[:0], w.buffer[n:]...); cap(w.buffer) > 2*bufferBytes {
		w.buffer = bytes.Clone(w.buffer)
	}
	return nil
}

func (w *Writer) fail(err error) error {
	w.err = err
	return err
}

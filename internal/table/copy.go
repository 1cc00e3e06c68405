package table

import (
	"bytes"
	"fmt"
	"runtime"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/filter"
)

// Block is a whole block of a table, to be added to another table as it is. It is valid as long as
// its table is reachable.
type Block struct {
	First, Last []byte // keys
	block.Copy
}

// Load reads the values of the block that the cursor is in, unless they were read before. If it
// fails, the cursor stays where it is.
func (c *Cursor) Load() error {
	if c.loaded {
		return nil
	}
	if err := c.content.loadValues(c.reader, c.block, c.scope, lookup); err != nil {
		return err
	}
	c.loaded = true
	runtime.KeepAlive(c)
	return nil
}

// Puts reports whether the cursor is on the first entry of a block that holds only puts that have
// their values and do not expire.
func (c *Cursor) Puts() bool { return c.at == 0 && c.parsed.Puts() }

// Copy returns the block that the cursor is in, verified and not decoded.
func (c *Cursor) Copy() (b Block, err error) {
	r, i := c.reader, c.block
	var keyPart []byte
	err = r.readKeys(i, func(p []byte) error {
		keyPart = p
		return nil
	})
	if err != nil {
		return Block{}, err
	}
	b = Block{First: c.keys.At(0), Last: c.keys.At(c.count - 1)}
	err = r.readValues(i, func(p []byte) (err error) {
		b.Copy, err = block.CheckCopy(keyPart, p)
		return err
	})
	runtime.KeepAlive(c)
	return b, err
}

// ToBlockEnd moves to the last entry of the block that the cursor is in.
func (c *Cursor) ToBlockEnd() { c.at = c.count - 1 }

// AddBlock appends a block of another table as it is. Its entries must be puts that do not expire,
// and its keys must be above all others. If the block is small, or if what was added since the last
// copied block is too little for a block of its own, AddBlock does nothing and reports false. Then
// the caller must add the entries one by one; otherwise repeated compactions would leave many small
// blocks.
func (w *Writer) AddBlock(b Block) (added bool, err error) {
	if w.err != nil {
		return false, w.err
	}
	if w.entries > 0 && bytes.Compare(b.First, w.largest) <= 0 || !b.Keys.Puts() {
		return false, w.fail(fmt.Errorf("add block with the keys %q to %q after %q", b.First, b.Last,
			w.largest))
	}
	small := w.small(b.Keys.Len(), b.Keys.Bytes(), b.ValueBytes)
	if small || w.held.Len() == 0 && w.block.Len() > 0 && w.smallBlock() {
		return false, nil
	}
	if w.held.Len() > 0 && w.smallBlock() {
		w.divide()
	}
	if err := w.endBlocks(); err != nil {
		return false, err
	}
	w.place(b.First)
	w.keys = append(w.keys, b.KeyPart...)
	w.buffer = append(w.buffer, b.Values...)
	w.sums = append(w.sums, sums{sumAtEnd(b.Values), sumAtEnd(b.KeyPart)})
	w.stored(len(b.Values), b.ValueBytes, b.Codec, b.Dictionary)
	if w.options.Filter {
		var key []byte
		for i := range b.Keys.Len() {
			key = b.Keys.Append(key[:0], i)
			w.hashes = append(w.hashes, filter.Hash(key))
		}
	}
	if w.entries == 0 {
		w.smallest = bytes.Clone(b.First)
	}
	w.largest = append(w.largest[:0], b.Last...)
	w.entries += uint64(b.Keys.Len())
	w.rawBytes += uint64(b.Keys.Bytes() + b.ValueBytes)
	return true, w.writeFull()
}

// small reports whether that many entries and bytes are less than half a block.
func (w *Writer) small(entries, keys, values int) bool {
	return 2*entries < block.MaxEntries && 2*keys < w.options.BlockBytes &&
		2*values < w.options.BlockBytes
}

func (w *Writer) smallBlock() bool {
	b := &w.block
	return w.small(b.Len(), b.KeyBytes(), b.ValueBytes())
}

// divide shares the entries of the two blocks evenly between them.
func (w *Writer) divide() {
	var first, second block.Builder
	first.Encode(w.options.Encoding)
	second.Encode(w.options.Encoding)
	bytes := w.held.KeyBytes() + w.held.ValueBytes() + w.block.KeyBytes() + w.block.ValueBytes()
	least := w.held.Len() + w.block.Len() - block.MaxEntries // what the second has no room for
	for _, from := range [...]*block.Builder{&w.held, &w.block} {
		for i := range from.Len() {
			n, to := first.Len(), &second
			full := n == block.MaxEntries || 2*(first.KeyBytes()+first.ValueBytes()) >= bytes
			if second.Len() == 0 && (n < max(least, 1) || !full) {
				to = &first
			}
			to.Add(from.Key(i), from.Entry(i))
		}
	}
	w.held, w.block = first, second
}

package block

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/pattern"
)

// Heads is the first bytes of values that are encoded one by one; a value that is not encoded is
// whole. It is immutable and safe for concurrent use.
type Heads struct {
	Column
	Bytes int // of each value, unless it has fewer
}

// Heads returns the first n bytes of all values, decoded into new memory. d must be their
// dictionary; kinds are those of the block's entries, as for [KindAt].
func (e *Encoded) Heads(d *Dictionary, kinds []byte, n int) (Heads, error) {
	parsed, err := d.get()
	if err != nil {
		return Heads{}, err
	}
	if err := e.checkSize(d, kinds); err != nil {
		return Heads{}, err
	}
	h := Heads{Bytes: n}
	h.ends = make([]uint32, e.lengths.count+1)
	for i := range e.lengths.count {
		length := int(e.lengths.at(i))
		if isEncoded(kinds, i) {
			length = min(n, length)
		}
		h.ends[i+1] = h.ends[i] + uint32(length)
	}
	total := int(h.ends[e.lengths.count])
	h.data = make([]byte, 0, total+pattern.HeadRoom)
	for i := range e.lengths.count {
		value, from, end := e.At(i), len(h.data), int(h.ends[i+1])
		var head []byte
		if !isEncoded(kinds, i) {
			head = append(h.data, value...)
		} else if head, err = parsed.DecodeHead(h.data, value, end-from); err != nil {
			return Heads{}, err
		}
		if n := len(head); n < end || n > end && !isEncoded(kinds, i) {
			return Heads{}, fmt.Errorf("value %d has %d bytes, want %d", i, n-from, end-from)
		}
		h.data = head[:end]
	}
	return h, nil
}

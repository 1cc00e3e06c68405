package block

import "fmt"

// Heads is the first bytes of values of which each is encoded alone; what is not encoded is whole.
// It is immutable and safe for concurrent use.
type Heads struct {
	Column
	Bytes int // so many of each value, if it has as many
}

// Heads returns the first n bytes of all values as they were, in new memory. d must be their
// dictionary; kinds are those of the block's entries, as for [KindAt].
func (e *Encoded) Heads(d *Dictionary, kinds []byte, n int) (Heads, error) {
	if err := e.checkSize(d, kinds); err != nil {
		return Heads{}, err
	}
	h := Heads{Bytes: n}
	h.ends = make([]uint32, e.lengths.count+1)
	h.data = make([]byte, 0, min(e.lengths.count*n, e.lengths.size))
	var value []byte
	for i := range e.lengths.count {
		encoded, length := e.values.At(i), int(e.lengths.at(i))
		var err error
		if isEncoded(kinds, i) {
			if value, err = d.DecodeHead(value[:0], encoded, length, n); err == nil {
				h.data = append(h.data, value[:min(n, length)]...)
			}
		} else if h.data = append(h.data, encoded...); len(encoded) != length {
			err = fmt.Errorf("value %d has %d bytes, want %d", i, len(encoded), length)
		}
		if err != nil {
			return Heads{}, err
		}
		h.ends[i+1] = uint32(len(h.data))
	}
	return h, nil
}

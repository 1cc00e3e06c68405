package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// dictionaryBytes is the length of a dictionary's number, which precedes the lengths of the encoded
// values.
const dictionaryBytes = 8

// decoded returns the values, decoded.
func (b *Builder) decoded() ([]byte, error) {
	values, err := make([]byte, 0, b.ValueBytes()), error(nil)
	for i := range b.Len() {
		e := b.Entry(i)
		if !isEncoded(b.kinds, i) {
			values = append(values, e.Value...)
			continue
		}
		values, err = b.encoding.Encoder.Dictionary.Decode(values, e.Value, int(e.Length))
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// isEncoded reports whether value i of a block of encoded values is encoded. Pointers are not, so
// that they can be followed without a dictionary.
func isEncoded(kinds []byte, i int) bool { return KindAt(kinds, i) == keyspace.KindPut }

// Encoded is values that are encoded one by one. It refers to the bytes it was parsed from, of
// which a read of one value touches no others: where they are in a map, the rest may be out of
// memory. It is immutable and safe for concurrent use.
type Encoded struct {
	Dictionary uint64  // the number of the dictionary
	lengths    lengths // in memory of their own
	Column             // the values, encoded
}

func parseEncoded(r *cutter, l lengths) (e Encoded, err error) {
	number := r.cut(dictionaryBytes, 1)
	if r.short {
		return Encoded{}, errShort
	}
	e.Dictionary, e.lengths = binary.LittleEndian.Uint64(number), l
	if e.Dictionary == 0 {
		return Encoded{}, errors.New("values are encoded with dictionary 0")
	}
	total := uint64(0)
	for i := range l.count {
		total += l.at(i)
	}
	if total != uint64(l.size) {
		return Encoded{}, fmt.Errorf("values of %d bytes in %d", total, l.size)
	}
	e.lengths.p = slices.Clone(l.p)
	encoded, err := parseLengths(r, l.count)
	if err != nil {
		return Encoded{}, err
	}
	if e.Column, err = encoded.column(); err != nil {
		return Encoded{}, err
	}
	if e.data = r.rest; len(r.rest) != encoded.size {
		return Encoded{}, fmt.Errorf("encoded values have %d bytes, want %d", len(r.rest), encoded.size)
	}
	return e, nil
}

// IndexBytes returns the memory that e takes besides the bytes it was parsed from.
func (e *Encoded) IndexBytes() int { return e.Column.IndexBytes() + cap(e.lengths.p) }

// DecodedBytes returns the length of the decoded values.
func (e *Encoded) DecodedBytes() int { return e.lengths.size }

// Length returns the length of value i, decoded.
func (e *Encoded) Length(i int) int { return int(e.lengths.at(i)) }

// Entry completes an entry, whose kind is set, with value i as it is stored. The value aliases what
// e was parsed from.
func (e *Encoded) Entry(i int, entry *keyspace.Entry) {
	entry.Value = e.At(i)
	if entry.Kind == keyspace.KindPut {
		entry.Dictionary, entry.Length = e.Dictionary, uint32(e.lengths.at(i))
	}
}

// Decode returns all values, decoded into new memory. d must be their dictionary; kinds are those
// of the block's entries, as for [KindAt].
func (e *Encoded) Decode(d *Dictionary, kinds []byte) (Column, error) {
	values, err := e.lengths.column()
	if err != nil {
		return Column{}, err
	}
	if err := e.checkSize(d, kinds); err != nil {
		return Column{}, err
	}
	values.data, err = e.decode(make([]byte, 0, e.lengths.size), d, kinds, 0, e.lengths.count)
	return values, err
}

// checkSize returns an error if the values claim to be far longer than they are encoded, and are
// not as long as they claim. It is called before memory is allocated for them.
func (e *Encoded) checkSize(d *Dictionary, kinds []byte) error {
	if !suspicious(e.lengths.size, e.DataBytes()) {
		return nil
	}
	parsed, err := d.get()
	if err != nil {
		return err
	}
	for i := range e.lengths.count {
		value, length := e.At(i), int(e.lengths.at(i))
		if isEncoded(kinds, i) {
			err = checkLength(parsed, value, length)
		} else if len(value) != length {
			err = fmt.Errorf("value %d has %d bytes, want %d", i, len(value), length)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

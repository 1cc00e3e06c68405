package block

import (
	"fmt"
	"sync"

	"github.com/stoatdb/stoat/internal/pattern"
)

// Codec is how the values of a block are stored. The numbers are stored on disk and never reused.
type Codec uint8

const (
	Raw     Codec = 0 // as they are: used in place
	Zstd    Codec = 1 // compressed together, and decoded together
	Pattern Codec = 2 // encoded one by one with a dictionary, and decoded one by one
)

// Codecs is the number of codecs.
const Codecs = 3

// String returns the codec's name.
func (c Codec) String() string {
	switch c {
	case Raw:
		return "raw"
	case Zstd:
		return "zstd"
	case Pattern:
		return "pattern"
	}
	return fmt.Sprintf("codec %d", uint8(c))
}

// Dictionary is a dictionary of package pattern, with the number that blocks refer to. It is parsed
// when it is first needed. Safe for concurrent use.
type Dictionary struct {
	Number uint64 // not 0, once blocks refer to it
	Bucket uint64 // that it was made for
	Fit    uint64 // what a thousand bytes of the bucket's values took then

	data   []byte
	parse  sync.Once
	parsed *pattern.Dictionary
	err    error
}

// NewDictionary returns the dictionary with the given binary form. It keeps data, which must not
// change.
func NewDictionary(number, bucket, fit uint64, data []byte) *Dictionary {
	return &Dictionary{Number: number, Bucket: bucket, Fit: fit, data: data}
}

// Data returns the binary form of d.
func (d *Dictionary) Data() []byte { return d.data }

func (d *Dictionary) get() (*pattern.Dictionary, error) {
	d.parse.Do(func() {
		if d.parsed, d.err = pattern.Parse(d.data); d.err != nil {
			d.err = fmt.Errorf("dictionary %06d: %w", d.Number, d.err)
		}
	})
	return d.parsed, d.err
}

// Decode appends to dst a value of length bytes that was encoded with d. It allocates only if dst
// has too little room. The capacity of dst beyond the value is undefined afterwards.
func (d *Dictionary) Decode(dst, encoded []byte, length int) ([]byte, error) {
	parsed, err := d.get()
	if err != nil {
		return nil, err
	}
	if room := cap(dst) - len(dst); room < length {
		if suspicious(length, len(encoded)) {
			if err := checkLength(parsed, encoded, length); err != nil {
				return nil, err
			}
		}
		dst = append(make([]byte, 0, len(dst)+length+pattern.Spare), dst...)
	}
	end := len(dst) + length
	decoded, err := parsed.Decode(dst[:len(dst):min(cap(dst), end+pattern.Spare)], encoded)
	if err == nil && len(decoded) != end {
		err = fmt.Errorf("encoded value has %d bytes, want %d", len(decoded)-len(dst), length)
	}
	if err != nil {
		return nil, err
	}
	return dst[:end], nil
}

// suspicious reports whether values claim to be so much longer than they are encoded that this has
// to be checked before memory is allocated for them.
func suspicious(length, encoded int) bool { return length/64 > encoded }

func checkLength(parsed *pattern.Dictionary, encoded []byte, length int) error {
	n, err := parsed.DecodedLen(encoded)
	if err == nil && n != length {
		err = fmt.Errorf("encoded value has %d bytes, want %d", n, length)
	}
	return err
}

// Encoder encodes values with one dictionary. Not safe for concurrent use.
type Encoder struct {
	*pattern.Encoder
	Dictionary *Dictionary
}

// append appends the encoded value. It recognises a value that looks random at once, and stores it
// as [pattern.Encoder] would in the end: as it is, and a zero.
func (e *Encoder) append(dst, value []byte) []byte {
	if len(value) >= sampleBytes && LooksRandom(value) {
		return append(append(dst, value...), 0)
	}
	return e.Append(dst, value)
}

// NewEncoder returns an encoder for d. It takes up to half a megabyte, so blocks should share one.
func (d *Dictionary) NewEncoder() (*Encoder, error) {
	parsed, err := d.get()
	if err != nil {
		return nil, err
	}
	return &Encoder{parsed.NewEncoder(), d}, nil
}

// Encoding says how a builder stores values: as they are; with an Encoder, by the codec Pattern; or
// with a Compressor, by Zstd; by either only where it saves enough.
type Encoding struct {
	Encoder    *Encoder
	Compressor *Compressor
}

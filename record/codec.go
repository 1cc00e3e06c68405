package record

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"reflect"
)

// Codec is how records are encoded.
type Codec uint8

const (
	// CodecBinary stores the values of fields without their names, so that single fields can be
	// read. Fields may come, go, and get wider types.
	CodecBinary Codec = iota
	// CodecJSON stores records as [encoding/json] has them, for other programs to read. It alone
	// decides what is stored of a record and what has become of a changed type. Fields may have any
	// type that it can hold; those that are none of [CodecBinary] cannot be indexed or compared.
	CodecJSON
	// CodecGob does the same with [encoding/gob], which wants to know what interfaces hold: see
	// [gob.Register].
	CodecGob
)

// String returns the codec's name, which is on disk.
func (c Codec) String() string {
	switch c {
	case CodecBinary:
		return "binary"
	case CodecJSON:
		return "json"
	case CodecGob:
		return "gob"
	}
	return fmt.Sprintf("codec %d", uint8(c))
}

// encodeWhole appends what a codec without fields makes of a record.
func encodeWhole[T any](c Codec, dst []byte, r *T) ([]byte, error) {
	if c == CodecJSON {
		p, err := json.Marshal(r)
		return append(dst, p...), err
	}
	b := bytes.NewBuffer(dst)
	err := gob.NewEncoder(b).Encode(r)
	return b.Bytes(), err
}

// decodeWhole makes *r of what encodeWhole has made.
func decodeWhole[T any](c Codec, p []byte, r *T) error {
	reflect.ValueOf(r).Elem().SetZero()
	if c == CodecJSON {
		return json.Unmarshal(p, r)
	}
	return gob.NewDecoder(bytes.NewReader(p)).Decode(r)
}

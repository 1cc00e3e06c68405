package record

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"reflect"
)

// Codec chooses how records are encoded.
type Codec uint8

const (
	// CodecBinary stores the values of fields without their names, so single fields can be read
	// without decoding the rest. Fields may be added, removed, and given wider types.
	CodecBinary Codec = iota
	// CodecJSON stores records as [encoding/json] encodes them, readable for other programs. That
	// package alone decides what is stored of a record and how a changed type is decoded. Fields
	// may have any type that JSON supports, but those that [CodecBinary] does not support cannot be
	// indexed or compared.
	CodecJSON
	// CodecGob is like CodecJSON, with [encoding/gob]. Types stored in interfaces must be
	// registered with [gob.Register].
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

// encode appends a record encoded by a codec other than CodecBinary.
func (c Codec) encode(dst []byte, r reflect.Value) ([]byte, error) {
	record := r.Addr().Interface()
	if c == CodecJSON {
		p, err := json.Marshal(record)
		return append(dst, p...), err
	}
	b := bytes.NewBuffer(dst)
	err := gob.NewEncoder(b).Encode(record)
	return b.Bytes(), err
}

// decode decodes what encode encoded.
func (c Codec) decode(p []byte, r reflect.Value) error {
	r.SetZero()
	record := r.Addr().Interface()
	if c == CodecJSON {
		return json.Unmarshal(p, record)
	}
	return gob.NewDecoder(bytes.NewReader(p)).Decode(record)
}

package strategies

import (
	"encoding/binary"
	"errors"
)

// errEncoding is the error for bytes that do not encode a record.
var errEncoding = errors.New("the bytes do not encode a record")

// fieldsInOrder is the codec that concatenates the fields: fixed-width fields as they are, the
// others after their length. It finds a field without decoding those before it.
type fieldsInOrder struct {
	schema  *Schema
	named   bool // each field follows its name, which follows the name's length
	scratch Record
	largest int // longest value so far
}

func newBinary(s *Schema) codec { return &fieldsInOrder{schema: s, scratch: s.newRecord()} }

func newNamed(s *Schema) codec {
	return &fieldsInOrder{schema: s, named: true, scratch: s.newRecord()}
}

func (c *fieldsInOrder) encode(r Record) ([]byte, error) {
	value := make([]byte, 0, c.largest)
	for i := range r.fields {
		value = c.append(value, i, r)
	}
	c.largest = max(c.largest, len(value))
	return value, nil
}

// append appends one field, with its name if named.
func (c *fieldsInOrder) append(dst []byte, i int, r Record) []byte {
	if c.named {
		dst = binary.AppendUvarint(dst, uint64(len(c.schema.names[i])))
		dst = append(dst, c.schema.names[i]...)
	}
	if c.schema.widths[i] == 0 {
		dst = binary.AppendUvarint(dst, uint64(textSize(r.fields[i])))
	}
	return appendField(dst, r.fields[i])
}

func (c *fieldsInOrder) decode(value []byte, into Record) (err error) {
	var encoded []byte
	for i, f := range into.fields {
		if encoded, value, err = c.cut(value, i); err != nil {
			return err
		}
		setField(f, encoded)
	}
	if len(value) > 0 {
		return errEncoding
	}
	return nil
}

func (c *fieldsInOrder) number(value []byte, field int) (float64, error) {
	encoded, _, err := c.seek(value, field)
	if err != nil {
		return 0, err
	}
	if c.schema.widths[field] == 0 {
		return float64(len(encoded)), nil
	}
	f := c.scratch.fields[field]
	setField(f, encoded)
	return number(f), nil
}

func (c *fieldsInOrder) reach(value []byte, field int) (int, error) {
	_, rest, err := c.seek(value, field)
	return len(value) - len(rest), err
}

func (c *fieldsInOrder) replace(value []byte, field int, from Record) ([]byte, error) {
	_, rest, err := c.seek(value, field)
	if err != nil {
		return nil, err
	}
	_, before, err := c.seek(value, field-1)
	if err != nil {
		return nil, err
	}
	replaced := make([]byte, 0, c.largest)
	replaced = append(replaced, value[:len(value)-len(before)]...)
	replaced = c.append(replaced, field, from)
	replaced = append(replaced, rest...)
	c.largest = max(c.largest, len(replaced))
	return replaced, nil
}

// seek returns the encoded field and what follows it. A field before the first one is empty.
func (c *fieldsInOrder) seek(value []byte, field int) (encoded, rest []byte, err error) {
	rest = value
	for i := 0; i <= field; i++ {
		if encoded, rest, err = c.cut(rest, i); err != nil {
			return nil, nil, err
		}
	}
	return encoded, rest, nil
}

// cut returns the encoded field at the start of src, and what follows it.
func (c *fieldsInOrder) cut(src []byte, i int) (encoded, rest []byte, err error) {
	if c.named {
		if encoded, src, err = cutText(src); err != nil {
			return nil, nil, err
		}
		if string(encoded) != c.schema.names[i] {
			return nil, nil, errEncoding
		}
	}
	width := c.schema.widths[i]
	if width == 0 {
		return cutText(src)
	}
	if len(src) < width {
		return nil, nil, errEncoding
	}
	return src[:width], src[width:], nil
}

// cutText returns the length-prefixed bytes at the start of src, and what follows them.
func cutText(src []byte) (text, rest []byte, err error) {
	size, n := binary.Uvarint(src)
	if n <= 0 || size > uint64(len(src)-n) {
		return nil, nil, errEncoding
	}
	src = src[n:]
	return src[:size], src[size:], nil
}

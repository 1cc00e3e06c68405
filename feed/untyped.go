package feed

import (
	"fmt"
	"sync"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// untyped reads the fields of structs of one schema. It is immutable.
type untyped struct {
	names []string
	read  []*layout.Field
}

func newUntyped(schema *layout.Schema) (*untyped, error) {
	l, err := layout.FromSchema(schema.Fields, func(string) []string { return nil })
	if err != nil {
		return nil, err
	}
	d, err := layout.NewDecoder(schema, l)
	if err != nil {
		return nil, err
	}
	u := new(untyped)
	for _, f := range schema.Fields {
		read, err := d.Field(f.Name)
		if err != nil {
			return nil, err
		}
		u.names, u.read = append(u.names, f.Name), append(u.read, read)
	}
	return u, nil
}

// untypedCodec decodes values of any feed. It is safe for concurrent use.
type untypedCodec struct {
	format string

	mu      sync.Mutex
	schemas map[uint64]*untyped // by number, those used so far
}

// newUntypedCodec returns the codec for a stored format.
func newUntypedCodec(format string) (*untypedCodec, error) {
	switch format {
	case bytesFormat, jsonFormat, structFormat:
		return &untypedCodec{format: format, schemas: map[uint64]*untyped{}}, nil
	}
	return nil, fmt.Errorf("entries are stored as %q, which this program does not know: update it: %w",
		format, stoat.ErrFormat)
}

func (c *untypedCodec) name() string { return c.format }

func (c *untypedCodec) prepare(*stoat.Tx, *stoat.Bucket) error { return nil }

func (c *untypedCodec) append([]byte, *StoredValue) ([]byte, error) {
	return nil, fmt.Errorf("append to a feed with its Go type: %w", stoat.ErrReadOnly)
}

// decode does not fail if the schema is missing or damaged: then the value is there as bytes.
func (c *untypedCodec) decode(s *session, p []byte, into *StoredValue) error {
	*into = StoredValue{data: p}
	if c.format == structFormat {
		into.fields, into.err = c.fieldsOf(s, p)
	}
	return nil
}

func (c *untypedCodec) needs() int { return 0 }

// fieldsOf returns what reads the fields of an encoded struct.
func (c *untypedCodec) fieldsOf(s *session, p []byte) (*untyped, error) {
	number, err := layout.Number(p)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.schemas[number]; known != nil {
		return known, nil
	}
	schema, err := s.schema(number)
	if err != nil {
		return nil, err
	}
	u, err := newUntyped(schema)
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", number, err)
	}
	c.schemas[number] = u
	return u, nil
}

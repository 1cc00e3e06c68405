package feed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// schemaKey returns the key of the schema with the given number.
func schemaKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

// parseSchema parses the schema that is stored under a key. It refuses one with another number,
// because whoever needs the schema of an entry looks for the number.
func parseSchema(key, p []byte) (*layout.Schema, error) {
	schema, err := layout.ParseSchema(p)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(key, schemaKey(schema.Number)) {
		return nil, damaged("the schema under key %x has the number %d", key, schema.Number)
	}
	return schema, nil
}

// schema returns the stored schema with the given number.
func (s *session) schema(number uint64) (*layout.Schema, error) {
	schemas, err := s.schemas()
	if err != nil {
		return nil, err
	}
	key := schemaKey(number)
	p, err := schemas.Get(key)
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, damaged("schema %d is missing", number)
	}
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", number, err)
	}
	schema, err := parseSchema(key, p)
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", number, err)
	}
	return schema, nil
}

// newestSchema returns the schema that was stored last, or nil if there is none.
func (s *session) newestSchema() (*layout.Schema, error) {
	schemas, err := s.schemas()
	if err != nil {
		return nil, err
	}
	before := s.tx.Err()
	for key, p := range schemas.Scan(stoat.Range{Reverse: true, Limit: 1}) {
		return parseSchema(key, p)
	}
	if before != nil { // the error belongs to another loop
		return nil, nil
	}
	return nil, s.tx.Err()
}

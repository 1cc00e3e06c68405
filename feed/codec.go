package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// errUnprepared reports that a writable transaction must first store something, such as a schema.
var errUnprepared = errors.New("the feed must be prepared in a writable transaction")

// The formats of values: an encoding and its version. They are on disk.
const (
	bytesFormat  = "bytes 1"
	jsonFormat   = "json 1"
	structFormat = "struct 1"
)

// codec encodes and decodes values. It is safe for concurrent use.
type codec[T any] interface {
	// name identifies the format; the feed stores it.
	name() string
	// prepare stores what values need, such as their schema, in the given bucket. If something is
	// missing and tx is not writable, it returns errUnprepared.
	prepare(tx *stoat.Tx, schemas *stoat.Bucket) error
	append(dst []byte, v *T) ([]byte, error)
	// decode decodes p into *into; a []byte refers to p afterwards.
	decode(s *session, p []byte, into *T) error
	// needs returns how many schemas the feed must have, up to the one that append uses, or 0 if
	// there is none.
	needs() int
}

// newCodec returns the codec for T.
func newCodec[T any](e Encoding) (codec[T], error) {
	t := reflect.TypeFor[T]()
	switch {
	case e == EncodingJSON:
		return jsonCodec[T]{}, nil
	case e != EncodingAuto:
		return nil, fmt.Errorf("unknown encoding %d: use EncodingAuto or EncodingJSON", e)
	case t == reflect.TypeFor[[]byte]():
		return rawCodec[T]{}, nil
	case t.Kind() != reflect.Struct:
		return nil, fmt.Errorf("values have type %s: use a struct or []byte, or EncodingJSON", t)
	}
	l, err := layout.Of(t)
	if err != nil {
		return nil, err
	}
	c := &structCodec[T]{layout: l}
	c.decoders.Store(&decoderMap{})
	return c, nil
}

// rawCodec stores a []byte unchanged.
type rawCodec[T any] struct{}

func (rawCodec[T]) name() string { return bytesFormat }

func (rawCodec[T]) prepare(*stoat.Tx, *stoat.Bucket) error { return nil }

func (rawCodec[T]) append(dst []byte, v *T) ([]byte, error) {
	if p, ok := any(v).(*[]byte); ok {
		dst = append(dst, *p...)
	}
	return dst, nil
}

func (rawCodec[T]) decode(_ *session, p []byte, into *T) error {
	if to, ok := any(into).(*[]byte); ok {
		*to = p
	}
	return nil
}

func (rawCodec[T]) needs() int { return 0 }

// jsonCodec stores values as JSON.
type jsonCodec[T any] struct{}

func (jsonCodec[T]) name() string { return jsonFormat }

func (jsonCodec[T]) prepare(*stoat.Tx, *stoat.Bucket) error { return nil }

func (jsonCodec[T]) append(dst []byte, v *T) ([]byte, error) {
	p, err := json.Marshal(v)
	return append(dst, p...), err
}

func (jsonCodec[T]) decode(_ *session, p []byte, into *T) error {
	return json.Unmarshal(p, into)
}

func (jsonCodec[T]) needs() int { return 0 }

// structCodec stores structs, and their schemas separately.
type structCodec[T any] struct {
	layout *layout.Layout // numbered by prepare, then immutable
	needed int            // how many schemas there are up to its own; the numbers may have gaps

	learning sync.Mutex
	decoders atomic.Pointer[decoderMap]
}

// decoderMap is the decoders by schema number. It is immutable.
type decoderMap map[uint64]*layout.Decoder

func (c *structCodec[T]) name() string { return structFormat }

func (c *structCodec[T]) prepare(tx *stoat.Tx, schemas *stoat.Bucket) error {
	schema := c.layout.Schema()
	schema.Number = 0
	needs := 1
	for key, p := range schemas.Scan(stoat.Range{}) {
		old, err := parseSchema(key, p)
		if err == nil {
			_, err = c.learn(old)
		}
		if err != nil {
			return fmt.Errorf("entries of schema %x cannot be decoded into type %s: %w", key,
				c.layout.Type(), err)
		}
		if old.Equal(schema) {
			c.layout, c.needed = c.layout.Numbered(old.Number), needs
			return tx.Err()
		}
		schema.Number = old.Number
		needs++
	}
	if err := tx.Err(); err != nil {
		return err
	}
	if !tx.Writable() {
		return errUnprepared
	}
	schema.Number++
	c.layout, c.needed = c.layout.Numbered(schema.Number), needs
	if _, err := c.learn(schema); err != nil {
		return err
	}
	return schemas.Put(schemaKey(schema.Number), schema.Append(nil))
}

func (c *structCodec[T]) needs() int { return c.needed }

// learn compiles a decoder for a schema.
func (c *structCodec[T]) learn(schema *layout.Schema) (*layout.Decoder, error) {
	decoder, err := layout.NewDecoder(schema, c.layout)
	if err != nil {
		return nil, err
	}
	c.learning.Lock()
	defer c.learning.Unlock()
	decoders := maps.Clone(*c.decoders.Load())
	decoders[schema.Number] = decoder
	c.decoders.Store(&decoders)
	return decoder, nil
}

func (c *structCodec[T]) append(dst []byte, v *T) ([]byte, error) {
	return layout.Append(c.layout, dst, v)
}

func (c *structCodec[T]) decode(s *session, p []byte, into *T) error {
	number, err := layout.Number(p)
	if err != nil {
		return err
	}
	decoder := (*c.decoders.Load())[number]
	if decoder == nil { // stored by a program that has opened the feed since
		if decoder, err = c.fetch(s, number); err != nil {
			return err
		}
	}
	return layout.Decode(decoder, p, into)
}

// fetch compiles a decoder for the stored schema with the given number.
func (c *structCodec[T]) fetch(s *session, number uint64) (*layout.Decoder, error) {
	schema, err := s.schema(number)
	if err != nil {
		return nil, err
	}
	decoder, err := c.learn(schema)
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", number, err)
	}
	return decoder, nil
}

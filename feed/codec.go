package feed

import (
	"encoding/binary"
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

// errUnprepared says that something must be stored before values can be.
var errUnprepared = errors.New("the feed must be prepared in a writable transaction")

// codec turns values into bytes and back. It is safe for concurrent use.
type codec[T any] interface {
	// name is what the feed stores as its format.
	name() string
	// prepare makes what must be stored before values are, in the bucket of schemas. If tx is not
	// writable and something is missing, it returns errUnprepared.
	prepare(tx *stoat.Tx, schemas *stoat.Bucket) error
	append(dst []byte, v *T) ([]byte, error)
	// decode makes *into from p, of which a []byte is a part then.
	decode(s *session, p []byte, into *T) error
	// schema returns the number of the schema that append uses, or 0.
	schema() int
}

// newCodec returns the codec for T.
func newCodec[T any](e Encoding) (codec[T], error) {
	t := reflect.TypeFor[T]()
	switch {
	case e == EncodingJSON:
		return jsonCodec[T]{}, nil
	case e != EncodingAuto:
		return nil, fmt.Errorf("encoding %d is unknown", e)
	case t == reflect.TypeFor[[]byte]():
		return rawCodec[T]{}, nil
	case t.Kind() != reflect.Struct:
		return nil, fmt.Errorf("values of type %s: use a struct or []byte, or EncodingJSON", t)
	}
	l, err := layout.Of(t)
	if err != nil {
		return nil, err
	}
	c := &structCodec[T]{layout: l}
	c.plans.Store(&planMap{})
	return c, nil
}

// rawCodec stores a []byte as it is.
type rawCodec[T any] struct{}

func (rawCodec[T]) name() string { return "bytes 1" }

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

func (rawCodec[T]) schema() int { return 0 }

// jsonCodec stores JSON.
type jsonCodec[T any] struct{}

func (jsonCodec[T]) name() string { return "json 1" }

func (jsonCodec[T]) prepare(*stoat.Tx, *stoat.Bucket) error { return nil }

func (jsonCodec[T]) append(dst []byte, v *T) ([]byte, error) {
	p, err := json.Marshal(v)
	return append(dst, p...), err
}

func (jsonCodec[T]) decode(_ *session, p []byte, into *T) error {
	return json.Unmarshal(p, into)
}

func (jsonCodec[T]) schema() int { return 0 }

// structCodec stores structs, and apart from them what fields they have.
type structCodec[T any] struct {
	layout *layout.Layout // numbered by prepare, immutable afterwards
	number int            // of its schema

	learning sync.Mutex
	plans    atomic.Pointer[planMap]
}

// planMap is the plans by the numbers of their schemas. It is immutable.
type planMap map[uint64]*layout.Plan

func (c *structCodec[T]) name() string { return "struct 1" }

func (c *structCodec[T]) prepare(tx *stoat.Tx, schemas *stoat.Bucket) error {
	schema := c.layout.Schema()
	schema.Number = 0
	for key, p := range schemas.Scan(stoat.Range{}) {
		old, err := c.learn(p)
		if err != nil {
			return fmt.Errorf("entries of schema %x cannot be of type %s: %w", key,
				c.layout.Type(), err)
		}
		if old.Equal(schema) {
			c.layout, c.number = c.layout.Numbered(old.Number), int(old.Number)
			return tx.Err()
		}
		schema.Number = old.Number
	}
	if err := tx.Err(); err != nil {
		return err
	}
	if !tx.Writable() {
		return errUnprepared
	}
	schema.Number++
	c.layout, c.number = c.layout.Numbered(schema.Number), int(schema.Number)
	if _, err := c.learn(schema.Append(nil)); err != nil {
		return err
	}
	return schemas.Put(schemaKey(schema.Number), schema.Append(nil))
}

func (c *structCodec[T]) schema() int { return c.number }

// learn plans how to decode values of a stored schema.
func (c *structCodec[T]) learn(p []byte) (*layout.Schema, error) {
	schema, err := layout.ParseSchema(p)
	if err != nil {
		return nil, err
	}
	plan, err := layout.NewPlan(schema, c.layout)
	if err != nil {
		return nil, err
	}
	c.learning.Lock()
	defer c.learning.Unlock()
	plans := maps.Clone(*c.plans.Load())
	plans[schema.Number] = plan
	c.plans.Store(&plans)
	return schema, nil
}

func (c *structCodec[T]) append(dst []byte, v *T) ([]byte, error) {
	return layout.Append(c.layout, dst, v)
}

func (c *structCodec[T]) decode(s *session, p []byte, into *T) error {
	number, err := layout.Number(p)
	if err != nil {
		return err
	}
	plan := (*c.plans.Load())[number]
	if plan == nil { // of a program that has opened the feed since
		if plan, err = c.fetch(s, number); err != nil {
			return err
		}
	}
	return layout.Decode(plan, p, into)
}

// fetch plans how to decode values of the stored schema with the number.
func (c *structCodec[T]) fetch(s *session, number uint64) (*layout.Plan, error) {
	schemas, err := s.schemas()
	if err != nil {
		return nil, err
	}
	p, err := schemas.Get(schemaKey(number))
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, damaged("there is no schema %d", number)
	}
	if err == nil {
		_, err = c.learn(p)
	}
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", number, err)
	}
	return (*c.plans.Load())[number], nil
}

// schemaKey returns the key of the schema with the number.
func schemaKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

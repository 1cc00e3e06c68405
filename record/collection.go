package record

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/internal/tap"
	"github.com/stoatdb/stoat/tuple"
)

// Collection is a named set of records of one type, ordered by key, with indexes. All methods work
// in the caller's transaction. It is safe for concurrent use; transactions are not.
type Collection[T any] struct{ core *collection }

// collection is a [Collection] that knows the type of its records by its shape only: its code is
// compiled once, not again for each type. It takes and returns a record as the addressable
// [reflect.Value] of a struct of the shape's type.
type collection struct {
	name     string
	shape    *shape
	codec    Codec
	keyOf    keyFunc            // nil: the key is the key fields
	edition  uint64             // of the definition; another one makes this outdated
	current  *schema            // of new records; nil if the codec has no schemas
	head     byte               // first byte of current records; 0 if the number takes more
	schemas  map[uint64]*schema // by number
	layout   *layout.Layout     // encodes records of the current schema
	refs     bucketRefs
	tap      *tap.Tap // of a layer above; or nil
	unmarked bool     // checked after a salvage, but could not record that
	untyped  bool     // read without the Go type: what callers get as records are rows
}

// keyFunc returns the primary key of a record.
type keyFunc func(record reflect.Value) tuple.Tuple

// newRecord returns a zero record.
func (c *collection) newRecord() reflect.Value { return reflect.New(c.shape.typ).Elem() }

// valueOf returns *r as the core of a collection takes it; it is invalid if r is nil.
func valueOf[T any](r *T) reflect.Value { return reflect.ValueOf(r).Elem() }

// pointerTo returns a pointer to a record of the core, which must have the type T.
func pointerTo[T any](r reflect.Value) *T {
	p, _ := r.Addr().Interface().(*T)
	return p
}

// schema is a stored schema, compiled for reading its records into the type. It is immutable.
type schema struct {
	number  uint64
	decoder *layout.Decoder
	fields  []*layout.Field // by the number of the column
}

// newSchema compiles a stored schema.
func newSchema(stored *layout.Schema, s *shape) (*schema, error) {
	decoder, err := layout.NewDecoder(stored, s.layout)
	if err != nil {
		return nil, err
	}
	v := &schema{number: stored.Number, decoder: decoder}
	for i := range s.columns {
		f, err := decoder.Field(s.columns[i].name)
		if err != nil {
			return nil, err
		}
		v.fields = append(v.fields, f)
	}
	return v, nil
}

// Open opens the collection with the given name, which is also that of its bucket in the root
// bucket, and creates it if it does not exist. A nil opts means the defaults. If the type or the
// options have changed since the collection was last opened, Open updates what is stored in one
// transaction: it adds a schema, removes obsolete indexes, builds new ones, and calls a function of
// [Options.Migrate] for every record. If the change would lose data, Open changes nothing, and the
// error says what to do. In an empty collection everything except [Options.Version] may change.
//
// A collection opened before such a change returns [ErrOutdated] from then on: reopen it.
//
// If the database was made by a [stoat.Salvage] that lost data, Open reads the whole collection
// once, and returns [ErrInconsistent] if its parts disagree: open it with [Reindex] then.
//
// Open must not be called inside a writable transaction; use [OpenTx] there.
func Open[T any](db *stoat.DB, name string, opts *Options[T]) (*Collection[T], error) {
	c, err := open(db, name, opts.settings())
	if err != nil {
		return nil, err
	}
	return &Collection[T]{c}, nil
}

func open(db *stoat.DB, name string, want *settings) (*collection, error) {
	var c *collection
	open := func(tx *stoat.Tx) (err error) {
		c, err = openTx(tx, name, want)
		return err
	}
	err := db.View(open)
	if errors.Is(err, stoat.ErrReadOnly) {
		err = db.Update(open)
	}
	if err == nil && c.unmarked {
		if err = db.Update(c.markChecked); errors.Is(err, stoat.ErrReadOnly) {
			err = nil // every Open checks it
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// markChecked records that the collection was checked after a salvage.
func (c *collection) markChecked(tx *stoat.Tx) error {
	s, err := c.session(tx)
	if err != nil {
		return err
	}
	return markChecked(tx, s.meta)
}

// OpenTx is [Open] in a transaction. In a read-only one, the error is [stoat.ErrReadOnly] if the
// collection must be created or changed. If the transaction is rolled back after such a change, the
// collection must not be used; if OpenTx fails halfway through a change, the commit fails with its
// error.
func OpenTx[T any](tx *stoat.Tx, name string, opts *Options[T]) (*Collection[T], error) {
	c, err := openTx(tx, name, opts.settings())
	if err != nil {
		return nil, err
	}
	return &Collection[T]{c}, nil
}

func openTx(tx *stoat.Tx, name string, want *settings) (*collection, error) {
	c, err := openUnchecked(tx, name, want)
	if err == nil {
		err = c.checkSalvaged(tx)
	}
	if err != nil {
		return nil, fmt.Errorf("open collection %q: %w", name, err)
	}
	return c, nil
}

// openUnchecked opens a collection that may be inconsistent.
func openUnchecked(tx *stoat.Tx, name string, want *settings) (*collection, error) {
	if want.codec > CodecGob {
		return nil, fmt.Errorf("unknown %s: use CodecBinary, CodecJSON or CodecGob", want.codec)
	}
	shape, err := want.shape()
	if err != nil {
		return nil, err
	}
	c := &collection{name: name, shape: shape, codec: want.codec, keyOf: want.keyOf,
		schemas: map[uint64]*schema{}, layout: shape.layout, tap: tap.Of(tx, name)}
	if c.tap != nil {
		c.tap.Store = c.storeEncoded
	}
	stored, err := loadDefinition(tx, name)
	if err != nil {
		return nil, explainLoss(tx, err)
	}
	wanted := define(shape, want.codec, want.version)
	err = c.upgrade(tx, stored, wanted, want.migrate)
	if errors.Is(err, stoat.ErrCorrupt) {
		err = explainLoss(tx, err)
	}
	if err != nil {
		return nil, err
	}
	if err := c.catchUpKey(tx); err != nil {
		return nil, err
	}
	return c, c.checkKeys(tx)
}

// checkKeys returns an error if Options.Key returns another key for the first or the last record
// than the stored one.
func (c *collection) checkKeys(tx *stoat.Tx) error {
	if c.keyOf == nil {
		return nil
	}
	s, err := c.session(tx)
	if err != nil {
		return err
	}
	for _, last := range []bool{false, true} {
		for key, value := range s.data.Scan(stoat.Range{Reverse: last, Limit: 1}) {
			if err := c.checkKey(key, value); err != nil {
				return err
			}
		}
	}
	return tx.Err()
}

// checkKey returns an error if Options.Key returns another key for a stored record.
func (c *collection) checkKey(key, value []byte) error {
	r := c.newRecord()
	if c.decode(value, r) != nil {
		return nil // reading the record reports the error
	}
	own, err := c.appendKeyOf(nil, r)
	if err == nil && !bytes.Equal(own, key) {
		err = fmt.Errorf("Options.Key returns the key %s for the record with the key %s: keep the "+
			"key, or copy the records into a new collection", formatKey(own), formatKey(key))
	}
	return err
}

// Name returns the collection's name.
func (c *Collection[T]) Name() string { return c.core.name }

// wrap adds the collection's name to err; nil stays nil.
func (c *collection) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("collection %q: %w", c.name, err)
}

// wrapKey adds the collection's name and the record's key to err; nil stays nil. It formats a copy
// of the key, so that keys can be on the stack.
func (c *collection) wrapKey(key []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("collection %q, key %s: %w", c.name, formatKey(bytes.Clone(key)), err)
}

// appendKeyOf appends the encoded key of a record.
func (c *collection) appendKeyOf(dst []byte, r reflect.Value) ([]byte, error) {
	if c.keyOf != nil {
		key := c.keyOf(r)
		if len(key) == 0 {
			return dst, errors.New("Options.Key returned no key: return at least one element")
		}
		return tuple.Append(dst, key...)
	}
	for _, col := range c.shape.key {
		dst = col.appendValue(dst, col.value(r))
	}
	return dst, nil
}

// arity says how many values a caller must pass for a list of columns.
type arity uint8

const (
	allValues     arity = iota
	leadingValues       // for the first columns only
)

// appendKey appends the encoded form of a key that the caller passed.
func (c *collection) appendKey(dst []byte, key Key, n arity) ([]byte, error) {
	values, ok := key.(tuple.Tuple)
	if !ok {
		values = tuple.Tuple{key}
	}
	if len(c.shape.key) == 0 { // a function returns the key
		return tuple.Append(dst, values...)
	}
	return appendArguments(dst, c.shape.key, values, n)
}

// appendArguments appends the encoded form of values for the columns.
func appendArguments(
	dst []byte, columns []*column, values tuple.Tuple, n arity,
) ([]byte, error) {
	if len(values) > len(columns) || len(values) < len(columns) && n == allValues {
		return dst, fmt.Errorf("%d values were passed for the fields %s", len(values), names(columns))
	}
	var err error
	for i, v := range values {
		if dst, err = columns[i].appendArgument(dst, v); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// names returns the names of columns as text for messages.
func names(columns []*column) string {
	var b bytes.Buffer
	for i, c := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.name)
	}
	return b.String()
}

// encode appends the encoded form of a record.
func (c *collection) encode(dst []byte, r reflect.Value) ([]byte, error) {
	if c.codec == CodecBinary {
		return layout.AppendValue(c.layout, dst, r)
	}
	return c.codec.encode(dst, r)
}

// decode decodes a stored record into r.
func (c *collection) decode(value []byte, r reflect.Value) error {
	if c.codec != CodecBinary {
		return c.codec.decode(value, r)
	}
	v, err := c.schemaOf(value)
	if err != nil {
		return err
	}
	return layout.DecodeValue(v.decoder, value, r)
}

// schemaOf returns the schema of a record stored with the binary codec.
func (c *collection) schemaOf(value []byte) (*schema, error) {
	if len(value) > 0 && value[0] == c.head && c.head != 0 {
		return c.current, nil
	}
	number, err := layout.Number(value)
	if err != nil {
		return nil, err
	}
	if number == c.current.number {
		return c.current, nil
	}
	if v := c.schemas[number]; v != nil {
		return v, nil
	}
	return nil, unknownSchema(number)
}

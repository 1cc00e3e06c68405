package record

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/tuple"
)

// Collection is the records of a type under a name, in the order of their keys, with indexes. All
// of its methods work in the caller's transaction. It is safe for concurrent use, as transactions
// are not.
type Collection[T any] struct {
	name     string
	shape    *shape
	codec    Codec
	keyOf    func(*T) tuple.Tuple // nil: the fields of the shape
	edition  uint64               // of the definition; another one means that this is out of date
	current  *version
	head     byte                // what current records begin with; 0 if it takes more bytes
	versions map[uint64]*version // by the number of the schema
	layout   *layout.Layout      // with the number of the schema
	seen     seen
	unkept   bool // it was checked after a salvage, in a transaction that could not keep that
}

// version is how records of one stored schema are read. It is immutable.
type version struct {
	number uint64
	plan   *layout.Plan
	fields []*layout.Field // by the number of the column
}

// newVersion compiles how records of the schema are read.
func newVersion(stored *layout.Schema, s *shape) (*version, error) {
	plan, err := layout.NewPlan(stored, s.layout)
	if err != nil {
		return nil, err
	}
	v := &version{number: stored.Number, plan: plan}
	for i := range s.columns {
		f, err := plan.Field(s.columns[i].name)
		if err != nil {
			return nil, err
		}
		v.fields = append(v.fields, f)
	}
	return v, nil
}

// Open opens the collection with the name, which is that of a bucket in the root bucket, and makes
// it if need be; nil options are the defaults. If the type or the options have changed since it was
// last opened, Open brings what is stored up to date, in one transaction: it adds a schema, removes
// indexes, builds new ones, and calls a function of [Options.Migrate] for every record. If the
// change would lose something, nothing is changed, and the error says what to do. Without records,
// nothing can be lost, and all but [Options.Version] may change.
//
// A collection that was opened before such a change returns [ErrOutdated] from then on: open it
// anew.
//
// If the database was made by [stoat.Salvage] of one that had lost something, Open reads the whole
// collection, once, and the error is [ErrInconsistent] if it does not agree with itself: [Reindex]
// opens it then.
//
// Open must not be called in a transaction that can write, for which there is [OpenTx].
func Open[T any](db *stoat.DB, name string, opts *Options[T]) (*Collection[T], error) {
	var c *Collection[T]
	open := func(tx *stoat.Tx) (err error) {
		c, err = OpenTx(tx, name, opts)
		return err
	}
	err := db.View(open)
	if errors.Is(err, stoat.ErrReadOnly) {
		err = db.Update(open)
	}
	if err == nil && c.unkept {
		if err = db.Update(c.keepChecked); errors.Is(err, stoat.ErrReadOnly) {
			err = nil // it is checked each time
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// keepChecked keeps that the collection was checked after a salvage, if the database can be
// written.
func (c *Collection[T]) keepChecked(tx *stoat.Tx) error {
	s, err := c.session(tx)
	if err != nil {
		return err
	}
	return keepChecked(tx, s.meta)
}

// OpenTx is [Open] in a transaction. In a read-only one the error is [stoat.ErrReadOnly] if there
// is something to make or to change. If the transaction is rolled back after a change, the
// collection is of no use; and if OpenTx fails in the middle of one, the commit returns its error.
func OpenTx[T any](tx *stoat.Tx, name string, opts *Options[T]) (*Collection[T], error) {
	if opts == nil {
		opts = &Options[T]{}
	}
	c, err := openUnchecked(tx, name, opts)
	if err == nil {
		err = c.checkSalvaged(tx)
	}
	if err != nil {
		return nil, fmt.Errorf("open collection %q: %w", name, err)
	}
	return c, nil
}

// openUnchecked opens a collection that may not agree with itself.
func openUnchecked[T any](tx *stoat.Tx, name string, opts *Options[T]) (*Collection[T], error) {
	if opts.Codec > CodecGob {
		return nil, fmt.Errorf("there is no %s", opts.Codec)
	}
	shape, err := newShape(reflect.TypeFor[T](), opts.Codec, opts.Indexes, opts.Key != nil)
	if err != nil {
		return nil, err
	}
	c := &Collection[T]{name: name, shape: shape, codec: opts.Codec, keyOf: opts.Key,
		versions: map[uint64]*version{}, layout: shape.layout}
	stored, err := loadDefinition(tx, name)
	if err != nil {
		return nil, lostBy(tx, err)
	}
	want := define(shape, opts.Codec, opts.Version)
	if err := c.bring(tx, stored, want, opts.Migrate); err != nil {
		return nil, err
	}
	if err := c.catchUp(tx); err != nil {
		return nil, err
	}
	return c, c.checkKeys(tx)
}

// checkKeys returns an error if a function that returns keys has another one for the first or the
// last record than the one that is stored.
func (c *Collection[T]) checkKeys(tx *stoat.Tx) error {
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

// checkKey returns an error if the function that returns keys has another one for a stored record.
func (c *Collection[T]) checkKey(key, value []byte) error {
	r := new(T)
	if c.decode(value, r) != nil {
		return nil // whoever reads the record is told
	}
	own, err := c.appendKeyOf(nil, r)
	if err == nil && !bytes.Equal(own, key) {
		err = fmt.Errorf("Options.Key returns the key %s for the record with the key %s: keep the "+
			"key, or copy the records into a new collection", formatKey(own), formatKey(key))
	}
	return err
}

// Name returns the collection's name.
func (c *Collection[T]) Name() string { return c.name }

// wrap returns err with the collection that it is about.
func (c *Collection[T]) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("collection %q: %w", c.name, err)
}

// wrapKey returns err with the record that it is about; nil stays nil. It formats a copy, so that
// keys can be on the stack.
func (c *Collection[T]) wrapKey(key []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("collection %q, key %s: %w", c.name, formatKey(bytes.Clone(key)), err)
}

// appendKeyOf appends the encoded key of a record.
func (c *Collection[T]) appendKeyOf(dst []byte, r *T) ([]byte, error) {
	if c.keyOf != nil {
		key := c.keyOf(r)
		if len(key) == 0 {
			return dst, errors.New("Options.Key returned no key: return at least one element")
		}
		return tuple.Append(dst, key...)
	}
	v := reflect.ValueOf(r).Elem()
	for _, col := range c.shape.key {
		dst = col.append(dst, col.of(v))
	}
	return dst, nil
}

// appendKey appends a key that somebody has passed. If part is true, it may be the beginning of
// one.
func (c *Collection[T]) appendKey(dst []byte, key Key, part bool) ([]byte, error) {
	values, ok := key.(tuple.Tuple)
	if !ok {
		values = tuple.Tuple{key}
	}
	if c.keyOf != nil {
		return tuple.Append(dst, values...)
	}
	return appendArguments(dst, c.shape.key, values, part)
}

// appendArguments appends values for the columns; if part is true, there may be fewer of them.
func appendArguments(
	dst []byte, columns []*column, values tuple.Tuple, part bool,
) ([]byte, error) {
	if len(values) > len(columns) || len(values) < len(columns) && !part {
		return dst, fmt.Errorf("%d values for the fields %s", len(values), names(columns))
	}
	var err error
	for i, v := range values {
		if dst, err = columns[i].appendArgument(dst, v); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// names returns the names of columns for people.
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

// encode appends the stored form of a record.
func (c *Collection[T]) encode(dst []byte, r *T) ([]byte, error) {
	if c.codec == CodecBinary {
		return layout.Append(c.layout, dst, r)
	}
	return encodeWhole(c.codec, dst, r)
}

// decode makes *r of a stored record.
func (c *Collection[T]) decode(value []byte, r *T) error {
	if c.codec != CodecBinary {
		return decodeWhole(c.codec, value, r)
	}
	v, err := c.versionOf(value)
	if err != nil {
		return err
	}
	return layout.Decode(v.plan, value, r)
}

// versionOf returns how to read a record of the binary codec.
func (c *Collection[T]) versionOf(value []byte) (*version, error) {
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
	if v := c.versions[number]; v != nil {
		return v, nil
	}
	return nil, unknownSchema(number)
}

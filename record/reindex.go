package record

import (
	"fmt"
	"reflect"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// Reindex rebuilds the indexes and the count from the records. Normally there is no need to call
// it, because they change together; to open a collection whose parts disagree, use the function
// [Reindex]. If two records have the same value in a unique index, the error is [ErrDuplicate] and
// names them. After any error the transaction must be rolled back: its commit fails with that
// error.
//
// Reindex reads all records in one transaction, which can be larger than memory, and blocks other
// writers meanwhile.
func (c *Collection[T]) Reindex(tx *stoat.Tx) error {
	s, err := c.core.writable(tx)
	if err != nil {
		return err
	}
	return refuseCommit(tx, c.core.wrap(c.core.reindex(s)))
}

func (c *collection) reindex(s *session) error {
	r := c.newRecord()
	b := &rebuild{name: c.name, s: s, shape: c.shape}
	b.decode = func(value []byte) (reflect.Value, error) { return r, c.decode(value, r) }
	b.keyOf = func(r reflect.Value) ([]byte, error) { return c.appendKeyOf(nil, r) }
	return b.run()
}

// Reindex is [Open] for a collection that Open refuses with [ErrInconsistent], as after a salvage:
// it first rebuilds indexes and count, in the same transaction. See [Collection.Reindex].
//
// If the salvage lost the definition of the collection or the encoding of its records, Reindex
// derives them from the type and the options, which must be those that the records were last stored
// with. Every record must match them; otherwise the error names one that does not, and nothing
// changes. The definition, if it is still there, proves whether the encoding is that of the type.
func Reindex[T any](db *stoat.DB, name string, opts *Options[T]) (*Collection[T], error) {
	c, err := reindex(db, name, opts.settings())
	if err != nil {
		return nil, fmt.Errorf("reindex collection %q: %w", name, err)
	}
	return &Collection[T]{c}, nil
}

func reindex(db *stoat.DB, name string, want *settings) (c *collection, err error) {
	err = db.Update(func(tx *stoat.Tx) error {
		if err := restore(tx, name, want); err != nil {
			return err
		}
		if c, err = openUnchecked(tx, name, want); err != nil {
			return err
		}
		s, err := c.writable(tx)
		if err != nil {
			return err
		}
		return c.reindex(s)
	})
	return c, err
}

// ReindexStored is [Reindex] for programs without the Go type: it uses only what is stored about
// the type, which requires [CodecBinary]. It does not open the collection.
func ReindexStored(db *stoat.DB, name string) error {
	err := db.Update(func(tx *stoat.Tx) error {
		stored, err := loadDefinition(tx, name)
		if err != nil {
			return err
		}
		if stored == nil {
			return stoat.ErrBucketNotFound
		}
		b, err := stored.rebuild(tx, name)
		if err != nil {
			return err
		}
		return b.run()
	})
	if err != nil {
		return fmt.Errorf("reindex collection %q: %w", name, err)
	}
	return nil
}

// rebuild returns the rebuild of the collection with this definition.
func (d *definition) rebuild(tx *stoat.Tx, name string) (*rebuild, error) {
	if d.Codec != CodecBinary.String() {
		return nil, fmt.Errorf("records are stored as %s, which can only be decoded into their Go type: "+
			"call record.Reindex in a program that has it", d.Codec)
	}
	schemas, err := loadSchemas(tx, name)
	if err != nil {
		return nil, err
	}
	shape, err := d.shape(schemas, d.indexed())
	if err != nil {
		return nil, err
	}
	b := &rebuild{name: name, shape: shape, s: &session{tx: tx, shared: sharedIn(tx, name)}}
	decoders := map[uint64]*layout.Decoder{}
	for _, schema := range schemas {
		if decoders[schema.Number], err = layout.NewDecoder(schema, shape.layout); err != nil {
			return nil, err
		}
	}
	record := reflect.New(shape.layout.Type()).Elem()
	b.decode = func(value []byte) (reflect.Value, error) {
		number, err := layout.Number(value)
		if err != nil {
			return record, err
		}
		if decoders[number] == nil {
			return record, unknownSchema(number)
		}
		return record, layout.DecodeValue(decoders[number], value, record)
	}
	if len(shape.key) > 0 {
		b.keyOf = func(record reflect.Value) (key []byte, err error) {
			for _, c := range shape.key {
				key = c.appendValue(key, c.value(record))
			}
			return key, nil
		}
	}
	if err := b.s.lookUp(name); err != nil {
		return b, err
	}
	return b, b.s.check(d.edition)
}

// unknownSchema returns the error of a schema that is not stored.
func unknownSchema(number uint64) error {
	return fmt.Errorf("records have schema %d, which is not stored: %w", number, stoat.ErrCorrupt)
}

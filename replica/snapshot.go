package replica

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
	"github.com/stoatdb/stoat/replica/internal/value"
	"github.com/stoatdb/stoat/tuple"
)

// Moment is a point in the history of a space. The zero value is the present.
type Moment struct {
	// Time is until when entries take part, by the clocks of their authors. Zero means any time.
	Time time.Time
	// Vector is how many entries of each log take part; of other logs, none do. Nil means all.
	Vector Vector
}

// Snapshot is a read view of a space as it was at a moment: as the entries up to then make it that
// count now. It belongs to its transaction, and is not safe for concurrent use.
type Snapshot struct {
	t     *txn
	until Moment
	logs  vector // nil: all
	kept  bool   // the present, of what is stored: entries were pruned
}

// At returns a view of the space at a moment; the function [At] gives its records their type. A
// record takes time that grows with the number of entries that ever touched it. If some of these
// are gone, it is ErrPruned, except for the present, which is what is stored.
func (s *Space) At(tx *stoat.Tx, m Moment) (*Snapshot, error) {
	t, err := s.in(tx)
	if err == nil {
		err = t.unpruned()
	}
	v := &Snapshot{t: t, until: m}
	if errors.Is(err, ErrPruned) && m.Vector == nil && m.Time.IsZero() {
		v.kept, err = true, nil
	}
	if err != nil {
		return nil, wrap(s.name, err)
	}
	if m.Vector == nil {
		return v, nil
	}
	v.logs = vector{}
	for id, n := range m.Vector {
		number, known, err := t.logNumber(entry.Hash(id))
		if err == nil && !known {
			err = fmt.Errorf("a moment has the unknown log %s", id)
		}
		if err != nil {
			return nil, wrap(s.name, err)
		}
		v.logs[number] = n
	}
	return v, nil
}

// counts reports whether an entry takes part.
func (v *Snapshot) counts(at merge.Stamp) bool {
	if v.logs != nil && at.Seq >= v.logs[at.Log] {
		return false
	}
	return v.until.Time.IsZero() || !at.Time.Time().After(v.until.Time)
}

// Record is a record without its type.
type Record struct {
	Key    tuple.Tuple
	Fields map[string]record.Value // by first name; as in Concurrent.Value
}

// Record returns a record, or [stoat.ErrNotFound]. Fields that were never written are missing.
func (v *Snapshot) Record(collection string, key record.Key) (*Record, error) {
	encoded, err := encodeKey(key)
	if err != nil {
		return nil, v.wrap(collection, err)
	}
	c, err := v.collection(collection)
	if err != nil {
		return nil, v.wrap(collection, err)
	}
	var r *Record
	err = v.one(c, encoded, func(state *merge.Record) (err error) {
		r, err = untyped(encoded, state)
		return err
	})
	return r, v.wrap(collection, err)
}

// Records returns an iterator over the records of a collection, by key. An error ends the loop.
func (v *Snapshot) Records(collection string) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		c, err := v.collection(collection)
		if err == nil {
			err = v.each(c, func(key []byte, state *merge.Record) error {
				r, err := untyped(key, state)
				if err == nil && !yield(r, nil) {
					err = errEnough
				}
				return err
			})
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, v.wrap(collection, err))
		}
	}
}

// errEnough ends a loop whose caller wants no more.
var errEnough = errors.New("enough")

// wrap says what an error is about.
func (v *Snapshot) wrap(collection string, err error) error {
	if err == nil {
		return nil
	}
	return wrap(v.t.space.name, fmt.Errorf("collection %q: %w", collection, err))
}

// encodeKey returns the bytes of a key.
func encodeKey(key record.Key) ([]byte, error) {
	if several, ok := key.(tuple.Tuple); ok {
		return tuple.Encode(several...)
	}
	return tuple.Encode(key)
}

// collection returns a collection with which states can be read, or [stoat.ErrNotFound].
func (v *Snapshot) collection(name string) (*collection, error) {
	if err := v.t.whole(name); err != nil {
		return nil, err
	}
	number, err := v.t.number(prefixCollection + name)
	if missing(err) {
		return nil, v.t.unknown()
	}
	if err != nil {
		return nil, err
	}
	return v.t.reader(name, number)
}

// unknownError reports a collection that is not known. It is [stoat.ErrNotFound].
type unknownError struct {
	known []string
}

// unknown returns the error for a collection that is not known, or why it cannot say more.
func (t *txn) unknown() error {
	names, err := t.collectionNames()
	if err != nil {
		return err
	}
	return &unknownError{slices.Sorted(maps.Values(names))}
}

// listedMax is how many collections an error lists.
const listedMax = 20

func (e *unknownError) Error() string {
	if len(e.known) == 0 {
		return "there is no such collection: no entry that is here has changed any"
	}
	more := ""
	if len(e.known) > listedMax {
		more = fmt.Sprintf(" and %d more", len(e.known)-listedMax)
	}
	return fmt.Sprintf("there is no such collection: there are %q", e.known[:min(len(e.known),
		listedMax)]) + more
}

// Is reports whether the error is a certain one.
func (*unknownError) Is(target error) bool { return target == stoat.ErrNotFound }

// one calls fn with the state of a record, or returns [stoat.ErrNotFound] if there is none.
func (v *Snapshot) one(c *collection, key []byte, fn func(*merge.Record) error) error {
	if v.kept {
		s, err := v.t.loadStored(c, key)
		if err == nil && len(s.record.Alive) == 0 {
			err = stoat.ErrNotFound
		}
		if err != nil {
			return err
		}
		return fn(s.record)
	}
	touches, err := v.t.touching(c, key)
	if err != nil {
		return err
	}
	f := &fold{t: v.t, c: c, counts: v.counts, whole: true}
	if err := f.add(key, touches); err != nil {
		return err
	}
	return f.each(func(_ *collection, _ []byte, state *merge.Record) error {
		if len(state.Alive) == 0 {
			return stoat.ErrNotFound
		}
		return fn(state)
	})
}

// each calls fn with the state of each record.
func (v *Snapshot) each(c *collection, fn func(key []byte, state *merge.Record) error) error {
	f := &fold{t: v.t, c: c, counts: v.counts, whole: true}
	show := func(_ *collection, key []byte, state *merge.Record) error {
		if len(state.Alive) == 0 {
			return nil
		}
		return fn(key, state)
	}
	if v.kept {
		return v.t.eachState(c.name, c.number, stoat.Range{}, func(s *state) error {
			return show(c, s.key, s.record)
		})
	}
	err := v.t.eachTouched(c, func(key []byte, touches []spot) error {
		if f.full() {
			if err := f.each(show); err != nil {
				return err
			}
		}
		return f.add(bytes.Clone(key), touches)
	})
	if err != nil {
		return err
	}
	return f.each(show)
}

// untyped returns a record without its type.
func untyped(key []byte, state *merge.Record) (r *Record, err error) {
	r = &Record{Fields: map[string]record.Value{}}
	if r.Key, err = tuple.Decode(key); err != nil {
		return nil, err
	}
	for i := range state.Fields {
		f := &state.Fields[i]
		r.Fields[f.Name], err = value.Decode(visible(state, &column{name: f.Name, kind: f.Kind}))
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// SnapshotOf is a collection as it was at a moment. It belongs to the transaction of its
// [Snapshot].
type SnapshotOf[T any] struct {
	at      *Snapshot
	c       *collection
	decoder *layout.Decoder
}

// At returns a collection with records of the type T, which may be another one than
// that with which the program opened the collection.
func At[T any](v *Snapshot, collection string) (*SnapshotOf[T], error) {
	c, err := v.collection(collection)
	if err != nil {
		return nil, v.wrap(collection, err)
	}
	typ, err := typeOf(&record.Options[T]{})
	if err != nil {
		return nil, v.wrap(collection, err)
	}
	l, err := layout.Of(reflect.TypeFor[T]())
	if err != nil {
		return nil, v.wrap(collection, err)
	}
	c.setType(typ)
	first := map[string]string{}
	for i := range c.columns {
		for _, name := range c.columns[i].all {
			first[name] = c.columns[i].name
		}
	}
	c.current = c.newSchema(typ.layout, first)
	decoder, err := layout.NewDecoder(typ.layout, l)
	return &SnapshotOf[T]{v, c, decoder}, v.wrap(collection, err)
}

// Get returns a record, or [stoat.ErrNotFound].
func (c *SnapshotOf[T]) Get(key record.Key) (*T, error) {
	encoded, err := encodeKey(key)
	if err != nil {
		return nil, c.at.wrap(c.c.name, err)
	}
	var r *T
	err = c.at.one(c.c, encoded, func(state *merge.Record) (err error) {
		r, err = c.decode(encoded, state)
		return err
	})
	return r, c.at.wrap(c.c.name, err)
}

// All returns an iterator over the records, by key. An error ends the loop.
func (c *SnapshotOf[T]) All() iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		err := c.at.each(c.c, func(key []byte, state *merge.Record) error {
			r, err := c.decode(key, state)
			if missing(err) {
				return nil
			}
			if err == nil && !yield(r, nil) {
				err = errEnough
			}
			return err
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, c.at.wrap(c.c.name, err))
		}
	}
}

// decode returns the record that shows a state, or [stoat.ErrNotFound] if its key does not fit the
// type.
func (c *SnapshotOf[T]) decode(key []byte, merged *merge.Record) (*T, error) {
	built := (&state{c: c.c, key: key, record: merged}).build()
	if built == nil {
		return nil, stoat.ErrNotFound
	}
	r := new(T)
	return r, layout.Decode(c.decoder, built, r)
}

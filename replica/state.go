package replica

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/tap"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
	"github.com/stoatdb/stoat/replica/internal/value"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// row is a stored record whose values are decoded when they are asked for.
type row struct {
	schema *schema // nil: there is no record
	stored []byte
	values [][]byte // by field of the schema
	memory []byte   // of the values
	err    error    // of decoding
}

// row returns a stored record; nil stands for none.
func (c *collection) row(stored []byte) (*row, error) {
	r := &row{}
	return r, r.read(c, stored, make([]byte, 0, roomOf(stored)))
}

// roomOf returns how many bytes the values of a stored record take, about.
func roomOf(stored []byte) int {
	if stored == nil {
		return 0
	}
	return len(stored) + len(stored)/4 + 32
}

// read makes the row that of a stored record, with memory for its values.
func (r *row) read(c *collection, stored, memory []byte) (err error) {
	*r = row{stored: stored, values: r.values[:0], memory: memory}
	if stored == nil {
		return nil
	}
	if r.schema, err = c.schemaOf(stored); err != nil {
		return err
	}
	n := len(r.schema.byName)
	r.values = slices.Grow(r.values, n)[:n]
	clear(r.values)
	return nil
}

// value returns the value of a field, or nil if there is none.
func (r *row) value(field int) []byte {
	if field < 0 || r.err != nil {
		return nil
	}
	if r.values[field] == nil {
		from := len(r.memory)
		r.memory, r.err = r.schema.values.Append(r.memory, r.stored, field)
		r.values[field] = slices.Clip(r.memory[from:])
	}
	return r.values[field]
}

// named returns the value of a field by its first name, or nil if there is none.
func (r *row) named(name string) []byte {
	if r.schema == nil {
		return nil
	}
	field, ok := r.schema.byName[name]
	if !ok {
		return nil
	}
	return r.value(field)
}

// state is the state of one record in a transaction.
type state struct {
	t          *txn
	c          *collection
	key        []byte
	record     *merge.Record
	row        *row // the stored record
	now        *row // of a borrowed state: memory for the next one
	table      *fieldTable
	scratch    *scratch // of a borrowed state, for its bytes
	zero       []byte   // buffer
	exists     bool     // something is stored
	conflicted bool     // as it was stored
	forgot     bool     // the stored one is not in its normal form
}

// Number returns the number of a field, which it assigns if need be.
func (s *state) Number(name string) int {
	n, ok := s.table.number[name]
	if ok {
		return n
	}
	if !s.table.grown {
		s.table = &fieldTable{bytes.Clone(s.table.raw), slices.Clone(s.table.names),
			maps.Clone(s.table.number), true}
		s.t.inside(s.c.number).table = s.table
	}
	s.table.add(name)
	s.table.raw = wire.AppendBytes(s.table.raw, name)
	return len(s.table.names) - 1
}

// Name returns the name of a field by its number, or "".
func (s *state) Name(number int) string {
	if number < 0 || number >= len(s.table.names) {
		return ""
	}
	return s.table.names[number]
}

// Value returns the value that the stored record has for a field.
func (s *state) Value(name string) []byte { return s.row.named(name) }

// load returns the state of a record, given the stored record that the state was last saved for.
func (t *txn) load(c *collection, key, stored []byte) (*state, error) {
	s := &state{t: t, c: c, key: key, record: &merge.Record{}}
	var err error
	if s.row, err = c.row(stored); err != nil {
		return nil, err
	}
	return s, s.read()
}

// read sets the state to what is stored beside the record.
func (s *state) read() (err error) {
	t, c, key := s.t, s.c, s.key
	if s.table, err = t.table(c.number); err != nil {
		return err
	}
	t.key = append(keyed(t.key[:0], "", c.number), key...)
	p, err := t.states.Get(t.key)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.parse(p)
}

// parse sets the state to a sidecar.
func (s *state) parse(p []byte) error {
	if err := s.record.ParseSidecar(p, s); err != nil {
		if s.row.schema == nil {
			return fmt.Errorf("record %x: %w", s.key, s.c.gone())
		}
		return fmt.Errorf("the state of record %x of %q: %w: %w", s.key, s.c.name, err,
			stoat.ErrCorrupt)
	}
	s.exists, s.conflicted = true, conflicted(s.record)
	if s.row.err != nil {
		return s.row.err
	}
	return s.normalise()
}

// recordsOf returns the bucket of the records of a collection, or nil.
func (t *txn) recordsOf(c *collection) (*stoat.Bucket, error) {
	in := t.inside(c.number)
	if !in.opened {
		b, err := t.openRecords(c)
		if errors.Is(err, stoat.ErrBucketNotFound) {
			err = t.mayLackRecords(c)
		}
		if err != nil {
			return nil, err
		}
		in.records, in.opened = b, true
	}
	return in.records, nil
}

// openRecords opens the bucket of the records of a collection.
func (t *txn) openRecords(c *collection) (*stoat.Bucket, error) {
	if ref := c.records.Load(); ref != nil {
		if b := t.tx.Refer(*ref); b != nil {
			return b, nil
		}
	}
	b, err := t.tx.Bucket([]byte(c.stored()))
	if err == nil {
		ref := b.Ref()
		c.records.Store(&ref)
	}
	return b, err
}

// find returns the stored record of a key, or nil.
func (t *txn) find(c *collection, key []byte) ([]byte, error) {
	if err := t.mergeDeferred(); err != nil {
		return nil, err
	}
	return t.storedRecord(c, key)
}

// storedRecord is find without what is deferred.
func (t *txn) storedRecord(c *collection, key []byte) ([]byte, error) {
	b, err := t.recordsOf(c)
	if err != nil || b == nil {
		return nil, err
	}
	stored, err := b.Get(key)
	if missing(err) {
		return nil, nil
	}
	return stored, err
}

// loadStored is load for a record that the transaction has not changed.
func (t *txn) loadStored(c *collection, key []byte) (*state, error) {
	stored, err := t.find(c, key)
	if err != nil {
		return nil, err
	}
	return t.load(c, key, stored)
}

// sidecarRoom is how many bytes the states of most records take, at most.
const sidecarRoom = 64

// save stores the state, with the record that goes with it.
func (s *state) save(with *row) (err error) {
	s.row = with
	t := s.t
	t.key = append(keyed(t.key[:0], "", s.c.number), s.key...)
	if !s.record.Empty() {
		known := len(s.table.names)
		t.sidecar = s.record.AppendSidecar(slices.Grow(t.sidecar[:0], sidecarRoom), s)
		err = t.states.Put(t.key, t.sidecar)
		if err == nil && len(s.table.names) > known {
			err = t.meta.Put(keyed(nil, prefixFields, s.c.number), s.table.raw)
		}
	} else if s.exists {
		err = t.states.Delete(t.key)
	}
	if err == nil {
		err = s.row.err
	}
	if now := conflicted(s.record); err == nil && now != s.conflicted {
		key := append(keyed(nil, prefixConflict, s.c.number), s.key...)
		if now {
			err = t.meta.Put(key, nil)
		} else {
			err = t.meta.Delete(key)
		}
	}
	return err
}

// conflicted reports whether the record has a field with concurrent values.
func conflicted(r *merge.Record) bool {
	for i := range r.Fields {
		if len(r.Fields[i].Versions) > 1 {
			return true
		}
	}
	return false
}

// visible returns the value that a field shows, or nil if it was never written.
func visible(r *merge.Record, c *column) []byte {
	f := r.Field(c.name, c.kind)
	if f == nil {
		return nil
	}
	switch c.kind {
	case entry.OpSum:
		return value.AppendInt(nil, f.Sum)
	case entry.OpMax, entry.OpMin:
		return f.Value
	case entry.OpElements:
		elements := make([][]byte, len(f.Items))
		for i := range f.Items {
			elements[i] = f.Items[i].Key
		}
		return value.AppendList(nil, elements)
	case entry.OpEntries:
		pairs := make([][]byte, len(f.Items))
		for i := range f.Items {
			pairs[i] = slices.Concat(f.Items[i].Key, merge.Winner(f.Items[i].Versions).Value)
		}
		return value.AppendMap(nil, pairs)
	}
	return merge.Winner(f.Versions).Value
}

// build returns the record that shows the state, or nil if it is deleted, or if its key does not
// fit the type.
func (s *state) build() []byte {
	if len(s.record.Alive) == 0 {
		return nil
	}
	current := s.c.current
	values := s.values(len(current.byName))
	size := 0
	for i := range s.c.columns {
		v := visible(s.record, &s.c.columns[i])
		values[current.columns[i]] = v
		size += len(v)
	}
	r := wire.NewReader(s.key)
	for _, field := range current.key {
		values[field] = value.TakeScalar(&r)
	}
	if r.End() != nil {
		return nil
	}
	stored := current.values.AppendRecord(s.room(size+len(s.key)+16*len(values)), values)
	for _, field := range current.key {
		own, err := current.values.Append(s.zero[:0], stored, field)
		if err != nil || !bytes.Equal(own, values[field]) {
			return nil
		}
		s.zero = own
	}
	return stored
}

// show stores the record that shows the state, if it is another one than the stored one, and saves
// the state. If the type cannot hold that record, as on a platform with smaller numbers, the stored
// one stays.
func (s *state) show() error {
	if s.c.tap == nil {
		return s.save(s.row)
	}
	built, stored := s.build(), s.row.stored
	if (built == nil) == (stored == nil) && bytes.Equal(built, stored) {
		return s.save(s.row)
	}
	err := s.c.tap.Store(s.t.tx, s.key, stored, built)
	if errors.Is(err, tap.ErrUnfit) {
		return s.save(s.row)
	}
	if err != nil {
		return err
	}
	if s.now == nil {
		s.now = &row{}
	}
	if err := s.now.read(s.c, built, s.room(roomOf(built))); err != nil {
		return err
	}
	return s.save(s.now)
}

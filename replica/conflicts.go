package replica

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
	"github.com/stoatdb/stoat/replica/internal/value"
	"github.com/stoatdb/stoat/tuple"
)

// Conflict is a field that several devices have set concurrently. The field shows
// the value with the greatest time. It is settled by the next write of the field that has seen all
// values, or by [Space.Settle].
type Conflict struct {
	Collection string
	Key        tuple.Tuple // of the record
	Field      string      // by its first name
	Kept       bool        // the field has the rule keep: an answer is wanted
	Values     []Concurrent

	key []byte
}

// Concurrent is one of the values that were set concurrently. If a checkpoint covers it, its time,
// log and device are forgotten, and zero.
type Concurrent struct {
	// Value is a scalar; or []any for a list; or map[any]any for a map, and map[string]any for a
	// struct.
	Value  record.Value
	Time   time.Time // by the clock of its author
	Log    LogID
	Device DeviceID
}

// Conflicts returns an iterator over the fields with concurrent values, by collection and key. The
// value that a field shows is the first of its values. An error ends the loop. The cost depends on
// the number of conflicts alone.
func (s *Space) Conflicts(tx *stoat.Tx) iter.Seq2[Conflict, error] {
	return func(yield func(Conflict, error) bool) {
		if err := s.conflicts(tx, func(c Conflict) bool { return yield(c, nil) }); err != nil {
			yield(Conflict{}, wrap(s.name, err))
		}
	}
}

func (s *Space) conflicts(tx *stoat.Tx, yield func(Conflict) bool) error {
	t, err := s.in(tx)
	if err != nil {
		return err
	}
	prefix := []byte(prefixCollection)
	for key, number := range t.meta.Scan(stoat.Prefix(prefix)) {
		name := string(key[len(prefix):])
		if len(number) != 4 {
			return fmt.Errorf("the number of collection %q: %w", name, stoat.ErrCorrupt)
		}
		c, err := t.reader(name, binary.BigEndian.Uint32(number))
		if err != nil {
			return err
		}
		within := keyed(nil, prefixConflict, c.number)
		for key := range t.meta.Keys(stoat.Prefix(within)) {
			st, err := t.loadStored(c, slices.Clone(key[len(within):]))
			if err != nil {
				return err
			}
			list, err := st.conflicts()
			if err != nil {
				return err
			}
			for _, conflict := range list {
				if !yield(conflict) {
					return nil
				}
			}
		}
	}
	return tx.Err()
}

// conflicts returns the conflicts of a record.
func (s *state) conflicts() ([]Conflict, error) {
	var all []Conflict
	for i := range s.record.Fields {
		f := &s.record.Fields[i]
		if len(f.Versions) < 2 {
			continue
		}
		c := Conflict{Collection: s.c.name, Field: f.Name, Kept: f.Kind == entry.OpKeep, key: s.key}
		var err error
		if c.Key, err = tuple.Decode(s.key); err != nil {
			return nil, err
		}
		for _, v := range slices.Backward(f.Versions) {
			concurrent, err := s.t.concurrent(&v)
			if err != nil {
				return nil, err
			}
			c.Values = append(c.Values, concurrent)
		}
		all = append(all, c)
	}
	return all, nil
}

// concurrent describes a version.
func (t *txn) concurrent(v *merge.Version) (c Concurrent, err error) {
	if c.Value, err = value.Decode(v.Value); err != nil || v.Stamp == (merge.Stamp{}) {
		return c, err
	}
	h, err := t.head(v.Stamp.Log)
	if err != nil {
		return Concurrent{}, err
	}
	c.Time, c.Log, c.Device = v.Stamp.Time.Time(), LogID(h.id), h.device
	return c, nil
}

// Settle settles a conflict in favour of the value that the field has when the transaction commits:
// set it before or afterwards, or leave it. The collection must be open, with a type that has the
// field, with the rule that the conflict has.
func (s *Space) Settle(tx *stoat.Tx, conflict Conflict) error {
	s.mu.Lock()
	c := s.collections[conflict.Collection]
	s.mu.Unlock()
	if c == nil {
		return wrap(s.name, fmt.Errorf("collection %q is not open", conflict.Collection))
	}
	if !c.settles(&conflict) {
		return wrap(s.name, fmt.Errorf("the type with which collection %q is open has no field %s "+
			"with the rule of the conflict: open it with one that has", c.name, conflict.Field))
	}
	t, err := s.in(tx)
	if err != nil {
		return wrap(s.name, err)
	}
	old, err := t.find(c, conflict.key)
	if err != nil || old == nil {
		return wrap(s.name, err)
	}
	touched, err := c.touch(tx, conflict.key, old)
	if err != nil {
		return wrap(s.name, err)
	}
	touched.keep = append(touched.keep, conflict.Field)
	return nil
}

// settles reports whether the type of the collection has the field of a conflict: a field with
// another rule is another one.
func (c *collection) settles(conflict *Conflict) bool {
	kind := entry.OpSet
	if conflict.Kept {
		kind = entry.OpKeep
	}
	return slices.ContainsFunc(c.columns, func(col column) bool {
		return col.name == conflict.Field && col.kind == kind
	})
}

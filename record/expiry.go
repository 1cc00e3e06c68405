package record

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// The field with the tag option expires has the moment from which on a record is gone. It still is
// stored then, with its entries and its part of the count, until it is swept: whatever reads leaves
// it out, by the one moment that its transaction has for now.

// sweepBatch is how many expired records a transaction removes at its first write of a collection,
// and again after so many more writes: what is written expires no faster than it goes.
const sweepBatch = 64

// over reports whether a record that has the moment has expired by now. The zero time, and what is
// before it, never has.
func over(at, now time.Time) bool { return at.After(time.Time{}) && !at.After(now) }

// expiredAt reports whether a stored record has expired by now.
func (c *Collection[T]) expiredAt(value []byte, now time.Time) (bool, error) {
	if c.shape.expires == nil {
		return false, nil
	}
	if c.codec != CodecBinary {
		r := new(T)
		err := c.decode(value, r)
		return err == nil && over(c.moment(r), now), err
	}
	v, err := c.versionOf(value)
	if err != nil {
		return false, err
	}
	at, err := v.fields[c.shape.expires.number].Time(value)
	return err == nil && over(at, now), err
}

// expired reports whether a stored record has expired for the transaction.
func (c *Collection[T]) expired(tx *stoat.Tx, value []byte) (bool, error) {
	if c.shape.expires == nil {
		return false, nil
	}
	return c.expiredAt(value, tx.Now())
}

// ended reports whether a record has expired for the transaction.
func (c *Collection[T]) ended(tx *stoat.Tx, r *T) bool {
	if c.shape.expires == nil {
		return false
	}
	return over(c.moment(r), tx.Now())
}

// moment returns when a record expires.
func (c *Collection[T]) moment(r *T) time.Time {
	at, ok := c.shape.expires.of(reflect.ValueOf(r).Elem()).Addr().Interface().(*time.Time)
	if !ok {
		return time.Time{}
	}
	return *at
}

// read makes *r of a stored record, and reports whether there still is one: it may have expired.
func (c *Collection[T]) read(tx *stoat.Tx, value []byte, r *T) (bool, error) {
	if c.codec == CodecBinary {
		if gone, err := c.expired(tx, value); gone || err != nil {
			return false, err
		}
	}
	err := c.decode(value, r)
	return err == nil && !c.ended(tx, r), err
}

// live returns a stored record that has not expired; the error is [stoat.ErrNotFound] if there is
// none.
func (c *Collection[T]) live(s *session, key []byte) ([]byte, error) {
	value, err := s.data.Get(key)
	if err != nil {
		return nil, err
	}
	gone, err := c.expired(s.tx, value)
	if err == nil && gone {
		err = stoat.ErrNotFound
	}
	return value, err
}

// overdue returns the range of the entries of expired records in the index of the field.
func (s *session) overdue() stoat.Range {
	return stoat.Range{Start: successor(tuple.AppendTime(nil, time.Time{})),
		End: successor(tuple.AppendTime(nil, s.tx.Now()))}
}

// overdueKeys returns a loop over the keys of expired records, limit of them unless that is 0.
func (c *Collection[T]) overdueKeys(s *session, limit int) iter.Seq2[[]byte, error] {
	r := s.overdue()
	r.Limit = limit
	return s.entriesIn(c.shape.expiry, r)
}

// anyExpired reports whether there are stored records that have expired. It takes one lookup.
func (c *Collection[T]) anyExpired(s *session) (bool, error) {
	if c.shape.expires == nil {
		return false, nil
	}
	for _, err := range c.overdueKeys(s, 1) {
		return err == nil, err
	}
	return false, nil
}

// liveCount returns the number of records that have not expired.
func (c *Collection[T]) liveCount(s *session) (uint64, error) {
	n, err := s.count()
	if err != nil {
		return 0, err
	}
	if c.shape.expires == nil {
		return n.records, nil
	}
	expired := uint64(0)
	for _, err := range c.overdueKeys(s, 0) {
		if err != nil {
			return 0, err
		}
		expired++
	}
	return n.records - min(expired, n.records), nil
}

// unexpired returns the condition that a record has not expired.
func (c *Collection[T]) unexpired(s *session) condition {
	r := s.overdue()
	col := c.shape.expires
	return condition{column: col, spans: []span{{nil, r.Start}, {r.End, nil}},
		said: []Predicate{{op: opNotExpired, field: col.name}}}
}

// hide makes the path leave out what has expired, if there is any. Changing says that records may
// change before it comes to them.
func (c *Collection[T]) hide(s *session, p *path, changing bool) error {
	if c.shape.expires == nil {
		return nil
	}
	if !p.exact && !(changing && p.index != nil) {
		if some, err := c.anyExpired(s); !some || err != nil {
			return err
		}
	}
	p.rest = append(p.rest, c.unexpired(s))
	return nil
}

// Sweep deletes the records that have expired, and returns how many they were. There is no need to
// call it for a collection that is written: each transaction that writes a collection sweeps some
// of what has expired, and so takes their space back. It is for those that are seldom written, and
// to have [Collection.Watch] told. In all else it is like [Query.Delete].
func (c *Collection[T]) Sweep(tx *stoat.Tx) (n uint64, err error) {
	s, err := c.writable(tx)
	if err != nil {
		return 0, err
	}
	n, err = c.sweep(s, 0)
	return n, c.wrap(err)
}

// sweep deletes expired records, at most limit unless that is 0.
func (c *Collection[T]) sweep(s *session, limit int) (n uint64, err error) {
	if c.shape.expires == nil {
		return 0, nil
	}
	for key, err := range c.overdueKeys(s, limit) {
		removed := false
		if err == nil {
			removed, err = c.removeExpired(s, key)
		}
		if err != nil {
			return n, err
		}
		if removed {
			n++
		}
	}
	return n, nil
}

// sweepRecords is sweep without an index. Before a unique one is made, what has expired is removed,
// as others may have its values.
func (c *Collection[T]) sweepRecords(s *session) error {
	if c.shape.expires == nil {
		return nil
	}
	for key := range s.data.Keys(stoat.Range{}) {
		if _, err := c.removeExpired(s, key); err != nil {
			return fmt.Errorf("key %s: %w", formatKey(key), err)
		}
	}
	return s.tx.Err()
}

// keepUp sweeps some records if it is time to.
func (c *Collection[T]) keepUp(s *session) error {
	if c.shape.expires == nil {
		return nil
	}
	due := s.shared.writes%sweepBatch == 0
	s.shared.writes++
	if !due {
		return nil
	}
	_, err := c.sweep(s, sweepBatch)
	return err
}

// removeExpired deletes the record with the key if it has expired.
func (c *Collection[T]) removeExpired(s *session, key []byte) (removed bool, err error) {
	if c.shape.expires == nil {
		return false, nil
	}
	old, err := s.find(key)
	if err != nil || old == nil {
		return false, err
	}
	gone, err := c.expired(s.tx, old)
	if err != nil || !gone {
		return false, err
	}
	return true, c.store(s, key, old, nil, nil)
}

// claim finds out whether a change can have its values of the index. A value that only an expired
// record has is taken from it, by deleting that.
func (c *Collection[T]) claim(s *session, change *indexChange, x *index, key []byte) error {
	err := change.check(x, key)
	if c.shape.expires == nil || !errors.Is(err, ErrDuplicate) {
		return err
	}
	for _, entry := range change.adds {
		owner, err := s.owner(x, entry)
		if err == nil && owner != nil && string(owner) != string(key) {
			_, err = c.removeExpired(s, owner)
		}
		if err != nil {
			return err
		}
	}
	return change.check(x, key)
}

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

// A record expires at the time in the field with the tag option expires. Until it is swept it
// remains stored, with its index entries, and is part of the count; everything that reads leaves it
// out, by the time of the transaction.

// sweepBatch is how many expired records a transaction removes at its first write to a collection,
// and again after as many more writes. So records are removed at least as fast as they are written.
const sweepBatch = 64

// over reports whether a record with the given expiry time has expired. A zero or earlier time
// never expires.
func over(at, now time.Time) bool { return at.After(time.Time{}) && !at.After(now) }

// expiredAt reports whether a stored record has expired at the given time.
func (c *collection) expiredAt(value []byte, now time.Time) (bool, error) {
	if c.shape.expires == nil {
		return false, nil
	}
	if c.codec != CodecBinary {
		r := c.newRecord()
		err := c.decode(value, r)
		return err == nil && over(c.moment(r), now), err
	}
	v, err := c.schemaOf(value)
	if err != nil {
		return false, err
	}
	at, err := v.fields[c.shape.expires.number].Time(value)
	return err == nil && over(at, now), err
}

// expired reports whether a stored record has expired, by the time of the transaction.
func (c *collection) expired(tx *stoat.Tx, value []byte) (bool, error) {
	if c.shape.expires == nil {
		return false, nil
	}
	return c.expiredAt(value, tx.Now())
}

// ended reports whether a decoded record has expired, by the time of the transaction.
func (c *collection) ended(tx *stoat.Tx, r reflect.Value) bool {
	if c.shape.expires == nil {
		return false
	}
	return over(c.moment(r), tx.Now())
}

// moment returns the time at which a record expires.
func (c *collection) moment(r reflect.Value) time.Time {
	at, ok := c.shape.expires.value(r).Addr().Interface().(*time.Time)
	if !ok {
		return time.Time{}
	}
	return *at
}

// read decodes a stored record into r, and reports false if it has expired.
func (c *collection) read(tx *stoat.Tx, value []byte, r reflect.Value) (bool, error) {
	if c.codec == CodecBinary {
		if gone, err := c.expired(tx, value); gone || err != nil {
			return false, err
		}
	}
	err := c.decode(value, r)
	return err == nil && !c.ended(tx, r), err
}

// live returns the stored record with the given key, or [stoat.ErrNotFound] if it does not exist or
// has expired.
func (c *collection) live(s *session, key []byte) ([]byte, error) {
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

// overdue returns the range of expired records' entries in the expiry index.
func (s *session) overdue() stoat.Range {
	return stoat.Range{Start: successor(tuple.AppendTime(nil, time.Time{})),
		End: successor(tuple.AppendTime(nil, s.tx.Now()))}
}

// overdueKeys returns an iterator over the keys of expired records, at most limit unless that is 0.
func (c *collection) overdueKeys(s *session, limit int) iter.Seq2[[]byte, error] {
	r := s.overdue()
	r.Limit = limit
	return s.entriesIn(c.shape.expiry, r)
}

// anyExpired reports whether expired records are stored. It takes one lookup.
func (c *collection) anyExpired(s *session) (bool, error) {
	if c.shape.expires == nil {
		return false, nil
	}
	for _, err := range c.overdueKeys(s, 1) {
		return err == nil, err
	}
	return false, nil
}

// liveCount returns the number of records that have not expired.
func (c *collection) liveCount(s *session) (uint64, error) {
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

// hideExpired adds to the plan the condition that a record has not expired, if it is needed: if
// expired records are stored, or if records may change before the query reads them.
func (q *query) hideExpired(s *session, p *plan) error {
	c := q.c
	if c.shape.expires == nil {
		return nil
	}
	if changing := q.writes(s.tx) && p.index != nil; !p.exact && !changing {
		if some, err := c.anyExpired(s); !some || err != nil {
			return err
		}
	}
	r, col := s.overdue(), c.shape.expires
	p.rest = append(p.rest, condition{column: col, spans: []span{{nil, r.Start}, {r.End, nil}},
		said: []Predicate{{op: opNotExpired, field: col.name}}})
	return nil
}

// Sweep deletes the expired records and returns their number. Collections that are written to do
// not need it: each transaction that writes to a collection sweeps some expired records and frees
// their space. Call it for a collection that is seldom written to, or to make [Collection.Watch]
// report the removals. It otherwise behaves like [Query.Delete].
func (c *Collection[T]) Sweep(tx *stoat.Tx) (n uint64, err error) {
	s, err := c.core.writable(tx)
	if err != nil {
		return 0, err
	}
	n, err = c.core.sweep(s, 0)
	return n, c.core.wrap(err)
}

// sweep deletes expired records, at most limit unless that is 0.
func (c *collection) sweep(s *session, limit int) (n uint64, err error) {
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

// sweepRecords is sweep without the expiry index. It runs before a unique index is built, because
// expired records may have values of others.
func (c *collection) sweepRecords(s *session) error {
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

// sweepSome sweeps some records at every sweepBatch-th write.
func (c *collection) sweepSome(s *session) error {
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

// removeExpired deletes the record with the given key if it has expired, and reports whether it
// did.
func (c *collection) removeExpired(s *session, key []byte) (removed bool, err error) {
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
	return true, c.remove(s, key, old)
}

// claim checks that a change can add its entries to the index. It deletes an expired record that
// has one of the values.
func (c *collection) claim(s *session, change *indexChange, x *index, key []byte) error {
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

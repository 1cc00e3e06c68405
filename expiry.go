package stoat

import (
	"errors"
	"fmt"
	"time"
)

// PutTTL is Put for a value that expires after ttl, which must be positive. From then on the key is
// absent for every transaction, except that a loop which has met an expiring value keeps using the
// time of that moment. The disk space is freed in the background.
func (s *space) PutTTL(key, value []byte, ttl time.Duration) error {
	if err := s.checkPut(key, value); err != nil {
		return err
	}
	if ttl <= 0 {
		return fmt.Errorf("time to live %v is not positive: to keep the value, use Put", ttl)
	}
	return s.session.putUntil(s.key(key), value, s.session.w.After(ttl))
}

// lastYear is the year of the last moment at which a key may expire. Common text formats and other
// programs cannot represent later times.
const lastYear = 9999

// PutUntil is [Tx.PutTTL] with the time at which the key expires, rounded up to a millisecond. Use
// it for a copy that expires with its original, at the time that [Cursor.Expires] or
// [Change.Expires] returns. If the time has passed, the key does not exist afterwards. A time after
// the year 9999 is an error.
func (s *space) PutUntil(key, value []byte, at time.Time) error {
	if err := s.checkPut(key, value); err != nil {
		return err
	}
	if at.IsZero() {
		return errors.New("the zero time is not an expiry time: use Put for a value that does not " +
			"expire")
	}
	if !at.Before(time.Date(lastYear+1, 1, 1, 0, 0, 0, 0, time.UTC)) {
		return fmt.Errorf("expiry time %v is after the year %d: use Put for a value that does not expire",
			at, lastYear)
	}
	until := at.Add(time.Millisecond - 1).UnixMilli() // a sum of times, which cannot overflow
	return s.session.putUntil(s.key(key), value, uint64(max(until, 1)))
}

// TTL returns how long the value of key has left, and whether it expires at all. The error is
// [ErrNotFound] if the key does not exist or has expired. [Cursor.Expires] and [Change.Expires]
// tell the time at which a key expires.
func (s *space) TTL(key []byte) (ttl time.Duration, expires bool, err error) {
	if err := s.check(); err != nil {
		return 0, false, err
	}
	if err := checkKey(key); err != nil {
		return 0, false, err
	}
	until, ok, err := s.session.until(s.key(key))
	switch {
	case err != nil:
		return 0, false, err
	case !ok:
		return 0, false, ErrNotFound
	case until == 0:
		return 0, false, nil
	}
	if ttl = expiry(until).Sub(s.session.db.engine.Now()); ttl <= 0 {
		return 0, false, ErrNotFound // expired since the lookup
	}
	return ttl, true, nil
}

// expiry converts an entry's expiry time, in milliseconds since 1970.
func expiry(until uint64) time.Time { return time.UnixMilli(int64(until)) }

// lookupUntil is lookup that also returns when the key expires, in milliseconds since 1970, or 0.
func (s *space) lookupUntil(key []byte) (value []byte, until uint64, ok bool, err error) {
	value, ok, err = s.lookup(key)
	if err == nil && ok {
		until, ok, err = s.session.until(s.key(key))
	}
	if err != nil || !ok {
		return nil, 0, false, err
	}
	return value, until, true, nil
}

// until returns when an internal key expires, in milliseconds since 1970, or 0 for never; ok is
// false if there is no such key.
func (s *session) until(key []byte) (until uint64, ok bool, err error) {
	if s.w != nil {
		return s.w.Until(key, &s.lookups)
	}
	return s.snap.Until(key, &s.lookups)
}

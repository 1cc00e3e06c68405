package stoat

import (
	"fmt"
	"time"
)

// PutTTL is Put for a value that the database removes by itself when ttl, which is more than 0, has
// passed. From that moment on the key is absent for every transaction; only a loop that has met an
// expiring value goes on by the moment of that. Its disk space comes free in the background.
func (s *space) PutTTL(key, value []byte, ttl time.Duration) error {
	if err := s.checkWrite(); err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	if err := checkValue(value); err != nil {
		return err
	}
	if ttl <= 0 {
		return fmt.Errorf("time to live %v: it must be more than 0; use Put for a value that stays", ttl)
	}
	return s.session.putUntil(s.key(key), value, s.session.w.After(ttl))
}

// TTL returns how long the value of key stays, and whether it expires at all: false for one that
// Put stored. The error is [ErrNotFound] if there is no such key, or no more. [Cursor.Expires]
// tells the moment, and [Change.Expires] does for those who watch.
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
		return 0, false, ErrNotFound // since it was looked up
	}
	return ttl, true, nil
}

// expiry returns the moment until which an entry is there.
func expiry(until uint64) time.Time { return time.UnixMilli(int64(until)) }

// lookupUntil is lookup with the moment in milliseconds since 1970 when the key expires, or 0.
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

// until returns the moment in milliseconds since 1970 when an internal key expires, or 0; ok is
// false if there is no such key.
func (s *session) until(key []byte) (until uint64, ok bool, err error) {
	if s.w != nil {
		return s.w.Until(key)
	}
	return s.snap.Until(key)
}

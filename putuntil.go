package stoat

import (
	"errors"
	"time"
)

// errNoMoment is what PutUntil returns for the zero time.
var errNoMoment = errors.New("the zero time is no moment at which a key expires: use Put for a " +
	"value that stays")

// PutUntil is [Tx.PutTTL] with the moment at which the key expires, rounded up to a millisecond:
// for a copy that expires with its original, as [Cursor.Expires] and [Change.Expires] tell it. If
// the moment has passed, there is no such key afterwards.
func (s *space) PutUntil(key, value []byte, at time.Time) error {
	if err := s.checkWrite(); err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	if err := checkValue(value); err != nil {
		return err
	}
	if at.IsZero() {
		return errNoMoment
	}
	until := at.Add(time.Millisecond - 1).UnixMilli() // of time.Time, so that none is too late
	return s.session.putUntil(s.key(key), value, uint64(max(until, 1)))
}

package stoat

import (
	"errors"
	"fmt"
	"time"
)

// lastYear is the year of the last moment at which a key may expire. Later ones have no form in
// which texts and other programs tell times.
const lastYear = 9999

// errNoMoment is what PutUntil returns for the zero time.
var errNoMoment = errors.New("the zero time is no moment at which a key expires: use Put for a " +
	"value that stays")

// PutUntil is [Tx.PutTTL] with the moment at which the key expires, rounded up to a millisecond:
// for a copy that expires with its original, as [Cursor.Expires] and [Change.Expires] tell it. If
// the moment has passed, there is no such key afterwards. One behind the year 9999 is an error.
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
	if !at.Before(time.Date(lastYear+1, 1, 1, 0, 0, 0, 0, time.UTC)) {
		return fmt.Errorf("a key expires by the end of the year %d at the latest; use Put for a value "+
			"that stays", lastYear)
	}
	until := at.Add(time.Millisecond - 1).UnixMilli() // of time.Time, so that none is too late
	return s.session.putUntil(s.key(key), value, uint64(max(until, 1)))
}

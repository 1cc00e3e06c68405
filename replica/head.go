package replica

import (
	"errors"
	"time"

	"github.com/stoatdb/stoat"
)

// Spaces returns the names of the spaces in a database, in alphabetical order.
func Spaces(tx *stoat.Tx) ([]string, error) {
	root, err := tx.Bucket([]byte(rootBucket))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range root.Buckets() {
		names = append(names, string(name))
	}
	return names, tx.Err()
}

// Head is the end of a log, as a replica knows it.
type Head struct {
	Log     LogID
	Device  DeviceID
	Entries uint64    // how many there are
	Sealed  uint64    // how many of them a seal covers
	Hash    [32]byte  // of the last entry
	Time    time.Time // of the last entry
	Own     bool      // this replica writes the log
}

// Heads returns the ends of all logs, in the order in which this replica has met them.
func (s *Space) Heads(tx *stoat.Tx) ([]Head, error) {
	t, err := s.in(tx)
	if err != nil {
		return nil, wrap(s.name, err)
	}
	own, err := t.ownNumber()
	if err != nil {
		return nil, wrap(s.name, err)
	}
	var all []Head
	for h, err := range t.eachHead() {
		if err != nil {
			return nil, wrap(s.name, err)
		}
		all = append(all, Head{Log: LogID(h.id), Device: h.device, Entries: h.next, Sealed: h.sealed,
			Hash: h.hash, Time: h.time.Time(), Own: h.number == own})
	}
	return all, nil
}

// Vector says how much of a space somebody has: the number of entries of each log.
type Vector map[LogID]uint64

// Vector returns how much of the space this replica can give to others: the entries that are
// sealed.
func (s *Space) Vector(tx *stoat.Tx) (Vector, error) {
	t, err := s.in(tx)
	if err != nil {
		return nil, wrap(s.name, err)
	}
	v := Vector{}
	for h, err := range t.eachHead() {
		if err != nil {
			return nil, wrap(s.name, err)
		}
		if h.sealed > 0 {
			v[LogID(h.id)] = h.sealed
		}
	}
	return v, nil
}

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
	Log     LogID     `json:"log"`
	Device  DeviceID  `json:"device"`
	Entries uint64    `json:"entries"`       // how many there are
	Sealed  uint64    `json:"sealed"`        // how many of them a seal covers
	Hash    [32]byte  `json:"-"`             // of the last entry
	Time    time.Time `json:"time"`          // of the last entry
	Own     bool      `json:"own,omitempty"` // this replica writes the log
	// Cut is the number of the first entry that does not count because the log forked. 0: none.
	Cut uint64 `json:"cut,omitempty"`
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
		all = append(all, Head{Log: LogID(h.id), Device: h.device, Entries: h.next,
			Sealed: min(h.sealed, h.next), Hash: h.hash, Time: h.time.Time(), Own: h.number == own,
			Cut: h.cut})
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

package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
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

// Vector is how much of a space a replica has: the number of entries of each log.
type Vector map[LogID]uint64

// Vector returns how much of the space this replica can give to others: the sealed entries. Call
// [Space.Seal] first to include what was written here last.
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

// head is the end of a log.
type head struct {
	number uint32
	id     entry.Hash
	device DeviceID
	next   uint64     // the number of entries
	hash   entry.Hash // of the last one
	time   hlc.Time   // of the last one
	sealed uint64     // the number of entries that a seal covers

	touched  uint64 // the number of entries that the touch index covers
	contexts uint64 // the number of entries up to the last one with a context
	size     uint64 // of the entries that came from others, in bytes
	cut      uint64 // the seq of the first entry that does not count, by a fork proof; 0: all count

	late    uint64 // the seq of the first data entry that a checkpoint has made late; 0: none is
	abreast uint64 // the number of the last horizon that data behind it has been seen to have seen
}

// head returns the head of a log.
func (t *txn) head(number uint32) (*head, error) {
	if h := t.heads[number]; h != nil {
		return h, nil
	}
	t.key = keyed(t.key[:0], prefixLog, number)
	p, err := t.meta.Get(t.key)
	if err != nil {
		return nil, fmt.Errorf("the head of log %d: %w", number, err)
	}
	h, err := parseHead(number, p)
	if err != nil {
		return nil, err
	}
	t.heads[number] = h
	return h, nil
}

func parseHead(number uint32, p []byte) (*head, error) {
	r := wire.NewReader(p)
	h := &head{number: number, id: r.Hash(), device: r.Hash(), next: r.Uvarint(), hash: r.Hash(),
		time: hlc.Time(r.Uint64()), sealed: r.Uvarint(), touched: r.Uvarint(),
		contexts: r.Uvarint(), cut: r.Uvarint(), late: r.Uvarint(), abreast: r.Uvarint(),
		size: r.Uvarint()}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("the head of log %d: %w: %w", number, err, stoat.ErrCorrupt)
	}
	return h, nil
}

// eachHead yields the heads of all logs, by number.
func (t *txn) eachHead() iter.Seq2[*head, error] {
	return func(yield func(*head, error) bool) {
		if err := t.saveHeads(); err != nil {
			yield(nil, err)
			return
		}
		for key, p := range t.meta.Scan(stoat.Prefix([]byte(prefixLog))) {
			if len(key) != len(prefixLog)+4 {
				yield(nil, fmt.Errorf("the head of a log: %w", stoat.ErrCorrupt))
				return
			}
			h, err := parseHead(binary.BigEndian.Uint32(key[len(prefixLog):]), p)
			if !yield(h, err) || err != nil {
				return
			}
		}
		if err := t.tx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// allHeads returns the heads of all logs, by number, for who changes them meanwhile.
func (t *txn) allHeads() ([]*head, error) {
	var all []*head
	for h, err := range t.eachHead() {
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

// putHead sets the head of a log, which is stored before the transaction commits: a transaction
// may append to one log many times.
func (t *txn) putHead(h *head) error {
	if before := t.heads[h.number]; h.cut > 0 && (before == nil || before.cut != h.cut) {
		t.arrived.any = true // gaps behind a cut are void
	}
	t.heads[h.number] = h
	n := len(t.unsaved)
	if n > 0 && t.unsaved[n-1] == h.number {
		return nil
	}
	t.unsaved = append(t.unsaved, h.number)
	if n > 0 {
		return nil
	}
	return t.tx.BeforeCommit(t.saveHeads)
}

// saveHeads stores the heads that have changed.
func (t *txn) saveHeads() error {
	slices.Sort(t.unsaved)
	for _, number := range slices.Compact(t.unsaved) {
		if h := t.heads[number]; h != nil { // it was not dropped
			if err := t.saveHead(h); err != nil {
				return err
			}
		}
	}
	t.unsaved = t.unsaved[:0]
	return nil
}

// saveHead stores the head of a log.
func (t *txn) saveHead(h *head) error {
	p := append(append(make([]byte, 0, 128), h.id[:]...), h.device[:]...)
	p = append(binary.AppendUvarint(p, h.next), h.hash[:]...)
	p = binary.AppendUvarint(binary.BigEndian.AppendUint64(p, uint64(h.time)), h.sealed)
	p = binary.AppendUvarint(binary.AppendUvarint(p, h.touched), h.contexts)
	p = binary.AppendUvarint(p, h.cut)
	p = binary.AppendUvarint(binary.AppendUvarint(p, h.late), h.abreast)
	p = binary.AppendUvarint(p, h.size)
	t.key = keyed(t.key[:0], prefixLog, h.number)
	return t.meta.Put(t.key, p)
}

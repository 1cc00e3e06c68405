package replica

import (
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// summary is what every commit asks about a space, under one key, so that it costs one lookup:
//
//	uvarint  number of the log that this replica writes
//	u64      greatest time of the entries of others
//	uvarint  number of the last act
//	1 byte   flags
//
// A flag that is not set says that there is nothing under some prefix, or key.
type summary struct {
	own    uint32
	latest hlc.Time
	acts   uint64
	flags  byte
}

// The flags of a summary.
const (
	hasUnseen     = 1 << iota // logs have grown since the own one did
	hasCandidates             // there are checkpoints that may be decided
	hasHorizon                // a checkpoint was decided
)

// facts returns the summary of the space. Change it with putFacts only.
func (t *txn) facts() (summary, error) {
	if t.factsRead {
		return t.summary, nil
	}
	p, err := t.meta.Get([]byte(keySummary))
	if missing(err) { // the space is being created
		t.factsRead = true
		return t.summary, nil
	}
	if err != nil {
		return summary{}, err
	}
	r := wire.NewReader(p)
	s := summary{own: uint32(r.Uvarint()), latest: hlc.Time(r.Uint64()), acts: r.Uvarint(),
		flags: r.Byte()}
	if err := r.End(); err != nil {
		return summary{}, fmt.Errorf("the summary of the space: %w: %w", err, stoat.ErrCorrupt)
	}
	t.summary, t.factsRead = s, true
	return s, nil
}

// putFacts stores a summary, unless it is stored already.
func (t *txn) putFacts(s summary) error {
	if t.factsRead && s == t.summary {
		return nil
	}
	p := binary.AppendUvarint(nil, uint64(s.own))
	p = binary.BigEndian.AppendUint64(p, uint64(s.latest))
	p = append(binary.AppendUvarint(p, s.acts), s.flags)
	t.summary, t.factsRead = s, true
	return t.meta.Put([]byte(keySummary), p)
}

// has reports whether there may be something that a flag is about.
func (t *txn) has(flag byte) (bool, error) {
	s, err := t.facts()
	return s.flags&flag != 0, err
}

// setFlag sets a flag, or clears it.
func (t *txn) setFlag(flag byte, set bool) error {
	s, err := t.facts()
	if err != nil {
		return err
	}
	s.flags &^= flag
	if set {
		s.flags |= flag
	}
	return t.putFacts(s)
}

// latest returns the greatest time of the entries of others.
func (t *txn) latest() (hlc.Time, error) {
	s, err := t.facts()
	return s.latest, err
}

func (t *txn) putLatest(latest hlc.Time) error {
	s, err := t.facts()
	if err != nil {
		return err
	}
	s.latest = latest
	return t.putFacts(s)
}

// ownNumber returns the number of the log that this replica writes, which may change while the
// space is open.
func (t *txn) ownNumber() (uint32, error) {
	s, err := t.facts()
	if err == nil && s.own == 0 {
		err = stoat.ErrNotFound
	}
	return s.own, err
}

func (t *txn) putOwnNumber(log uint32) error {
	s, err := t.facts()
	if err != nil {
		return err
	}
	s.own = log
	return t.putFacts(s)
}

// rightsVersion returns a number that is another one whenever acts were added: that of the last
// one.
func (t *txn) rightsVersion() (uint64, error) {
	s, err := t.facts()
	return s.acts, err
}

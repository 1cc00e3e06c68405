package replica

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// A checkpoint covers what all devices that write are known to have seen. So a device that has
// written something, and does not any more, says now and then what it has seen, by an entry of
// context alone. Such entries need no answer: only data and control entries of others do. So
// replicas that are idle come to rest.

// A device says what it has seen if it has not named it for so long, or so many entries.
const (
	ackAfter   = 24 * time.Hour
	ackEntries = 4096
)

// owed is what others have written since the own log last named what it has seen: the time at which
// the first of it arrived, and how many entries there are.
type owed struct {
	since   uint64 // in milliseconds since 1970
	entries uint64
}

// owed returns what the own log has not named.
func (t *txn) owed() (o owed, err error) {
	p, err := t.meta.Get([]byte(keyOwed))
	if missing(err) {
		return o, nil
	}
	if err == nil && len(p) != 16 {
		err = fmt.Errorf("%q has %d bytes instead of 16: %w", keyOwed, len(p), stoat.ErrCorrupt)
	}
	if err != nil {
		return o, err
	}
	return owed{binary.BigEndian.Uint64(p), binary.BigEndian.Uint64(p[8:])}, nil
}

// owe notes that entries of others were merged.
func (t *txn) owe(entries uint64) error {
	o, err := t.owed()
	if err != nil || entries == 0 {
		return err
	}
	if o.entries == 0 {
		o.since = uint64(t.space.time().UnixMilli())
	}
	p := binary.BigEndian.AppendUint64(nil, o.since)
	return t.meta.Put([]byte(keyOwed), binary.BigEndian.AppendUint64(p, o.entries+entries))
}

// mustAck reports whether the own log should name what it has seen. A log with a genesis entry only
// holds up nothing, and neither does one that is left.
func (t *txn) mustAck(own *head) (bool, error) {
	device := t.space.device
	if device == nil || own.device != device.ID() || own.next < 2 || own.cut > 0 || own.late > 0 {
		return false, nil
	}
	o, err := t.owed()
	if err != nil || o.entries == 0 {
		return false, err
	}
	waited := t.space.time().Sub(time.UnixMilli(int64(o.since)))
	return o.entries >= ackEntries || waited >= ackAfter || waited < -ackAfter, nil
}

// ack names what the own log has seen, if it should.
func (s *Space) ack() error {
	return s.inUpdate(func(t *txn) error {
		own, err := t.ownHead()
		if err != nil {
			return err
		}
		if must, err := t.mustAck(own); err != nil || !must {
			return err
		}
		next, err := t.nextOwn()
		if err != nil {
			return err
		}
		if len(next.heads) == 0 {
			return t.meta.Delete([]byte(keyOwed))
		}
		return t.issue(next, &entry.Entry{Kind: entry.KindContext})
	})
}

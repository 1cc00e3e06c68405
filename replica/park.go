package replica

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Verified entries that cannot be merged yet, or ever, are parked: stored at their places, behind
// the last merged entry of their log, with the seal of their run. So a replica can pass on all that
// it has merged, whose seal may be behind what waits, and verifies nothing twice. head.next is how
// far a log is merged, and head.sealed how far it is there.
//
// A log with parked entries has a wait, which says what its next entry waits for. Two indexes find
// the waits that may be over:
//
//	"needed" id u32   of a log that lacks an entry, and a log that waits for it
//	"ahead" u64 u32   a time that is ahead of the clock, and a log that waits for it

// cause says why the next entry of a log waits.
type cause byte

const (
	causeContext cause = 1 // an entry that it follows is missing
	causeAhead   cause = 2 // its time is ahead of the clock
	causeInvalid cause = 3 // it is not valid, and the log ends before it
	causeNewer   cause = 4 // it needs a newer version of this package
	causeOther   cause = 5
	causeEarly   cause = 6 // it is not valid unless a log that it names is cut before what it names
)

// wait is why the next entry of a log is not merged. It is stored under "wait" u32:
//
//	u8       cause
//	u64      since, in milliseconds since 1970
//	u64      time of the entry
//	hash     log and
//	uvarint  seq of the entry that is missing; zeros if none is
//	uvarint  size of the parked entries in bytes
//	         the reason in words, to the end
type wait struct {
	cause cause
	since uint64
	time  hlc.Time
	needs entry.Head
	size  uint64
	text  string
}

// waitError is the reason of a stored wait.
type waitError struct {
	text string
	is   error
}

func (e *waitError) Error() string { return e.text }
func (e *waitError) Unwrap() error { return e.is }

// reason returns the reason of the wait.
func (w *wait) reason() error {
	is := map[cause]error{causeContext: &lacking{w.needs}, causeAhead: errAhead,
		causeInvalid: ErrInvalid, causeNewer: ErrNewer, causeEarly: ErrInvalid}[w.cause]
	return &waitError{w.text, is}
}

// newWait returns the wait of an entry.
func newWait(reason error, at hlc.Time) *wait {
	w := &wait{cause: causeOther, time: at, text: reason.Error()}
	lacks := lackedBy(reason)
	switch {
	case lacks != nil:
		w.cause, w.needs = causeContext, lacks.Head
	case errors.Is(reason, errAhead):
		w.cause = causeAhead
	case errors.Is(reason, errEarly):
		w.cause = causeEarly
	case errors.Is(reason, ErrInvalid):
		w.cause = causeInvalid
	case errors.Is(reason, ErrNewer):
		w.cause = causeNewer
	}
	return w
}

// ends reports whether the log has ended with the entry before, as far as is known.
func (w *wait) ends() bool { return w.cause == causeInvalid || w.cause == causeEarly }

func parseWait(p []byte) (*wait, error) {
	r := wire.NewReader(p)
	w := &wait{cause: cause(r.Byte()), since: r.Uint64(), time: hlc.Time(r.Uint64()),
		needs: entry.Head{Log: r.Hash(), Seq: r.Uvarint()}, size: r.Uvarint()}
	w.text = string(r.Rest())
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("a wait: %w: %w", err, stoat.ErrCorrupt)
	}
	return w, nil
}

// waitOf returns the wait of a log, or nil.
func (t *txn) waitOf(log uint32) (*wait, error) {
	t.key = keyed(t.key[:0], prefixWait, log)
	p, err := t.meta.Get(t.key)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseWait(p)
}

// index returns the key by which the wait of a log is found, or nil if nothing ends it.
func (w *wait) index(log uint32) []byte {
	switch w.cause {
	case causeContext:
		return binary.BigEndian.AppendUint32(append([]byte(prefixNeeded), w.needs.Log[:]...), log)
	case causeAhead:
		key := binary.BigEndian.AppendUint64([]byte(prefixAhead), uint64(w.time))
		return binary.BigEndian.AppendUint32(key, log)
	}
	return nil
}

// setWait stores the wait of a log, in place of the one that it has; nil ends that. More is the
// size of entries that are parked with it.
func (t *txn) setWait(log uint32, w *wait, more uint64) error {
	old, err := t.waitOf(log)
	if err != nil {
		return err
	}
	total, err := t.parkedSize()
	if err != nil {
		return err
	}
	if old != nil {
		total -= min(total, old.size)
		if key := old.index(log); key != nil {
			if err := t.meta.Delete(key); err != nil {
				return err
			}
		}
	}
	key := keyed(nil, prefixWait, log)
	if w == nil {
		return errors.Join(t.meta.Delete(key), t.putParkedSize(total))
	}
	w.since, w.size = uint64(t.space.time().UnixMilli()), more
	if old != nil {
		w.since, w.size = old.since, old.size+more
	}
	if index := w.index(log); index != nil {
		if err := t.meta.Put(index, nil); err != nil {
			return err
		}
	}
	p := binary.BigEndian.AppendUint64([]byte{byte(w.cause)}, w.since)
	p = append(binary.BigEndian.AppendUint64(p, uint64(w.time)), w.needs.Log[:]...)
	p = binary.AppendUvarint(binary.AppendUvarint(p, w.needs.Seq), w.size)
	return errors.Join(t.meta.Put(key, append(p, w.text...)), t.putParkedSize(total+w.size))
}

// parkedSize returns the size of all parked entries in bytes.
func (t *txn) parkedSize() (uint64, error) {
	p, err := t.meta.Get([]byte(keyParked))
	if missing(err) {
		return 0, nil
	}
	if err == nil && len(p) != 8 {
		err = stoat.ErrCorrupt
	}
	if err != nil {
		return 0, fmt.Errorf("the size of what waits: %w", err)
	}
	return binary.BigEndian.Uint64(p), nil
}

func (t *txn) putParkedSize(n uint64) error {
	return t.meta.Put([]byte(keyParked), binary.BigEndian.AppendUint64(nil, n))
}

// park stores the entries of a run that are not there yet, with its seal. It drops them if too much
// is parked already, unless the run has entries that were merged.
func (a *incoming) park(t *txn, h *head, v *verified) (more uint64, err error) {
	from := max(h.next, h.sealed)
	for seq := from; seq < v.end(); seq++ {
		more += uint64(len(v.entries[seq-v.first])) + 64
	}
	w, err := t.waitOf(h.number)
	if err != nil {
		return 0, err
	}
	total, err := t.parkedSize()
	if err != nil {
		return 0, err
	}
	full := total+more > roomSpace || w != nil && w.size+more > roomLog
	if more == 0 || full && (h.next == h.sealed || h.next < v.first) {
		return 0, nil
	}
	for seq := from; seq < v.end(); seq++ {
		stored := []byte{0}
		if seq%hashStep == hashStep-1 {
			stored = append([]byte{keptHash}, v.hashes[seq-v.first][:]...)
		}
		stored = append(stored, v.entries[seq-v.first]...)
		if err := t.entries.Put(entryKey(nil, "", h.number, seq), stored); err != nil {
			return 0, err
		}
	}
	return more, a.keepSeal(t, h, v)
}

// settleLater notes that a log needs what settle does, if it is of this device.
func (t *txn) settleLater(h *head) error {
	own, err := t.ownHead()
	if err != nil || h.device != own.device {
		return err
	}
	return t.putSettle(h)
}

// block parks the rest of a run whose next entry cannot be merged. It returns the reason if the
// rest is not valid, or is not parked. The own log is never parked: what is written next would
// collide with it.
func (a *incoming) block(t *txn, h *head, v *verified, reason error) (error, error) {
	own, err := t.ownNumber()
	if err != nil || h.number == 0 || h.number == own || errors.Is(reason, errBranch) {
		return reason, err
	}
	more := uint64(0)
	if !v.parked {
		if more, err = a.park(t, h, v); err != nil {
			return nil, err
		}
	}
	if h.sealed > h.next {
		err = t.setWait(h.number, newWait(reason, v.parsed[v.done].Time), more)
	}
	if !errors.Is(reason, ErrInvalid) {
		reason = nil
	}
	return reason, err
}

// parkBehind parks what a run has behind entries that are parked.
func (a *incoming) parkBehind(t *txn, h *head, v *verified) (reason, err error) {
	w, err := t.waitOf(h.number)
	if err != nil || w == nil {
		return errGap, err
	}
	if w.ends() {
		return invalid("log %s has ended with entry %d: %w", h.id, h.next, w.reason()), nil
	}
	more, err := a.park(t, h, v)
	if err == nil && more > 0 {
		err = t.setWait(h.number, w, more)
	}
	return nil, err
}

// neededBy returns the logs that wait for entries of a log that are merged now.
func (t *txn) neededBy(h *head) (logs []uint32, err error) {
	prefix := append([]byte(prefixNeeded), h.id[:]...)
	for key := range t.meta.Keys(stoat.Prefix(prefix)) {
		if len(key) != len(prefix)+4 {
			return nil, fmt.Errorf("what needs log %s: %w", h.id, stoat.ErrCorrupt)
		}
		log := binary.BigEndian.Uint32(key[len(prefix):])
		w, err := t.waitOf(log)
		if err != nil {
			return nil, err
		}
		if w != nil && w.needs.Seq < h.next {
			logs = append(logs, log)
		}
	}
	return logs, t.tx.Err()
}

// due returns the logs whose waits the clock has ended; or all that wait, when more than time may
// have ended their waits: the process is a new one, which may be of a newer version, a log was cut,
// or the horizon has moved. The latter two may also make an entry valid whose time was not after
// those that it names.
func (t *txn) due(all bool) (logs []uint32, err error) {
	if all {
		err := t.eachWait(func(log uint32, w *wait) error {
			if w.cause != causeInvalid {
				logs = append(logs, log)
			}
			return nil
		})
		return logs, err
	}
	for key := range t.meta.Keys(stoat.Prefix([]byte(prefixAhead))) {
		if key = key[len(prefixAhead):]; len(key) != 12 {
			return nil, fmt.Errorf("what waits for its time: %w", stoat.ErrCorrupt)
		}
		if hlc.Time(binary.BigEndian.Uint64(key)).Ahead(t.space.time()) {
			break
		}
		logs = append(logs, binary.BigEndian.Uint32(key[8:]))
	}
	return logs, t.tx.Err()
}

// eachWait calls fn for each log that waits.
func (t *txn) eachWait(fn func(log uint32, w *wait) error) error {
	for key, p := range t.meta.Scan(stoat.Prefix([]byte(prefixWait))) {
		w, err := parseWait(p)
		if err == nil {
			err = fn(binary.BigEndian.Uint32(key[len(prefixWait):]), w)
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}

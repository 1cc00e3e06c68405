package replica

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// ErrQuota reports entries that a replica does not take now, because they exceed a [Quota]. They
// are valid: other replicas may take them, and so may this one later.
var ErrQuota = errors.New("over the quota")

// ErrNotAdmitted reports entries that [Options].Admit did not let in. They are valid: other
// replicas may take them.
var ErrNotAdmitted = errors.New("not admitted")

// Quota limits what a replica takes from others. It is local: it does not decide what is valid. 0
// stands for no limit.
type Quota struct {
	Entries int64 // a second; what is above waits, as long as there is room, and arrives later
	Bytes   int64 // a second; the same
	Stored  int64 // bytes of entries
	Logs    int64 // how many
}

// Offer is entries from a device that a replica is about to take.
type Offer struct {
	Device  DeviceID
	Log     LogID
	Entries []*Entry // without Hash and Seen
}

// usage is what a replica has taken, of a device or in all.
type usage struct {
	logs, stored int64
	// Entries and bytes that may be taken now; below zero after a run that was larger. What a short
	// time adds is less than one.
	entries, bytes float64
	filled         time.Time
}

// usages is what a replica has taken. The holder of Space.applying uses it.
type usages struct {
	all     usage
	devices map[DeviceID]*usage
}

// of returns what was taken of a device.
func (u *usages) of(device DeviceID) *usage {
	if u.devices == nil {
		u.devices = map[DeviceID]*usage{}
	}
	if u.devices[device] == nil {
		u.devices[device] = &usage{}
	}
	return u.devices[device]
}

// take adds what was taken of a device.
func (u *usages) take(device DeviceID, logs, stored int64) {
	for _, one := range []*usage{&u.all, u.of(device)} {
		one.logs += logs
		one.stored += stored
	}
}

// takeAll adds what others has.
func (u *usages) takeAll(others *usages) {
	for device, of := range others.devices {
		u.take(device, of.logs, of.stored)
	}
}

// usages returns what the replica has taken. It reads the heads of all logs once.
func (s *Space) usages(t *txn) (*usages, error) {
	if s.taken != nil {
		return s.taken, nil
	}
	u := &usages{}
	for h, err := range t.eachHead() {
		if err != nil {
			return nil, err
		}
		u.take(h.device, 1, int64(h.size))
	}
	s.taken = u
	return u, nil
}

// notTaken reports whether an error says why the replica does not take what is valid.
func notTaken(err error) bool {
	return errors.Is(err, ErrQuota) || errors.Is(err, ErrNotAdmitted)
}

// admit returns nil if the replica takes a run now, and why not if it does not; see notTaken.
func (a *incoming) admit(tx *stoat.Tx, v *verified) error {
	s := a.space
	limited := s.perDevice != Quota{} || s.perSpace != Quota{}
	if v.admitted || !limited && s.admission == nil {
		return nil
	}
	t, err := s.in(tx)
	if err != nil {
		return err
	}
	known, logs, err := t.known(v)
	if err != nil || known == len(v.entries) {
		return err
	}
	if s.admission != nil {
		if err := a.ask(t, v, known); err != nil {
			return err
		}
	}
	if err := a.count(t, v, known, logs); err != nil {
		return err
	}
	v.admitted = true
	return nil
}

// count counts a run, behind the first known entries, unless a quota does not permit to take it.
func (a *incoming) count(t *txn, v *verified, known int, logs int64) error {
	s := a.space
	size := int64(0)
	for _, e := range v.entries[known:] {
		size += int64(len(e))
	}
	u, err := s.usages(t)
	if err != nil {
		return err
	}
	_, met := u.devices[v.device]
	of, now := u.of(v.device), s.time()
	of.fill(s.perDevice, now)
	u.all.fill(s.perSpace, now)
	mine, all := a.taking.of(v.device), &a.taking.all
	why := of.exceeds(s.perDevice, mine.logs+logs, mine.stored+size)
	if why != nil {
		why = fmt.Errorf("the device %s: %w", v.device, why)
	} else if why = u.all.exceeds(s.perSpace, all.logs+logs, all.stored+size); why != nil {
		why = fmt.Errorf("all devices: %w", why)
	}
	if why != nil {
		if !met { // there is no end of devices of which nothing is taken
			delete(u.devices, v.device)
		}
		return why
	}
	for _, one := range []*usage{of, &u.all} {
		one.entries -= float64(len(v.entries) - known)
		one.bytes -= float64(size)
	}
	a.taking.take(v.device, logs, size)
	return nil
}

// known returns how many of the entries of a run the replica has, and 1 if it would be a new log.
// It has all of its own.
func (t *txn) known(v *verified) (known int, logs int64, err error) {
	number, ok, err := t.logNumber(v.log)
	if err != nil {
		return 0, 0, err
	}
	if !ok {
		if v.first == 0 {
			logs = 1
		}
		return 0, logs, nil
	}
	own, err := t.ownNumber()
	if err != nil {
		return 0, 0, err
	}
	h, err := t.head(number)
	switch {
	case err != nil:
		return 0, 0, err
	case number == own || max(h.next, h.sealed) >= v.end():
		return len(v.entries), 0, nil
	}
	return int(max(h.next, h.sealed, v.first) - v.first), 0, nil
}

// ask asks the program whether to take the entries of a run behind the first known ones.
func (a *incoming) ask(t *txn, v *verified, known int) error {
	offer := &Offer{Device: v.device, Log: LogID(v.log)}
	for i := known; i < len(v.parsed); i++ {
		parsed := v.parsed[i]
		e := &Entry{EntryID: EntryID{LogID(v.log), v.first + uint64(i)}, Device: v.device,
			Time: parsed.Time.Time(), Kind: kindName(parsed.Kind), Size: len(v.entries[i])}
		if parsed.Kind == entry.KindData {
			changes, reason := parseParts(parsed)
			if reason != nil {
				return nil // merging says so
			}
			if err := e.addParts(parsed, changes); err != nil {
				return invalid("%w", err)
			}
		}
		offer.Entries = append(offer.Entries, e)
	}
	if reason := a.space.admission(t.tx, offer); reason != nil {
		return &objection{ErrNotAdmitted, reason}
	}
	return nil
}

// fill adds what may be taken since the last time, for a second at most.
func (u *usage) fill(q Quota, now time.Time) {
	passed := now.Sub(u.filled)
	if u.filled.IsZero() || passed > time.Second {
		passed = time.Second
	}
	if passed <= 0 {
		if passed < -time.Second { // the clock was put back
			u.filled = now
		}
		return
	}
	u.filled = now
	add := func(have float64, each int64) float64 {
		return min(have+float64(each)*passed.Seconds(), float64(each))
	}
	u.entries, u.bytes = add(u.entries, q.Entries), add(u.bytes, q.Bytes)
}

// errRate is why entries wait that a quota will permit later.
var errRate = fmt.Errorf("too many a second: %w", ErrQuota)

// exceeds returns which limit does not permit to take more, or nil.
func (u *usage) exceeds(q Quota, logs, stored int64) error {
	switch {
	case q.Logs > 0 && logs > 0 && u.logs+logs > q.Logs:
		return fmt.Errorf("%d logs: %w", u.logs, ErrQuota)
	case q.Stored > 0 && u.stored+stored > q.Stored:
		return fmt.Errorf("%d bytes of entries: %w", u.stored, ErrQuota)
	case q.Entries > 0 && u.entries <= 0:
		return fmt.Errorf("%d entries are permitted: %w", q.Entries, errRate)
	case q.Bytes > 0 && u.bytes <= 0:
		return fmt.Errorf("%d bytes are permitted: %w", q.Bytes, errRate)
	}
	return nil
}

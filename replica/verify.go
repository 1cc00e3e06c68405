package replica

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/seal"
)

// Limits of a run.
const (
	runEntries = 256
	runBytes   = 64 << 10 // after which a run ends
)

// run is entries of a log that follow each other, up to one that is sealed.
type run struct {
	log      entry.Hash
	first    uint64
	entries  [][]byte // in their stored form
	seal     [seal.Size]byte
	prev     *entry.Hash // of the entry before the first, if the sender said so
	session  uint64      // that it came with; 0 for none
	from     DeviceID    // that it came from; zero: not known
	admitted bool        // see incoming.admit
	proven   entry.Hash  // of the last entry, once the seal was verified under it
	since    time.Time   // when it began to wait; zero: it has not
}

// size returns the memory that a run takes, about.
func (r *run) size() int {
	n := 256
	for _, e := range r.entries {
		n += len(e) + 64
	}
	return n
}

// verified is a run whose chain and seal hold, behind a given entry.
type verified struct {
	*run
	done   int  // entries that were merged, or had been before
	parked bool // it comes from where entries are parked
	parsed []*entry.Entry
	prev   entry.Hash // of the entry before the first
	hashes []entry.Hash
	device DeviceID
	branch bool // it does not follow what is stored of its log
	filled bool // it has brought content that was missing
}

// end returns the number of the entry after the run.
func (r *run) end() uint64 { return r.first + uint64(len(r.entries)) }

// seq returns the number of the next entry to be merged.
func (v *verified) seq() uint64 { return v.first + uint64(v.done) }

// errGap reports a run whose predecessors are missing.
var errGap = errors.New("entries before it are missing")

// verify checks that a run belongs where it says it does. The error is errGap if that cannot be
// checked yet. Before is the verified run before it, which may be of another log, or nil.
func (s *Space) verify(tx *stoat.Tx, r *run, before *verified) (*verified, error) {
	if len(r.entries) == 0 || len(r.entries) > runEntries {
		return nil, invalid("a run of %d entries", len(r.entries))
	}
	t, err := s.in(tx)
	if err != nil {
		return nil, err
	}
	v := &verified{run: r, parsed: make([]*entry.Entry, 0, len(r.entries)),
		hashes: make([]entry.Hash, 0, len(r.entries))}
	if err := v.locate(t, before); err != nil {
		return nil, err
	}
	branch := r.prev != nil && r.first > 0 && *r.prev != v.prev
	if branch {
		v.prev = *r.prev
	}
	at := entry.Place{Space: s.id, Log: r.log, Seq: r.first, Prev: v.prev}
	size := 0 // with all content, as its author has sealed it
	for _, stored := range r.entries {
		if size >= runBytes {
			return nil, invalid("log %s, entry %d: a run goes on behind %d bytes", r.log, at.Seq, size)
		}
		e, err := entry.Parse(stored)
		if errors.Is(err, ErrNewer) {
			return nil, fmt.Errorf("log %s, entry %d: %w", r.log, at.Seq, err)
		}
		if err != nil {
			return nil, invalid("log %s, entry %d: %w", r.log, at.Seq, err)
		}
		size += e.WholeSize(len(stored))
		place := at
		if at.Seq == 0 {
			place.Log = entry.Hash{}
		}
		hash := e.Hash(&place)
		if at.Seq == 0 {
			if hash != r.log {
				return nil, invalid("log %s begins with entry %s", r.log, hash)
			}
			g, err := entry.ParseGenesis(e)
			if err != nil {
				return nil, invalid("log %s: %w", r.log, err)
			}
			v.device = g.Device
		} else if e.Kind == entry.KindGenesis {
			return nil, invalid("log %s, entry %d: a genesis entry", r.log, at.Seq)
		}
		v.parsed, v.hashes = append(v.parsed, e), append(v.hashes, hash)
		at.Seq, at.Prev = at.Seq+1, hash
	}
	last := r.first + uint64(len(r.entries)) - 1
	if r.proven != at.Prev {
		at.Seq = last
		if err := s.checkSeal(v.device, &at, &r.seal); err != nil {
			return nil, t.orVoid(r, err)
		}
	}
	r.proven = at.Prev
	v.branch = branch // the device has sealed this, too
	return v, t.trim(v)
}

// checkSeal checks the seal of a device under an entry, whose place is given with its own hash. In
// a trusted space, nothing is signed.
func (s *Space) checkSeal(device DeviceID, at *entry.Place, sig *[seal.Size]byte) error {
	s.mu.Lock()
	about := s.about
	s.mu.Unlock()
	message := entry.AppendSealed(nil, &s.id, &at.Log, at.Seq, &at.Prev)
	unsealed := *sig == [seal.Size]byte{}
	switch {
	case about == nil && unsealed:
		return errUndescribed
	case about != nil && about.Trusted && !unsealed:
		return invalid("log %s: entry %d has a seal, and the space is trusted", at.Log, at.Seq)
	case about != nil && about.Trusted:
		return nil
	case !seal.Verify((*[seal.KeySize]byte)(&device), message, sig):
		return invalid("log %s: the seal of entry %d", at.Log, at.Seq)
	}
	return nil
}

// errVoid reports a run behind the cut of its log, which need not be kept.
var errVoid = errors.New("its log is cut before it")

// orVoid returns errVoid instead of why a run is not valid if it is behind the cut of its log: it
// may follow another branch.
func (t *txn) orVoid(r *run, invalid error) error {
	number, known, err := t.logNumber(r.log)
	if err != nil || !known {
		return cmp.Or(err, invalid)
	}
	h, err := t.head(number)
	if err == nil && h.voids(r.first) {
		return errVoid
	}
	return cmp.Or(err, invalid)
}

// locate sets the device of the log and the hash of the entry before the run.
func (v *verified) locate(t *txn, before *verified) error {
	if before != nil && before.log == v.log && v.first <= before.end() {
		v.device, v.prev = before.device, before.prev
		if v.first > before.first { // it is not less: runs are in order
			v.prev = before.hashes[v.first-1-before.first]
		}
		return nil
	}
	number, known, err := t.logNumber(v.log)
	if err != nil {
		return err
	}
	if !known {
		if v.first > 0 {
			return errGap
		}
		return nil
	}
	h, err := t.head(number)
	if err != nil {
		return err
	}
	v.device = h.device
	switch {
	case v.first > max(h.next, h.sealed) && h.voids(v.first):
		if v.run.prev == nil {
			return errVoid
		}
		v.prev = *v.run.prev
	case v.first > max(h.next, h.sealed):
		return errGap
	case v.first > 0:
		v.prev, err = t.hashOf(number, v.first-1)
	}
	if err != nil {
		return fmt.Errorf("log %s: %w", v.log, err)
	}
	return nil
}

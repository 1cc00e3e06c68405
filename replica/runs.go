package replica

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/seal"
)

// Seal signs the entries that this replica has written since the last seal, and makes them durable.
// [Sync] does so itself, since only sealed entries leave a replica. Call it before the space is
// opened with another device. Seal also merges what has waited for the clock, if its time has come,
// and once a day makes an entry that says what this replica has seen, if it writes nothing else:
// checkpoints cover what all have seen.
//
// Entries must be durable before others have them: one that a power cut takes back afterwards would
// fork the log.
//
// As long as a replica that has joined does not know the description of the space, which says
// whether there are signatures at all, Seal does nothing.
func (s *Space) Seal() error { return wrap(s.name, s.sealAll()) }

// sealAll is Seal, with errors that do not name the space.
func (s *Space) sealAll() error {
	if s.described() == nil {
		return nil
	}
	if s.device != nil {
		if _, err := s.applyFrom(0, nil); err != nil {
			return err
		}
	}
	return s.sealOwn()
}

// sealOwn is sealAll without what has waited.
func (s *Space) sealOwn() error {
	s.applying.Lock()
	defer s.applying.Unlock()
	written, acks, err := s.written()
	if err == nil && acks {
		if err = s.ack(); err == nil {
			written, _, err = s.written()
		} else if errors.Is(err, stoat.ErrReadOnly) {
			err = nil // nothing is written here, nor sealed
		}
	}
	if err == nil && written.sealed < written.next {
		err = s.sealUpTo(&written)
	} else if err == nil {
		err = s.db.Sync()
	}
	return err
}

// written returns the own log, and whether it should name what it has seen.
func (s *Space) written() (own head, acks bool, err error) {
	err = s.db.View(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		h, err := t.ownHead()
		if err == nil {
			own = *h
			acks, err = t.mustAck(h)
		}
		return err
	})
	return own, acks, err
}

// sealUpTo seals the own log up to an end that it had. As soon as a seal is committed, a session
// may send what it covers, so that is made durable before.
func (s *Space) sealUpTo(end *head) error {
	if s.device == nil {
		return errNoDevice
	}
	if err := s.db.Sync(); err != nil {
		return err
	}
	var grown *growth
	err := s.db.Update(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		h, err := t.ownHead()
		if err == nil && h.number == end.number && h.sealed < end.next && h.next >= end.next {
			if err = t.seal(end.next); err == nil {
				err = t.decide()
			}
		}
		grown = t.growth
		return err
	})
	if err == nil {
		err = s.db.Sync()
	}
	if err == nil {
		s.chronicle.add(grown)
	}
	return err
}

// seal seals the end of each run of the own log up to an entry. A checkpoint ends its run, so that
// its proof run has nothing else, and a large one is alone in it, so that proof runs of acts do not
// have it: see proofSize.
func (t *txn) seal(next uint64) error {
	h, err := t.signingHead()
	if err != nil {
		return err
	}
	count, size := 0, 0
	for seq := h.sealed; seq < next; seq++ {
		sent, err := t.sent(h.number, seq)
		if err != nil {
			return err
		}
		last := entry.IsCheckpoint(sent)
		if last && count > 0 && len(sent) >= runBytes {
			if err := t.sign(h, seq-1); err != nil {
				return err
			}
			count, size = 0, 0
		}
		count, size = count+1, size+len(sent)
		if !last && count < runEntries && size < runBytes && seq+1 < next &&
			seq%runEntries != runEntries-1 {
			continue
		}
		if err := t.sign(h, seq); err != nil {
			return err
		}
		count, size = 0, 0
	}
	from := h.sealed
	h.sealed = next
	if err := t.grew(h, from, 0); err != nil {
		return err
	}
	if err := t.indexTail(h); err != nil {
		return err
	}
	return t.putHead(h)
}

// sign seals an entry of the own log.
func (t *txn) sign(h *head, seq uint64) error {
	hash, err := t.hashOf(h.number, seq)
	if err != nil {
		return err
	}
	sig := make([]byte, seal.Size)
	if !t.space.trusted() {
		message := entry.AppendSealed(nil, &t.space.id, &h.id, seq, &hash)
		sig = ed25519.Sign(t.space.device.key, message)
	}
	return t.meta.Put(entryKey(nil, prefixSeal, h.number, seq), sig)
}

// sealAtOnce seals an entry that was just made, if a session waits for it and nothing else: so it
// need not wait for a commit of the seal. A session that is busy seals many entries together.
func (t *txn) sealAtOnce(made *nextEntry) error {
	if made.log.sealed < made.log.next || !t.space.chronicle.awaited.Load() {
		return nil
	}
	if err := t.seal(made.at.Seq + 1); err != nil {
		return err
	}
	return t.decide()
}

// errNoSeal reports a log whose seals are not what its head says.
var errNoSeal = errors.New("a log has no seal at its end")

// runFrom returns the run of a log that begins with an entry and ends with the next that is sealed.
// What it returns is the caller's.
func (t *txn) runFrom(h *head, first uint64) (*run, error) {
	r := &run{log: h.id, first: first}
	last, sealed := uint64(0), false
	from := stoat.Range{Start: entryKey(nil, prefixSeal, h.number, first),
		End: entryKey(nil, prefixSeal, h.number, h.sealed), Limit: 1}
	for key, sig := range t.meta.Scan(from) {
		last, sealed = binary.BigEndian.Uint64(key[len(key)-8:]), true
		if copy(r.seal[:], sig) != seal.Size {
			return nil, fmt.Errorf("the seal of entry %d of log %d: %w", last, h.number,
				stoat.ErrCorrupt)
		}
	}
	if err := t.tx.Err(); err != nil {
		return nil, err
	}
	if !sealed { // a replica that started from a checkpoint lacks the seals that it covers
		return nil, t.whyMissing(spot{h.number, first}, errNoSeal)
	}
	size := 0
	for seq := first; seq <= last; seq++ {
		if len(r.entries) == runEntries || size >= runBytes { // acts are here without their seals
			return nil, t.whyMissing(spot{h.number, first}, errNoSeal)
		}
		sent, err := t.sent(h.number, seq)
		if err != nil {
			return nil, err
		}
		size += len(sent)
		r.entries = append(r.entries, append([]byte{}, sent...))
	}
	return r, nil
}

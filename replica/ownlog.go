package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// beginLog starts a log of the device, which has seen all others. It becomes the own log.
func (t *txn) beginLog() error {
	latest, err := t.latest()
	if err != nil {
		return err
	}
	for h, err := range t.eachHead() {
		if err == nil {
			err = t.putUnseen(h.number)
		}
		if err != nil {
			return err
		}
		latest = max(latest, h.time)
	}
	if err := t.putLatest(latest); err != nil {
		return err
	}
	g := entry.Genesis{Device: t.space.device.ID(), Branch: t.space.branch}
	if _, err := io.ReadFull(t.space.random, g.Incarnation[:]); err != nil {
		return err
	}
	at, err := hlc.Next(latest, t.space.time())
	if err != nil {
		return err
	}
	e := g.Entry(at)
	id := e.Hash(&entry.Place{Space: t.space.id})
	h, err := t.addLog(id, g.Device)
	if err == nil {
		err = t.append(h, e, e.Append(nil), id)
	}
	if err == nil {
		err = t.putOwnNumber(h.number)
	}
	return err
}

// errOtherDevice reports a space that was opened again, with another device.
var errOtherDevice = errors.New("the space was opened with another device meanwhile: open it again")

// signingHead returns the head of the own log, for which the device can sign.
func (t *txn) signingHead() (*head, error) {
	if t.space.device == nil {
		return nil, errNoDevice
	}
	h, err := t.ownHead()
	if err == nil && h.device != t.space.device.ID() {
		err = fmt.Errorf("%w: with %s", errOtherDevice, h.device)
	}
	return h, err
}

// continuesLog reports whether this replica may go on writing its log: it began in this branch of
// the database, belongs to the device, and nothing has to be settled.
func (t *txn) continuesLog() (bool, error) {
	for range t.meta.Keys(stoat.Prefix([]byte(prefixSettle))) {
		return false, nil
	}
	h, err := t.ownHead()
	if err != nil {
		return false, err
	}
	e, err := t.entry(h.number, 0)
	if err != nil {
		return false, err
	}
	g, err := entry.ParseGenesis(e)
	if err != nil {
		return false, fmt.Errorf("the genesis entry of log %s: %w: %w", h.id, err, stoat.ErrCorrupt)
	}
	return h.device == t.space.device.ID() && g.Branch == t.space.branch, nil
}

// leaveLog begins a new log, in which the entries of the old one are issued again from one on. They
// are removed from another one on, which must not be sealed: these have never left this database,
// but a copy of it may seal other entries with their numbers.
func (t *txn) leaveLog(from, remove uint64) error {
	h, err := t.ownHead()
	if err != nil {
		return err
	}
	old := *h
	var prev entry.Hash
	if from > 0 {
		if prev, err = t.hashOf(old.number, from-1); err != nil {
			return err
		}
	}
	if err := t.replayEntries(old.number, remove, old.next); err != nil {
		return err
	}
	if err := t.beginLog(); err != nil { // its time is after that of the old one
		return err
	}
	if remove < old.next {
		if err := t.endLog(&old, remove); err != nil {
			return err
		}
	}
	if err := t.reissueFrom(&old, from, prev); err != nil || remove == old.next {
		return err
	}
	return t.removeEntries(&old, remove)
}

// reissueFrom issues the entries of a log again from one on, given the hash of the one before.
func (t *txn) reissueFrom(h *head, from uint64, prev entry.Hash) error {
	for seq := from; seq < h.next; seq++ {
		e, err := t.entry(h.number, seq)
		if err != nil {
			return err
		}
		at := entry.Place{Space: t.space.id, Log: h.id, Seq: seq, Prev: prev}
		if seq == 0 {
			at.Log = entry.Hash{}
		}
		prev = e.Hash(&at)
		o := &orphan{entry.Last{Head: entry.Head{Log: h.id, Seq: seq}, Hash: prev}, e}
		if e.Origin != nil {
			o.origin = *e.Origin
		}
		switch e.Kind {
		case entry.KindControl:
			err = t.reissueAct(o)
		case entry.KindData:
			err = t.reissueOnce(o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// orphan is an entry that does not count, or is no longer in its log, and is issued again.
type orphan struct {
	origin entry.Last
	entry  *entry.Entry
}

// orphan returns an entry of a log, to be issued again. Its origin is the first of which it is a
// repeat.
func (t *txn) orphan(h *head, seq uint64) (*orphan, error) {
	hash, err := t.hashOf(h.number, seq)
	if err != nil {
		return nil, err
	}
	e, err := t.entry(h.number, seq)
	if err != nil {
		return nil, err
	}
	if e.Origin != nil {
		return &orphan{*e.Origin, e}, nil
	}
	return &orphan{entry.Last{Head: entry.Head{Log: h.id, Seq: seq}, Hash: hash}, e}, nil
}

// reissueOnce appends those changes of an entry to the own log that count in no repeat of it. This
// device need not be allowed to make the changes any more: then they are void, and others may adopt
// them.
func (t *txn) reissueOnce(o *orphan) error {
	if _, err := parseParts(o.entry); err != nil {
		return nil // there is nothing to save: void entries are not checked when they are stored
	}
	var parts []entry.Part
	for i := range o.entry.Parts {
		part := o.entry.Parts[i]
		if part.Withheld != nil || part.Broken != nil {
			continue // others may save it
		}
		done, err := t.repeated(&o.origin, &part)
		if err != nil {
			return err
		}
		if !done {
			part.Data = bytes.Clone(part.Data)
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	next, err := t.nextOwn()
	if err != nil {
		return err
	}
	return t.place(next, &entry.Entry{Kind: entry.KindData, Origin: &o.origin, Parts: parts})
}

// makeEntry appends a data entry to the own log, if the device may write it. The records that it
// touches are replayed when the transaction commits.
func (t *txn) makeEntry(e *entry.Entry) error {
	next, err := t.nextOwn()
	if err == nil {
		err = t.mayWrite(next, e)
	}
	if err != nil {
		return err
	}
	return t.place(next, e)
}

// place is makeEntry at a place where the device may write it.
func (t *txn) place(next *nextEntry, e *entry.Entry) error {
	if err := t.issue(next, e); err != nil {
		return err
	}
	return t.replayEntries(next.at.Log, next.at.Seq, next.at.Seq+1)
}

// putSettle notes that a log of this device needs what settle does.
func (t *txn) putSettle(h *head) error {
	return t.meta.Put(keyed(nil, prefixSettle, h.number), nil)
}

// settle leaves the own log if a copy of the database continues it, or if it is cut, and issues
// again what is void of the logs of this device. Without a device, that is left to the next one
// that opens the space.
func (t *txn) settle() error {
	if t.space.device == nil {
		return nil
	}
	noted := stoat.Prefix([]byte(prefixSettle))
	for key := range t.meta.Keys(noted) {
		h, err := t.head(binary.BigEndian.Uint32(key[len(prefixSettle):]))
		if err != nil {
			return err
		}
		own, err := t.ownNumber()
		if err != nil {
			return err
		}
		from := h.sealed
		if h.cut > 0 {
			from = min(h.cut, h.sealed)
		}
		if h.number == own {
			err = t.leaveLog(from, h.sealed)
		} else if h.cut > 0 && from > 0 {
			var prev entry.Hash
			if prev, err = t.hashOf(h.number, from-1); err == nil {
				err = t.reissueFrom(h, from, prev)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := t.tx.Err(); err != nil {
		return err
	}
	return t.meta.DeleteRange(noted)
}

// endLog makes a log end before an entry. What follows is forgotten, except the entries and their
// contexts: see removeEntries. No other entry has seen them.
func (t *txn) endLog(h *head, next uint64) error {
	if err := t.readRights(); err != nil {
		return err
	}
	if err := t.forgetVotes(h.number, next); err != nil {
		return err
	}
	for seq := next; seq < h.next; seq++ {
		if err := t.unnote(h, seq); err != nil {
			return err
		}
	}
	end := *h
	end.next, end.touched = next, min(h.touched, next)
	if next > 0 {
		var err error
		if end.hash, err = t.hashOf(h.number, next-1); err != nil {
			return err
		}
		if end.time, err = t.timeOf(spot{h.number, next - 1}); err != nil {
			return err
		}
		if end.contexts, err = t.lastContext(h.number, next-1); err != nil {
			return err
		}
	}
	clear(t.unseen)
	t.hashed = hashed{}
	if end.touched == end.next {
		if err := t.meta.Delete(keyed(nil, prefixTail, h.number)); err != nil {
			return err
		}
	}
	if next == 0 {
		if err := t.truncateRights(h.number, 0); err != nil {
			return err
		}
		return t.dropLog(h)
	}
	if err := t.putHead(&end); err != nil {
		return err
	}
	return t.truncateRights(h.number, next)
}

// removeEntries removes the entries of a log from one on, before which it ends.
func (t *txn) removeEntries(h *head, from uint64) error {
	for _, prefix := range []string{prefixContext, prefixVector} {
		if err := t.meta.DeleteRange(entriesFrom(prefix, h.number, from)); err != nil {
			return err
		}
	}
	clear(t.frontiers)
	return t.entries.DeleteRange(entriesFrom("", h.number, from))
}

// entriesFrom returns the range of the keys of a log's entries from one on.
func entriesFrom(prefix string, log uint32, seq uint64) stoat.Range {
	return stoat.Range{Start: entryKey(nil, prefix, log, seq),
		End: append(entryKey(nil, prefix, log, math.MaxUint64), 0)}
}

// dropLog removes a log that has no entries.
func (t *txn) dropLog(h *head) error {
	for _, prefix := range []string{prefixLog, prefixUnseen} {
		if err := t.meta.Delete(keyed(nil, prefix, h.number)); err != nil {
			return err
		}
	}
	delete(t.heads, h.number)
	delete(t.numbers, h.id)
	return t.meta.Delete(append([]byte(prefixNumber), h.id[:]...))
}

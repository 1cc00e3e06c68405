package replica

import (
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
	latest := t.latest()
	for h, err := range t.eachHead() {
		if err == nil {
			err = t.meta.Put(keyed(nil, prefixUnseen, h.number), nil)
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
		err = t.putNumber(keyOwn, h.number)
	}
	t.own = h.number
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
// the database, and belongs to the device.
func (t *txn) continuesLog() (bool, error) {
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

// leaveLog begins a new log. Entries of the old one that are not sealed move to the new one: they
// have never left this database, but a copy of it may seal other entries with their numbers.
func (t *txn) leaveLog() error {
	old, err := t.ownHead()
	if err != nil {
		return err
	}
	tail, err := t.tailFrom(old, old.sealed)
	if err != nil {
		return err
	}
	if err := t.replayEntries(old.number, old.sealed, old.next); err != nil {
		return err
	}
	if err := t.beginLog(); err != nil { // its time is after those of the tail
		return err
	}
	if err := t.truncate(old, old.sealed); err != nil {
		return err
	}
	return t.reissue(tail)
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

// tailFrom returns the entries of a log from one on.
func (t *txn) tailFrom(h *head, from uint64) ([]orphan, error) {
	var tail []orphan
	for seq := from; seq < h.next; seq++ {
		o, err := t.orphan(h, seq)
		if err != nil {
			return nil, err
		}
		tail = append(tail, *o)
	}
	return tail, nil
}

// reissue appends the changes of entries, and their acts, to the own log. The records that they
// touch are replayed when the transaction commits.
func (t *txn) reissue(orphans []orphan) error {
	acts := map[entry.Head]entry.Head{} // that were issued again
	for i := range orphans {
		o := &orphans[i]
		next, err := t.nextOwn()
		if err == nil && o.entry.Kind == entry.KindControl {
			err = t.reissueAct(next, o, acts)
		}
		if err != nil {
			return err
		}
		if o.entry.Kind != entry.KindData {
			continue
		}
		e := &entry.Entry{Kind: entry.KindData, Origin: &o.origin, Parts: o.entry.Parts}
		if err := t.place(next, e); err != nil {
			return err
		}
	}
	return nil
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

// truncate removes the entries of a log from one on. No other entry has seen them, and the records
// that they touch must be replayed.
func (t *txn) truncate(h *head, next uint64) error {
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
	if err := t.entries.DeleteRange(entriesFrom("", h.number, next)); err != nil {
		return err
	}
	for _, prefix := range []string{prefixContext, prefixVector} {
		if err := t.meta.DeleteRange(entriesFrom(prefix, h.number, next)); err != nil {
			return err
		}
	}
	clear(t.frontiers)
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

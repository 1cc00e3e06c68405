package replica

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/barrier"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// maxOffline is how long a device may be away before checkpoints go on without it.
const maxOffline = 90 * 24 * time.Hour

// ErrNoCheckpoint reports that there is nothing that a new checkpoint could cover.
var ErrNoCheckpoint = errors.New("there is nothing that all devices have seen, and that no " +
	"checkpoint covers yet: make one later")

// errUncommitted reports a checkpoint in a transaction that writes to the space.
var errUncommitted = errors.New("the transaction has changed records of the space: make the " +
	"checkpoint in another one")

// Checkpoint makes a checkpoint: an entry with the root of the state that all devices have seen,
// except devices that have been silent for [Options.MaxOffline]. It allows replicas to forget the
// entries that it covers: see [Space.Prune]. Entries of a device that has not seen the checkpoint
// do not count; when the device learns of it, it issues their changes again.
//
// A checkpoint takes the right [Checkpoint], and counts once it is sealed, and all other devices
// with that right have written something after they have seen it. If the space has a quorum above
// 1, and a root without a grant makes the checkpoint, as many roots must be among them.
//
// The error is ErrNoCheckpoint if there is nothing new to cover, and stoat.ErrTooLarge if the space
// has so many logs and collections that what it says about them does not fit into an entry, or so
// much state and so many grants that no new replica could start from it. The transaction must not
// have changed records of the space before. It reads the whole state.
func (s *Space) Checkpoint(tx *stoat.Tx) error {
	t, err := s.in(tx)
	if err == nil {
		err = t.makeCheckpoint()
	}
	return wrap(s.name, err)
}

func (t *txn) makeCheckpoint() error {
	if t.pending != nil && t.pending.phase != phaseWritten {
		return errUncommitted
	}
	if err := t.mayCheckpoint(); err != nil {
		return err
	}
	if err := t.wholeSpace(); err != nil {
		return err
	}
	before, next, err := t.nextHorizon()
	if err != nil {
		return err
	}
	act, salts, err := t.newCheckpoint(before, next)
	if err == nil {
		err = cmp.Or(t.fits(act), t.startable(act, salts))
	}
	if err == nil {
		err = t.allOrNone(func() error { return t.issueCheckpoint(act, salts) })
	}
	if err != nil {
		return errors.Join(err, t.dropBases(next.number))
	}
	return nil
}

// fits returns an error that is stoat.ErrTooLarge unless a checkpoint fits into an entry, before
// one is issued.
func (t *txn) fits(act *entry.Checkpoint) error {
	t.space.mu.Lock()
	limit := t.space.entryMax
	t.space.mu.Unlock()
	size := len((&entry.Act{Checkpoint: act}).Append(nil))
	if size+checkpointRoom <= limit {
		return nil
	}
	return fmt.Errorf("the checkpoint takes %d bytes for %d logs and %d collections, and entries of "+
		"this space have at most %d: store the records in a space that is created with a larger "+
		"Options.EntryMax (%w)", size, len(act.Logs), len(act.Chunks)-1, limit, stoat.ErrTooLarge)
}

// checkpointRoom is how many bytes the entry of a checkpoint may have besides its act.
const checkpointRoom = 2 << 10

// issueCheckpoint appends a checkpoint to the own log, behind its salts.
func (t *txn) issueCheckpoint(act *entry.Checkpoint, salts salts) error {
	err := t.space.confine(t.tx)
	if err == nil {
		act.Salts, err = t.issueSalts(act, salts)
	}
	if err != nil {
		return err
	}
	next, err := t.nextOwn()
	if err == nil {
		err = t.issue(next, (&entry.Act{Checkpoint: act}).Entry())
	}
	return err
}

// nextHorizon returns the horizon, nil if there is none, and one that a checkpoint can be made of
// now, without what it needs of the state.
func (t *txn) nextHorizon() (before, next *horizon, err error) {
	before, err = t.horizonOf()
	if err != nil {
		return nil, nil, err
	}
	next = &horizon{number: 1}
	if before != nil {
		next.number = before.number + 1
	}
	if next.covers, err = t.coverable(before); err != nil {
		return nil, nil, err
	}
	if open, err := t.hasOpen(before); err != nil || open {
		return nil, nil, cmp.Or(err, fmt.Errorf("one is there, and must be sealed, and others must "+
			"write something, for it to count: %w", ErrNoCheckpoint))
	}
	return before, next, nil
}

// newCheckpoint stores the bases of a new horizon, and returns a checkpoint of it, and its salts,
// which must be issued. After an error, some of them may be stored.
func (t *txn) newCheckpoint(before, next *horizon) (*entry.Checkpoint, salts, error) {
	if err := t.replayMarked(); err != nil {
		return nil, nil, err
	}
	if err := t.dropBases(next.number); err != nil { // of one that was voted down
		return nil, nil, err
	}
	if err := t.markBeyond(next.covers); err != nil {
		return nil, nil, err
	}
	if err := t.putBases(next.covers, next.number); err != nil {
		return nil, nil, err
	}
	if err := t.meta.DeleteRange(stoat.Prefix([]byte(prefixReplay))); err != nil {
		return nil, nil, err // nothing counts differently yet
	}
	act := &entry.Checkpoint{}
	if before != nil {
		act.Before = before.hash
	}
	var err error
	if act.Logs, err = t.coveredLogs(next.covers); err != nil {
		return nil, nil, err
	}
	if next.tops, err = t.topsOf(next.covers); err != nil {
		return nil, nil, err
	}
	salts, err := t.newSalts()
	if err == nil {
		act.Chunks, err = t.subtreesAt(next, salts, nil, nil)
	}
	return act, salts, err
}

// mayCheckpoint returns an error that is ErrNotAllowed unless this device may make checkpoints.
func (t *txn) mayCheckpoint() error {
	own, err := t.signingHead()
	if err != nil {
		return err
	}
	v, err := t.rights()
	if err != nil {
		return err
	}
	at := entry.Head{Log: own.id, Seq: own.next}
	if !v.tree.Holds(own.device, at, entry.RightCheckpoint, seesAll{v}) {
		return cmp.Or(v.err, fmt.Errorf("the device %s needs a grant of Checkpoint, from a root or an "+
			"admin of the space: %w", own.device, ErrNotAllowed))
	}
	if v.err != nil || v.tree.Granted(own.device, at, entry.RightCheckpoint, seesAll{v}) {
		return v.err
	}
	return t.hasQuorum(v, own)
}

// hasQuorum returns ErrNoCheckpoint unless so many roots have a say in a checkpoint by this one as
// the space has a quorum.
func (t *txn) hasQuorum(v *rightsView, own *head) error {
	roots := map[DeviceID]bool{own.device: true}
	for h, err := range t.eachHead() {
		if err != nil {
			return err
		}
		if v.tree.IsRoot(h.device) && h.last() > 0 &&
			t.space.time().Sub(h.time.Time()) < quietAfter {
			roots[h.device] = true
		}
	}
	if len(roots) >= v.tree.Quorum() {
		return nil
	}
	return fmt.Errorf("%d of %d roots have written something here in the last 90 days, the quorum "+
		"of the space: bring it together with others: %w", len(roots), v.tree.Quorum(), ErrNoCheckpoint)
}

// coverable returns the greatest barrier, which a new checkpoint covers.
func (t *txn) coverable(before *horizon) (vector, error) {
	heads, logs, err := t.barrierLogs()
	if err != nil {
		return nil, err
	}
	cut, err := barrier.Greatest(logs, newPasts(t, heads, before).of)
	if err != nil {
		return nil, err
	}
	covers := vector{}
	for i, n := range cut {
		if n > 0 {
			covers[heads[i].number] = n
		}
	}
	follows, err := t.follows(covers, before)
	if err == nil && !follows {
		err = ErrNoCheckpoint
	}
	return covers, err
}

// barrierLogs returns the logs as the search for a barrier sees them.
func (t *txn) barrierLogs() (heads []*head, logs []barrier.Log, err error) {
	own, err := t.ownNumber()
	if err != nil {
		return nil, nil, err
	}
	newest := map[DeviceID]uint32{} // a device has left its logs but the last that it began
	begun := map[uint32]hlc.Time{}
	for h, err := range t.eachHead() {
		if err != nil {
			return nil, nil, err
		}
		if begun[h.number], err = t.timeOf(spot{h.number, 0}); err != nil {
			return nil, nil, err
		}
		if last, ok := newest[h.device]; !ok || begun[last] < begun[h.number] {
			newest[h.device] = h.number
		}
		heads = append(heads, h)
	}
	silent, err := hlc.Next(0, t.space.time().Add(-t.space.maxOffline))
	for _, h := range heads {
		count := h.next
		if h.cut > 0 {
			count = min(count, h.cut)
		}
		holds := h.number != own && count > 1 && h.cut == 0 && h.late == 0 &&
			newest[h.device] == h.number && h.time > silent
		logs = append(logs, barrier.Log{Count: count, Holds: holds})
	}
	return heads, logs, err
}

// markBeyond marks the records for a replay that entries touch which a checkpoint does not cover.
// If there are acts that it does not cover, they may void what it covers, so all records are marked
// that have changed since the present horizon.
func (t *txn) markBeyond(covers vector) error {
	acts, err := t.hasActsBeyond(covers)
	if err != nil {
		return err
	}
	before, err := t.horizonOf()
	if err != nil {
		return err
	}
	all, err := t.allHeads()
	if err != nil {
		return err
	}
	for _, h := range all {
		from := covers[h.number]
		if acts && before == nil {
			from = 0
		} else if acts {
			from = before.covers[h.number]
		}
		if err := t.replayEntries(h.number, from, h.next); err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// hasActsBeyond reports whether there are acts outside a cut.
func (t *txn) hasActsBeyond(cut vector) (has bool, err error) {
	err = t.eachAct(func(at spot) error {
		has = has || at.seq >= cut[at.log]
		return nil
	})
	return has, err
}

// coveredLogs returns what a checkpoint says about logs.
func (t *txn) coveredLogs(covers vector) ([]entry.CoveredLog, error) {
	var logs []entry.CoveredLog
	for number, n := range covers {
		h, err := t.head(number)
		if err != nil {
			return nil, err
		}
		hash, err := t.hashOf(number, n-1)
		if err != nil {
			return nil, err
		}
		logs = append(logs, entry.CoveredLog{Log: h.id, Count: n, Hash: hash})
	}
	slices.SortFunc(logs, func(a, b entry.CoveredLog) int {
		return bytes.Compare(a.Log[:], b.Log[:])
	})
	return logs, nil
}

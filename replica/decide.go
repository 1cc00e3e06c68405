package replica

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// A checkpoint is decided once every device that has a say agrees: those with the right to make
// checkpoints, and the roots, if its author knew entries of theirs that are not older than
// quietAfter. Who has a say is fixed by the past of the checkpoint, and each device votes with its
// first entry that has seen it: see votes.go. So two checkpoints that follow the same one are never
// both decided if a device has a say in both, and all replicas go by the same.

// quietAfter is how long a device may be silent and has a say in checkpoints nevertheless.
const quietAfter = 90 * 24 * time.Hour

// candidate is a checkpoint that may be decided.
type candidate struct {
	at     spot
	author *head
	hash   entry.Hash
	entry  *entry.Entry
	act    *entry.Checkpoint
	votes  []vote // of each device that has a say
}

// candidates returns the checkpoints that may follow the present one, or one of these.
func (t *txn) candidates() (map[spot]*candidate, error) {
	if t.undecided != nil {
		return t.undecided, nil
	}
	if has, err := t.has(hasCandidates); err != nil || !has {
		return nil, err
	}
	all := map[spot]*candidate{}
	for key, votes := range t.meta.Scan(stoat.Prefix([]byte(prefixCandidate))) {
		at, err := spotOf(key[len(prefixCandidate):])
		if err != nil {
			return nil, err
		}
		c, err := t.candidate(at)
		if err == nil {
			c.votes, err = parseVotes(votes)
		}
		if err != nil {
			return nil, err
		}
		all[at] = c
	}
	t.undecided = all
	return all, t.tx.Err()
}

// candidate returns the checkpoint in an entry, without votes.
func (t *txn) candidate(at spot) (*candidate, error) {
	h, hash, e, err := t.placed(at)
	if err != nil {
		return nil, err
	}
	act, err := entry.ParseAct(e)
	if err == nil && act.Checkpoint == nil {
		err = errors.New("it is no checkpoint")
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d of log %d: %w: %w", at.seq, at.log, err, stoat.ErrCorrupt)
	}
	return &candidate{at: at, author: h, hash: hash, entry: e, act: act.Checkpoint}, nil
}

// polled reports whether a cut covers an entry of each voter that has seen a checkpoint.
func (t *txn) polled(c *candidate, within vector) (bool, error) {
	voters, err := t.voters(c)
	if err != nil {
		return false, err
	}
	agreed := map[DeviceID]bool{}
	for h, err := range t.eachHead() {
		if err != nil {
			return false, err
		}
		if agreed[h.device] || within[h.number] == 0 {
			continue
		}
		p, err := t.pastOf(spot{h.number, within[h.number] - 1})
		if err == nil {
			agreed[h.device], err = p.has(c.at, c.entry.Time)
		}
		if err != nil {
			return false, err
		}
	}
	return !slices.ContainsFunc(voters, func(d DeviceID) bool { return !agreed[d] }), nil
}

// voters returns the devices that have a say about a checkpoint, its author among them.
func (t *txn) voters(c *candidate) ([]DeviceID, error) {
	before, err := t.horizonOf()
	if err != nil {
		return nil, err
	}
	past, err := t.seenBy(c.at, before)
	if err != nil {
		return nil, err
	}
	v, err := t.rightsWithin(past)
	if err != nil {
		return nil, err
	}
	voters := map[DeviceID]bool{c.author.device: true}
	for log, count := range past {
		h, err := t.head(log)
		if err != nil {
			return nil, err
		}
		if count < 2 || voters[h.device] {
			continue
		}
		last, err := t.timeOf(spot{log, count - 1})
		if errors.Is(err, ErrPruned) {
			continue // the checkpoint has not seen all that the horizon covers, and cannot follow it
		}
		if err != nil {
			return nil, err
		}
		if c.entry.Time.Time().Sub(last.Time()) < quietAfter {
			voters[h.device] = v.tree.IsRoot(h.device) || v.holds(h.device)
		}
	}
	maps.DeleteFunc(voters, func(_ DeviceID, votes bool) bool { return !votes })
	return slices.SortedFunc(maps.Keys(voters), func(a, b DeviceID) int {
		return bytes.Compare(a[:], b[:])
	}), v.err
}

// holds reports whether a device has the right to make checkpoints, by a grant to it.
func (v *rightsView) holds(device DeviceID) bool {
	for g := range v.tree.To(device) {
		if !g.Act.Grant.To.Anyone && g.Act.Grant.Right&entry.RightCheckpoint != 0 &&
			g.Why() == nil && !g.Revoked() {
			return true
		}
	}
	return false
}

// noteAct updates what is known of checkpoints after a control entry was appended.
func (t *txn) noteAct(h *head, seq uint64, e *entry.Entry) error {
	act, err := entry.ParseAct(e)
	if err != nil {
		return err
	}
	if act.Checkpoint == nil {
		return nil
	}
	hz, err := t.horizonOf()
	if err != nil {
		return err
	}
	c, err := t.candidate(spot{h.number, seq})
	if err != nil || hz != nil && hz.hash == c.hash {
		return err // this replica has started with it
	}
	err = t.openVotes(c)
	if err != nil {
		return err
	}
	if err := t.setFlag(hasCandidates, true); err != nil {
		return err
	}
	all, err := t.candidates()
	if err == nil {
		all[c.at] = c
	}
	return err
}

// dropCandidates drops the checkpoints that follow the same one as that which was decided, and
// those that it covers.
func (t *txn) dropCandidates(next *candidate, covers vector) error {
	all, err := t.candidates()
	if err != nil {
		return err
	}
	for at, c := range all {
		if c.act.Before != next.act.Before && at.seq >= covers[at.log] {
			continue
		}
		if err := t.meta.Delete(entryKey(nil, prefixCandidate, at.log, at.seq)); err != nil {
			return err
		}
		delete(all, at)
	}
	if len(all) > 0 {
		return nil
	}
	return t.setFlag(hasCandidates, false)
}

// forgetVotes drops the checkpoints in entries of a log from one on, which are about to be removed,
// and the votes of such entries.
func (t *txn) forgetVotes(log uint32, from uint64) error {
	all, err := t.candidates()
	if err != nil {
		return err
	}
	removed := func(at spot) bool { return at.log == log && at.seq >= from }
	for at, c := range all {
		if removed(at) {
			err = t.meta.Delete(entryKey(nil, prefixCandidate, at.log, at.seq))
			delete(all, at)
		} else if i := slices.IndexFunc(c.votes, func(v vote) bool { return removed(v.by) }); i >= 0 {
			c.votes[i].by = spot{}
			err = t.putVotes(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decide goes by the checkpoints that are decided, one after the other.
func (t *txn) decide() error {
	if err := t.mergeDeferred(); err != nil {
		return err
	}
	for {
		c, next, err := t.nextDecided()
		if err != nil || c == nil {
			return err
		}
		if err := t.advance(c, next); err != nil {
			return err
		}
	}
}

// nextDecided returns the checkpoint to go by after the present one, if one is decided.
func (t *txn) nextDecided() (best *candidate, next *horizon, err error) {
	all, err := t.candidates()
	if err != nil || len(all) == 0 {
		return nil, nil, err
	}
	before, err := t.horizonOf()
	if err != nil {
		return nil, nil, err
	}
	e := &election{t: t, all: all, before: before}
	for _, c := range all {
		if c.open() || best != nil && best.precedes(c) {
			continue
		}
		if settled, err := t.settled(c); err != nil || !settled {
			if err != nil {
				return nil, nil, err
			}
			continue
		}
		h, err := e.decided(c)
		if err != nil {
			return nil, nil, err
		}
		if h != nil {
			best, next = c, h
		}
	}
	return best, next, nil
}

// precedes orders checkpoints by time, then by log.
func (c *candidate) precedes(other *candidate) bool {
	return cmp.Or(cmp.Compare(c.entry.Time, other.entry.Time),
		bytes.Compare(c.author.id[:], other.author.id[:])) < 0
}

// horizonAt returns the horizon of a checkpoint, or nil if the checkpoint is not valid, or does not
// follow the present one.
func (t *txn) horizonAt(c *candidate, before *horizon) (*horizon, error) {
	next := &horizon{at: c.at, hash: c.hash, number: 1, covers: vector{}}
	var last entry.Hash
	if before != nil {
		next.number, last = before.number+1, before.hash
	}
	if c.act.Before != last {
		return nil, nil
	}
	if may, err := t.mayDecide(c, before); err != nil || !may {
		return nil, err
	}
	for _, l := range c.act.Logs {
		number, known, err := t.logNumber(l.Log)
		if err != nil || !known {
			return nil, err
		}
		h, err := t.head(number)
		if err != nil || l.Count > h.next || before != nil && l.Count < before.covers[number] {
			return nil, err
		}
		hash, err := t.hashOf(number, l.Count-1)
		if err != nil || hash != l.Hash {
			return nil, err
		}
		next.covers[number] = l.Count
	}
	follows, err := t.follows(next.covers, before)
	if err != nil || !follows {
		return nil, err
	}
	if next.tops, err = t.topsOf(next.covers); err != nil || next.tops == nil {
		return nil, err
	}
	if seen, err := t.hasSeen(c.at, next); err != nil || !seen {
		return nil, err
	}
	return next, nil
}

// follows reports whether a cut covers more than the horizon, and the decision for it.
func (t *txn) follows(covers vector, before *horizon) (bool, error) {
	if before == nil {
		return len(covers) > 0, nil
	}
	for log, n := range before.covers {
		if covers[log] < n {
			return false, nil
		}
	}
	if covers[before.at.log] <= before.at.seq {
		return false, nil
	}
	c, err := t.candidate(before.at)
	if err != nil {
		return false, err
	}
	return t.polled(c, covers)
}

// mayDecide reports whether the author of a checkpoint had the right to make it, by what the
// checkpoint has seen: what is decided cannot be undone by a revocation that arrives later. A root
// that has no grant for it needs a quorum of the roots, which must have a say.
func (t *txn) mayDecide(c *candidate, before *horizon) (bool, error) {
	h, err := t.head(c.at.log)
	if err != nil || h.voids(c.at.seq) {
		return false, err
	}
	past, err := t.seenBy(c.at, before)
	if err != nil {
		return false, err
	}
	v, err := t.rightsWithin(past)
	if err != nil {
		return false, err
	}
	at := entry.Head{Log: h.id, Seq: c.at.seq}
	may := v.tree.Granted(h.device, at, entry.RightCheckpoint, v)
	if !may && v.tree.IsRoot(h.device) {
		roots := 0
		for i := range c.votes {
			if v.tree.IsRoot(c.votes[i].device) {
				roots++
			}
		}
		may = roots >= v.tree.Quorum()
	}
	return may, v.err
}

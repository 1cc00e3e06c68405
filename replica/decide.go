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

// A checkpoint is decided once every device that has a say has an entry that has seen it: those
// with the right to make checkpoints, and the roots, if its author knew entries of theirs that are
// not older than quietAfter. Who has a say is fixed by the past of the checkpoint, and each of them
// agrees at one place of a line of entries. So of checkpoints that were made without knowing of
// each other, all replicas go by the same.

// quietAfter is how long a device may be silent and has a say in checkpoints nevertheless.
const quietAfter = 90 * 24 * time.Hour

// candidate is a checkpoint that may be decided.
type candidate struct {
	at     spot
	author *head
	hash   entry.Hash
	entry  *entry.Entry
	act    *entry.Checkpoint
	voters []DeviceID // who has a say, except its author
	open   []DeviceID // those of them who have not agreed
}

// candidates returns the checkpoints that may follow the present one, or one of these.
func (t *txn) candidates() (map[spot]*candidate, error) {
	if t.undecided != nil {
		return t.undecided, nil
	}
	all := map[spot]*candidate{}
	_, err := t.meta.Get([]byte(prefixCandidate))
	if missing(err) { // in commits, mostly: a lookup takes less than a scan
		t.undecided = all
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	for key := range t.meta.Keys(stoat.Prefix([]byte(prefixCandidate))) {
		if len(key) == len(prefixCandidate) {
			continue
		}
		at, err := spotOf(key[len(prefixCandidate):])
		if err != nil {
			return nil, err
		}
		if all[at], err = t.candidate(at); err != nil {
			return nil, err
		}
	}
	t.undecided = all
	return all, t.tx.Err()
}

// candidate returns the checkpoint in an entry.
func (t *txn) candidate(at spot) (*candidate, error) {
	h, err := t.head(at.log)
	if err != nil {
		return nil, err
	}
	hash, err := t.hashOf(at.log, at.seq)
	if err != nil {
		return nil, err
	}
	e, err := t.entry(at.log, at.seq)
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
	c := &candidate{at: at, author: h, hash: hash, entry: e, act: act.Checkpoint}
	return c, t.poll(c, nil)
}

// poll finds out who has a say about a checkpoint, and who of them has agreed within a cut; nil
// stands for all entries.
func (t *txn) poll(c *candidate, within vector) (err error) {
	if c.voters, err = t.voters(c); err != nil {
		return err
	}
	agreed := map[DeviceID]bool{}
	for h, err := range t.eachHead() {
		if err != nil {
			return err
		}
		last := h.next
		if within != nil {
			last = within[h.number]
		}
		if !slices.Contains(c.voters, h.device) || agreed[h.device] || last == 0 {
			continue
		}
		p, err := t.pastOf(spot{h.number, last - 1})
		if err == nil {
			agreed[h.device], err = p.has(c.at, c.entry.Time)
		}
		if err != nil {
			return err
		}
	}
	c.open = slices.DeleteFunc(slices.Clone(c.voters), func(d DeviceID) bool { return agreed[d] })
	return nil
}

// voters returns the devices that have a say about a checkpoint, except its author.
func (t *txn) voters(c *candidate) ([]DeviceID, error) {
	v, err := t.rights()
	if err != nil {
		return nil, err
	}
	before, err := t.horizonOf()
	if err != nil {
		return nil, err
	}
	past, err := t.seenBy(c.at, before)
	if err != nil {
		return nil, err
	}
	voters := map[DeviceID]bool{}
	for log, count := range past {
		h, err := t.head(log)
		if err != nil {
			return nil, err
		}
		if count < 2 || voters[h.device] || h.device == c.author.device {
			continue
		}
		last, err := t.timeOf(spot{log, count - 1})
		if err != nil {
			return nil, err
		}
		if c.entry.Time.Time().Sub(last.Time()) < quietAfter {
			voters[h.device] = v.tree.IsRoot(h.device) || v.holds(h.device, past)
		}
	}
	maps.DeleteFunc(voters, func(_ DeviceID, votes bool) bool { return !votes })
	return slices.SortedFunc(maps.Keys(voters), func(a, b DeviceID) int {
		return bytes.Compare(a[:], b[:])
	}), v.err
}

// holds reports whether a device has the right to make checkpoints, by a grant in a past.
func (v *rightsView) holds(device DeviceID, past vector) bool {
	for g := range v.tree.To(device) {
		right := g.Act.Grant.Right
		if g.Act.Grant.To.Anyone || right&entry.RightCheckpoint == 0 || g.Why() != nil || g.Revoked() {
			continue
		}
		number, known, err := v.t.logNumber(g.At.Log)
		if err != nil {
			v.err = errors.Join(v.err, err)
		}
		if known && past[number] > g.At.Seq {
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
	if act.Checkpoint != nil {
		err = t.meta.Put(entryKey(nil, prefixCandidate, h.number, seq), nil)
		if err == nil {
			err = t.meta.Put([]byte(prefixCandidate), nil)
		}
	}
	t.undecided = nil // who has a say may have changed
	return err
}

// noteVote notes who has agreed to checkpoints with an entry that was appended.
func (t *txn) noteVote(h *head, seq uint64) error {
	all, err := t.candidates()
	if err != nil || len(all) == 0 {
		return err
	}
	var past *past
	for _, c := range all {
		i := slices.Index(c.open, h.device)
		if i < 0 {
			continue
		}
		if past == nil {
			if past, err = t.pastOf(spot{h.number, seq}); err != nil {
				return err
			}
		}
		seen, err := past.has(c.at, c.entry.Time)
		if err != nil {
			return err
		}
		if seen {
			c.open = slices.Delete(c.open, i, i+1)
		}
	}
	return nil
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
	return nil
}

// decide goes by the checkpoints that are decided, one after the other.
func (t *txn) decide() error {
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
	for _, c := range all {
		if len(c.open) > 0 || best != nil && !c.beats(best) {
			continue
		}
		h, err := t.horizonAt(c, before)
		if err != nil {
			return nil, nil, err
		}
		if h != nil {
			best, next = c, h
		}
	}
	return best, next, nil
}

// beats reports whether a checkpoint is to go by instead of another one that is decided, too. It is
// if the other's author has no say in it: then who knows the other knows this one, not the other
// way round. Else the one with the least time and log is.
func (c *candidate) beats(other *candidate) bool {
	mine, its := c.asks(other.author.device), other.asks(c.author.device)
	if mine != its {
		return its
	}
	return cmp.Or(cmp.Compare(c.entry.Time, other.entry.Time),
		bytes.Compare(c.author.id[:], other.author.id[:])) < 0
}

// asks reports whether a device has a say.
func (c *candidate) asks(device DeviceID) bool {
	return device == c.author.device || slices.Contains(c.voters, device)
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
	void, _, err := t.verdict(c.author, c.at.seq, c.entry)
	if err != nil || void.has(0) {
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
	if err == nil {
		err = t.poll(c, covers)
	}
	return err == nil && len(c.open) == 0, err
}

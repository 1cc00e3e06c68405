package replica

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
)

// A device votes about a checkpoint with its first entry that has seen it; the author does with the
// checkpoint itself. The vote is against it if that entry has seen a rival that can still be
// decided: a valid checkpoint that follows the same one, about which the device had voted before,
// or votes at once and that has a lesser time and log. A rival cannot be decided if
// the entry has seen a vote against it. So every vote is fixed by the past of its entry, a device
// agrees to one of two rivals at most, and what can never be decided holds up nothing.

// vote is the vote of a device about a checkpoint.
type vote struct {
	device DeviceID
	by     spot // the entry; zero: there is none yet
}

func (v *vote) cast() bool { return v.by != spot{} }

// open reports whether votes are missing.
func (c *candidate) open() bool {
	return slices.ContainsFunc(c.votes, func(v vote) bool { return !v.cast() })
}

// settled reports whether no vote is by an entry of the own log that is not sealed: such an entry
// may move to another log, and others never have it.
func (t *txn) settled(c *candidate) (bool, error) {
	own, err := t.ownHead()
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(c.votes, func(v vote) bool {
		return v.by.log == own.number && v.by.seq >= own.sealed
	}), nil
}

// voteOf returns the entry with which a device has voted.
func (c *candidate) voteOf(device DeviceID) (by spot, ok bool) {
	for i := range c.votes {
		if v := &c.votes[i]; v.device == device {
			return v.by, v.cast()
		}
	}
	return by, false
}

// openVotes stores a checkpoint without votes.
func (t *txn) openVotes(c *candidate) error {
	voters, err := t.voters(c)
	if err != nil {
		return err
	}
	c.votes = nil
	for _, device := range voters {
		c.votes = append(c.votes, vote{device: device})
	}
	return t.putVotes(c)
}

// putVotes stores the votes about a checkpoint: of each device its id, and a u32 log and u64 seq.
func (t *txn) putVotes(c *candidate) error {
	var p []byte
	for i := range c.votes {
		p = entryKey(append(p, c.votes[i].device[:]...), "", c.votes[i].by.log, c.votes[i].by.seq)
	}
	return t.meta.Put(entryKey(nil, prefixCandidate, c.at.log, c.at.seq), p)
}

func parseVotes(p []byte) (votes []vote, err error) {
	if len(p) == 0 || len(p)%44 != 0 {
		return nil, fmt.Errorf("votes about a checkpoint take %d bytes: %w", len(p), stoat.ErrCorrupt)
	}
	for ; len(p) > 0; p = p[44:] {
		votes = append(votes, vote{DeviceID(p[:32]),
			spot{binary.BigEndian.Uint32(p[32:]), binary.BigEndian.Uint64(p[36:])}})
	}
	return votes, nil
}

// noteVote notes which checkpoints an entry that was appended votes about.
func (t *txn) noteVote(h *head, seq uint64) error {
	all, err := t.candidates()
	if err != nil || len(all) == 0 {
		return err
	}
	var past *past
	for _, c := range all {
		i := slices.IndexFunc(c.votes, func(v vote) bool { return v.device == h.device })
		if i < 0 || c.votes[i].cast() {
			continue
		}
		if past == nil {
			if past, err = t.pastOf(spot{h.number, seq}); err != nil {
				return err
			}
		}
		seen, err := past.has(c.at, c.entry.Time)
		if err == nil && seen {
			c.votes[i].by = spot{h.number, seq}
			err = t.putVotes(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// voteAgain finds all votes again, after the cut of a log has changed what entries have seen.
func (t *txn) voteAgain() error {
	all, err := t.candidates()
	if err != nil || len(all) == 0 {
		return err
	}
	for _, c := range all {
		if err := t.openVotes(c); err != nil {
			return err
		}
	}
	spots, err := t.uncovered()
	if err != nil {
		return err
	}
	stamps, err := t.byTime(spots)
	for _, at := range stamps {
		var h *head
		if h, err = t.head(at.Log); err == nil {
			err = t.noteVote(h, at.Seq)
		}
		if err != nil {
			break
		}
	}
	return err
}

// uncovered returns the entries that the horizon does not cover, and that are not cut off.
func (t *txn) uncovered() (all []spot, err error) {
	for h, err := range t.eachHead() {
		if err != nil {
			return nil, err
		}
		_, first, err := t.beyond(h.number, 0)
		if err != nil {
			return nil, err
		}
		for seq := first; seq <= h.last(); seq++ {
			all = append(all, spot{h.number, seq})
		}
	}
	return all, nil
}

// election decides which of the checkpoints that follow the horizon counts.
type election struct {
	t      *txn
	all    map[spot]*candidate
	before *horizon
	valid  map[spot]*horizon // nil: not valid
	agrees map[[2]spot]bool  // whether an entry agrees to a checkpoint
	pasts  map[spot]*past
}

// horizonAt returns the horizon of a checkpoint, or nil if it is not valid.
func (e *election) horizonAt(c *candidate) (*horizon, error) {
	if h, ok := e.valid[c.at]; ok {
		return h, nil
	}
	h, err := e.t.horizonAt(c, e.before)
	if err == nil {
		if e.valid == nil {
			e.valid = map[spot]*horizon{}
		}
		e.valid[c.at] = h
	}
	return h, err
}

// decided returns the horizon of a checkpoint, or nil unless it is valid and all agree to it.
func (e *election) decided(c *candidate) (*horizon, error) {
	h, err := e.horizonAt(c)
	if err != nil || h == nil || c.open() {
		return nil, err
	}
	refused, err := e.refused(c, spot{})
	if err != nil || refused {
		return nil, err
	}
	return h, nil
}

// refused reports whether an entry has seen a vote against a checkpoint. The entry's own vote does
// not matter. Without an entry, all votes do.
func (e *election) refused(c *candidate, to spot) (bool, error) {
	for i := range c.votes {
		by := c.votes[i].by
		if !c.votes[i].cast() || by == to {
			continue
		}
		if to != (spot{}) {
			if seen, err := e.has(to, by); err != nil || !seen {
				if err != nil {
					return false, err
				}
				continue
			}
		}
		if agrees, err := e.agree(c, by, c.votes[i].device); err != nil || !agrees {
			return err == nil, err
		}
	}
	return false, nil
}

// agree reports whether the vote of a device about a checkpoint is for it.
func (e *election) agree(c *candidate, by spot, device DeviceID) (agrees bool, err error) {
	key := [2]spot{c.at, by}
	if agrees, ok := e.agrees[key]; ok {
		return agrees, nil
	}
	agrees = true
	for _, rival := range e.all {
		if rival == c || rival.act.Before != c.act.Before {
			continue
		}
		if agrees, err = e.prefers(c, rival, by, device); err != nil || !agrees {
			break
		}
	}
	if err == nil {
		if e.agrees == nil {
			e.agrees = map[[2]spot]bool{}
		}
		e.agrees[key] = agrees
	}
	return agrees, err
}

// prefers reports whether the vote of a device is not against a checkpoint because of a rival.
func (e *election) prefers(c, rival *candidate, by spot, device DeviceID) (bool, error) {
	first, voted := rival.voteOf(device)
	if !voted {
		return true, nil
	}
	seen, err := e.has(by, rival.at)
	if err != nil || !seen {
		return err == nil, err
	}
	if h, err := e.horizonAt(rival); err != nil || h == nil {
		return err == nil, err
	}
	if refused, err := e.refused(rival, by); err != nil || refused {
		return err == nil, err
	}
	return first == by && c.precedes(rival), nil
}

// has reports whether an entry is in the past of another one.
func (e *election) has(of, at spot) (bool, error) {
	p := e.pasts[of]
	time, err := e.t.timeOf(at)
	if err == nil && p == nil {
		if e.pasts == nil {
			e.pasts = map[spot]*past{}
		}
		p, err = e.t.pastOf(of)
		e.pasts[of] = p
	}
	if err != nil {
		return false, err
	}
	return p.has(at, time)
}

// hasOpen reports whether a checkpoint that follows the horizon may still be decided.
func (t *txn) hasOpen(before *horizon) (bool, error) {
	all, err := t.candidates()
	if err != nil {
		return false, err
	}
	e := &election{t: t, all: all, before: before}
	for _, c := range all {
		h, err := e.horizonAt(c)
		if err != nil || h == nil {
			if err != nil {
				return false, err
			}
			continue
		}
		if refused, err := e.refused(c, spot{}); err != nil || !refused {
			return err == nil, err
		}
	}
	return false, nil
}

package replica

import (
	"encoding/binary"
	"errors"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// A replica that lacks what its peers have pruned may have entries that nobody else has: it was
// away for long. They have not seen what the checkpoint covers, so data among them is late. What is
// its own, the replica issues again: see late.go. Records that were deleted meanwhile stay deleted,
// and a deletion does not remove what it has not seen.

// goOn makes the checkpoint the horizon, merges what is here beyond it again, and leaves the own
// log if it is late.
func (in *installation) goOn() error {
	t := in.t
	if err := t.meta.Delete([]byte(keyMismatch)); err != nil {
		return err
	}
	if err := t.meta.Put([]byte(keyVerified), in.hash[:]); err != nil {
		return err
	}
	if err := t.noteDecided(in.act.Before); err != nil {
		return err
	}
	if err := t.unstage(); err != nil {
		return err
	}
	latest, err := t.latest()
	if err != nil {
		return err
	}
	for _, log := range in.logs {
		latest = max(latest, log.time)
	}
	if err := t.putLatest(latest); err != nil {
		return err
	}
	if err := in.renewCandidates(); err != nil {
		return err
	}
	if err := t.judgeLateAll(in.next); err != nil {
		return err
	}
	if err := t.replayBeyond(in.next); err != nil {
		return err
	}
	if err := t.completeCollections(); err != nil {
		return err
	}
	if err := t.leaveLate(in.changed); err != nil {
		return err
	}
	if err := t.settle(); err != nil {
		return err
	}
	return t.decide()
}

// renewCandidates finds the checkpoints that may follow the new horizon among the entries that are
// here.
func (in *installation) renewCandidates() error {
	t := in.t
	if err := t.meta.DeleteRange(stoat.Prefix([]byte(prefixCandidate))); err != nil {
		return err
	}
	t.undecided = nil
	spots, err := t.uncovered()
	if err != nil {
		return err
	}
	for _, at := range spots {
		e, err := t.entry(at.log, at.seq)
		if err != nil {
			return err
		}
		if e.Kind != entry.KindControl {
			continue
		}
		h, err := t.head(at.log)
		if err == nil {
			err = t.noteAct(h, at.seq, e)
		}
		if err != nil {
			return err
		}
	}
	return t.voteAgain()
}

// compareDeleted finds out which records that own late entries delete were changed by what the
// checkpoint covers and this replica lacks.
func (in *installation) compareDeleted() error {
	t := in.t
	own, err := t.ownHead()
	if err != nil {
		return err
	}
	unseen := map[string]bool{}
	err = in.eachDeleted(own, func(at spot, part *entry.Part, changes *entry.Changes) error {
		if err := in.noteUnseen(unseen, at, part, changes); err != nil {
			return err
		}
		return t.markUnder(prefixReplay, part.Group, changes)
	})
	if err != nil {
		return err
	}
	known := map[string]string{}
	o := &order{t: t}
	covered := in.next.covers.covered
	err = t.eachMarked(covered, func(c *collection, key []byte, r *merge.Record) error {
		r.Normalise(covered, true)
		known[changedKey(c.number, key)] = ""
		if !r.Empty() {
			known[changedKey(c.number, key)] = string(r.Append(nil, o))
		}
		return o.err
	})
	if err != nil || len(known) == 0 {
		return err
	}
	if err := t.meta.DeleteRange(stoat.Prefix([]byte(prefixReplay))); err != nil {
		return err
	}
	in.changed = map[string]bool{}
	for key, state := range known {
		in.changed[key] = state != "" || unseen[key]
	}
	for i := 1; i < len(in.trees); i++ {
		number, err := t.collectionNumber(in.act.Chunks[i].Collection)
		if err != nil {
			return err
		}
		err = in.each(t, i, func(r *chunk.Record) error {
			key := changedKey(number, r.Key)
			if state, ok := known[key]; ok {
				in.changed[key] = state != string(r.State) || unseen[key]
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// settleOwn notes which own repeats beyond the checkpoint repeat what it covers, and counts there.
// They are not issued again.
func (in *installation) settleOwn() error {
	t := in.t
	own, err := t.ownHead()
	if err != nil {
		return err
	}
	for seq := in.next.covers[own.number]; seq < own.next; seq++ {
		e, err := t.entry(own.number, seq)
		if err != nil {
			return err
		}
		covered, err := in.coversOrigin(e.Origin, own.device)
		if err != nil {
			return err
		}
		for i := 0; covered && i < len(e.Parts); i++ {
			void, err := in.voidInOrigin(e.Origin, &e.Parts[i])
			if err == nil && !void {
				err = t.meta.Put(reissuedOf(repeatsOf(e.Origin, &e.Parts[i])), nil)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// coversOrigin reports whether the checkpoint covers an origin, and not another entry in its place.
// What a device had not sealed in a log when it began another one, and repeats there, is not here
// any more. If the checkpoint covers the log beyond that, and no fork is known, the database of
// which this one is a backup has sealed it. A copy of the folder, which goes on in the same branch,
// may have sealed something else, so that is issued again: it counts twice rather than not at all.
func (in *installation) coversOrigin(origin *entry.Last, device DeviceID) (bool, error) {
	if origin == nil {
		return false, nil
	}
	log := in.logs[origin.Log]
	if log == nil || origin.Seq >= log.next {
		return false, nil
	}
	forked := log.head.voids(origin.Seq)
	switch {
	case origin.Seq < log.head.next:
		hash, err := in.t.hashOf(log.head.number, origin.Seq)
		return (hash == origin.Hash) != (forked && log.other), unlessPruned(err)
	case forked:
		return log.other, nil
	case origin.Seq == log.next-1:
		return origin.Hash == log.hash, nil
	}
	return log.device == device && log.branch != in.t.space.branch, nil
}

// voidInOrigin reports whether a part does not count in an origin that is here.
func (in *installation) voidInOrigin(origin *entry.Last, part *entry.Part) (bool, error) {
	at, i, ok, err := in.t.inOrigin(origin, part)
	if err != nil || !ok || in.logs[origin.Log].head.voids(at.seq) {
		return false, err
	}
	v, err := in.t.voided(at.log, at.seq)
	return v.alone.has(i), err
}

// noteUnseen notes the records that a late entry deletes without having seen all covered entries
// that touch them and are here.
func (in *installation) noteUnseen(
	unseen map[string]bool, at spot, part *entry.Part, changes *entry.Changes,
) error {
	t := in.t
	number, err := t.collectionNumber(part.Group)
	if err != nil {
		return err
	}
	before, err := t.pastOf(at)
	if err != nil {
		return err
	}
	for i := range changes.Records {
		touches, err := t.indexed(number, changes.Records[i].Key)
		if err != nil {
			return err
		}
		for _, s := range touches {
			if s.seq >= in.next.covers[s.log] {
				continue
			}
			time, err := t.timeOf(s)
			if errors.Is(err, ErrPruned) {
				continue // the horizon before covers it, too
			}
			seen := false
			if err == nil {
				seen, err = before.has(s, time)
			}
			if err != nil {
				return err
			}
			if !seen {
				unseen[changedKey(number, changes.Records[i].Key)] = true
			}
		}
	}
	return nil
}

// changedKey returns how a record is named in installation.changed.
func changedKey(collection uint32, key []byte) string {
	return string(append(binary.BigEndian.AppendUint32(nil, collection), key...))
}

// eachDeleted calls fn with the parts of own entries beyond the checkpoint, and the deletions in
// them.
func (in *installation) eachDeleted(
	own *head, fn func(at spot, part *entry.Part, changes *entry.Changes) error,
) error {
	for seq := in.next.covers[own.number]; seq < own.next; seq++ {
		e, changes, err := in.t.changesOf(own.number, seq)
		if err != nil {
			return err
		}
		for i, c := range changes {
			var deleted []entry.Record
			for _, r := range c.Records {
				if r.Delete {
					deleted = append(deleted, r)
				}
			}
			if c.Records = deleted; len(deleted) == 0 {
				continue
			}
			if err := fn(spot{own.number, seq}, &e.Parts[i], c); err != nil {
				return err
			}
		}
	}
	return nil
}

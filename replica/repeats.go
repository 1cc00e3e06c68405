package replica

import (
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// The parts of entries with an origin that count by their verdicts are indexed:
//
//	"repeat", origin as log, u64 seq and hash, content's hash, group as a text, u64 time, log
//	        → u32 log, u64 seq, 1 byte index of the part
//
// Of those that differ in time and log only, the first counts, unless the part counts in the origin
// itself.

// repeatsOf returns the key under which the repeats of a part begin.
func repeatsOf(origin *entry.Last, part *entry.Part) []byte {
	hash := part.Hash()
	key := append([]byte(prefixRepeat), origin.Log[:]...)
	key = append(binary.BigEndian.AppendUint64(key, origin.Seq), origin.Hash[:]...)
	return wire.AppendBytes(append(key, hash[:]...), part.Group)
}

// hasRepeats reports whether there are entries with an origin.
func (t *txn) hasRepeats() (bool, error) {
	if t.repeatsRead {
		return t.repeats, nil
	}
	for range t.meta.Keys(stoat.Prefix([]byte(prefixRepeat))) {
		t.repeats = true
		break
	}
	t.repeatsRead = t.tx.Err() == nil
	return t.repeats, t.tx.Err()
}

// noteRepeats brings what of repeats counts up to date with the verdict of an entry, which may have
// an origin, and may be the origin of others.
func (t *txn) noteRepeats(h *head, seq uint64, e *entry.Entry, void partSet) error {
	if e.Origin == nil {
		if has, err := t.hasRepeats(); err != nil || !has {
			return err
		}
	}
	hash, err := t.hashOf(h.number, seq)
	if err != nil {
		return err
	}
	self := &entry.Last{Head: entry.Head{Log: h.id, Seq: seq}, Hash: hash}
	for i := range e.Parts {
		part := &e.Parts[i]
		if e.Origin != nil {
			if err := t.noteRepeat(h, seq, e, i, void); err != nil {
				return err
			}
		}
		if err := t.judgeRepeats(self, part); err != nil {
			return err
		}
	}
	return nil
}

// noteRepeat is noteRepeats for one part of an entry that has an origin.
func (t *txn) noteRepeat(h *head, seq uint64, e *entry.Entry, i int, void partSet) error {
	key := repeatsOf(e.Origin, &e.Parts[i])
	key = append(binary.BigEndian.AppendUint64(key, uint64(e.Time)), h.id[:]...)
	at := spot{h.number, seq}
	var err error
	if void.has(i) {
		if err = t.meta.Delete(key); err == nil {
			err = t.setRepeated(at, i, "")
		}
	} else {
		t.repeats, t.repeatsRead = true, true
		if err = t.meta.Put(key, append(entryKey(nil, "", at.log, at.seq), byte(i))); err == nil {
			err = t.setRepeated(at, i, repeatedElsewhere) // unless it is the first
		}
	}
	if err != nil {
		return err
	}
	return t.judgeRepeats(e.Origin, &e.Parts[i])
}

// Reasons why a part with an origin does not count.
const (
	repeatedOrigin    = "what it repeats counts"
	repeatedElsewhere = "another entry repeats the same before it"
)

// judgeRepeats decides which of the repeats of a part of an entry counts.
func (t *txn) judgeRepeats(origin *entry.Last, part *entry.Part) error {
	reason := ""
	r := stoat.Prefix(repeatsOf(origin, part))
	r.Limit = 2 // the second one may have been the first
	for _, p := range t.meta.Scan(r) {
		if len(p) != 13 {
			return fmt.Errorf("the index of repeats has the value %x: %w", p, stoat.ErrCorrupt)
		}
		if reason == "" {
			counts, err := t.originCounts(origin, part)
			if err != nil {
				return err
			}
			if counts {
				reason = repeatedOrigin
			}
		}
		at := spot{binary.BigEndian.Uint32(p), binary.BigEndian.Uint64(p[4:])}
		if err := t.setRepeated(at, int(p[12]), reason); err != nil {
			return err
		}
		reason = repeatedElsewhere
	}
	return t.tx.Err()
}

// repeated reports whether a part counts in a repeat.
func (t *txn) repeated(origin *entry.Last, part *entry.Part) (bool, error) {
	for range t.meta.Keys(stoat.Prefix(repeatsOf(origin, part))) {
		return true, nil
	}
	return false, t.tx.Err()
}

// originCounts reports whether a part counts in the entry that is the origin of others.
func (t *txn) originCounts(origin *entry.Last, part *entry.Part) (bool, error) {
	number, known, err := t.logNumber(origin.Log)
	if err != nil || !known {
		return false, err
	}
	h, err := t.head(number)
	if err != nil || origin.Seq >= h.next {
		return false, err
	}
	hz, err := t.horizonOf()
	if err != nil {
		return false, err
	}
	if hz != nil && origin.Seq < hz.covers[number] { // it may have been pruned
		return !h.voids(origin.Seq) && (h.late == 0 || origin.Seq < h.late), nil
	}
	e, err := t.entry(number, origin.Seq)
	if err != nil {
		return false, err
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		if p.Group != part.Group || p.Size() != part.Size() || p.Hash() != part.Hash() {
			continue
		}
		v, err := t.voided(number, origin.Seq)
		if err != nil || v.alone.has(i) {
			return false, err
		}
		hash, err := t.hashOf(number, origin.Seq)
		return hash == origin.Hash, err
	}
	return false, nil
}

// setRepeated stores why a part of an entry does not count as a repeat, or that it does. If that is
// new, the records that the part touches are replayed.
func (t *txn) setRepeated(at spot, i int, reason string) error {
	old, err := t.voided(at.log, at.seq)
	if err != nil || old.repeated.has(i) == (reason != "") {
		return err
	}
	v := old
	v.repeated ^= 1 << i
	if reason != "" {
		v.reason = reason
	} else if v.repeated == 0 && v.alone == 0 {
		v.reason = ""
	}
	if err := t.putVoided(at.log, at.seq, old, v); err != nil {
		return err
	}
	e, changes, err := t.changesOf(at.log, at.seq)
	if err != nil {
		return err
	}
	return t.mark(e.Parts[i].Group, changes[i])
}

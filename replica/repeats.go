package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// The parts of entries with an origin that the horizon does not cover are indexed:
//
//	"repeat", origin as log, u64 seq and hash, content's hash, group as a text, 1 byte: 1 if the
//	        part is void by its verdict, u64 time, log → u32 log, u64 seq, 1 byte index of the part
//
// Of those that are not void and differ in time and log only, the first counts, unless the part
// counts in the origin itself. A checkpoint settles that for what it covers, by that alone; it does
// not matter to other entries any more. Of what counted then, this device need not issue again:
//
//	"reissued", origin, content's hash and group as above → nothing

// repeatsOf returns the key under which the repeats of a part begin.
func repeatsOf(origin *entry.Last, part *entry.Part) []byte {
	hash := part.Hash()
	key := append([]byte(prefixRepeat), origin.Log[:]...)
	key = append(binary.BigEndian.AppendUint64(key, origin.Seq), origin.Hash[:]...)
	return wire.AppendBytes(append(key, hash[:]...), part.Group)
}

// reissuedOf returns the key of a part that counts in a repeat which the horizon covers, given the
// key under which its repeats begin.
func reissuedOf(repeats []byte) []byte {
	return append([]byte(prefixReissued), repeats[len(prefixRepeat):]...)
}

// repeatKey appends to the key under which the repeats of a part begin.
func repeatKey(repeats []byte, void bool, time hlc.Time, log entry.Hash) []byte {
	key := append(bytes.Clone(repeats), 0)
	if void {
		key[len(repeats)] = 1
	}
	return append(binary.BigEndian.AppendUint64(key, uint64(time)), log[:]...)
}

// cutRepeat cuts a key of the index into what all repeats of a part have in common, and the time
// and log by which they are in order.
func cutRepeat(key []byte) (repeats, order []byte, err error) {
	const orderBytes = 8 + 32
	n := len(key) - orderBytes - 1
	if n < len(prefixRepeat) {
		return nil, nil, fmt.Errorf("the index of repeats has the key %x: %w", key, stoat.ErrCorrupt)
	}
	return key[:n], key[n+1:], nil
}

// parseRepeat returns the entry and the part that a key of the index stands for.
func parseRepeat(p []byte) (at spot, part int, err error) {
	if len(p) != 13 || p[12] >= 64 {
		return at, 0, fmt.Errorf("the index of repeats has the value %x: %w", p, stoat.ErrCorrupt)
	}
	return spot{binary.BigEndian.Uint32(p), binary.BigEndian.Uint64(p[4:])}, int(p[12]), nil
}

// noSuchPart reports an entry that does not repeat what the index of repeats says.
func noSuchPart(at spot, i int) error {
	return fmt.Errorf("entry %d of log %d does not repeat anything in part %d, as the index says: %w",
		at.seq, at.log, i, stoat.ErrCorrupt)
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
// an origin, and may be the origin of others. For what the horizon covers, that is settled.
func (t *txn) noteRepeats(h *head, seq uint64, e *entry.Entry, void partSet) error {
	if e.Origin == nil {
		if has, err := t.hasRepeats(); err != nil || !has {
			return err
		}
	}
	if hz, err := t.horizonOf(); err != nil || hz.includes(spot{h.number, seq}) {
		return err
	}
	hash, err := t.hashOf(h.number, seq)
	if err != nil {
		return err
	}
	self := &entry.Last{Head: entry.Head{Log: h.id, Seq: seq}, Hash: hash}
	for i := range e.Parts {
		part := &e.Parts[i]
		if e.Origin != nil {
			if err := t.noteRepeat(h, seq, e, i, void.has(i)); err != nil {
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
func (t *txn) noteRepeat(h *head, seq uint64, e *entry.Entry, i int, void bool) error {
	at, repeats := spot{h.number, seq}, repeatsOf(e.Origin, &e.Parts[i])
	t.repeats, t.repeatsRead = true, true
	reason := ""
	if !void {
		reason = repeatedElsewhere // unless it is the first
	}
	value := append(entryKey(nil, "", at.log, at.seq), byte(i))
	err := t.meta.Delete(repeatKey(repeats, !void, e.Time, h.id))
	if err == nil {
		err = t.meta.Put(repeatKey(repeats, void, e.Time, h.id), value)
	}
	if err == nil {
		err = t.setRepeated(at, i, reason)
	}
	if err != nil {
		return err
	}
	return t.judgeRepeats(e.Origin, &e.Parts[i])
}

// dropRepeats removes an entry from the index of repeats, after it was noted as void.
func (t *txn) dropRepeats(h *head, e *entry.Entry) error {
	for i := range e.Parts {
		if e.Origin == nil {
			break
		}
		repeats := repeatsOf(e.Origin, &e.Parts[i])
		if err := t.meta.Delete(repeatKey(repeats, true, e.Time, h.id)); err != nil {
			return err
		}
	}
	return nil
}

// Reasons why a part with an origin does not count.
const (
	repeatedOrigin    = "what it repeats counts"
	repeatedElsewhere = "another entry repeats the same before it"
)

// judgeRepeats decides which of the repeats of a part of an entry counts.
func (t *txn) judgeRepeats(origin *entry.Last, part *entry.Part) error {
	reason := ""
	r := stoat.Prefix(append(repeatsOf(origin, part), 0))
	r.Limit = 2 // the second one may have been the first
	for _, p := range t.meta.Scan(r) {
		at, i, err := parseRepeat(p)
		if err != nil {
			return err
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
		if err := t.setRepeated(at, i, reason); err != nil {
			return err
		}
		reason = repeatedElsewhere
	}
	return t.tx.Err()
}

// repeated reports whether a part counts in a repeat.
func (t *txn) repeated(origin *entry.Last, part *entry.Part) (bool, error) {
	repeats := repeatsOf(origin, part)
	for range t.meta.Keys(stoat.Prefix(append(bytes.Clone(repeats), 0))) {
		return true, nil
	}
	_, err := t.meta.Get(reissuedOf(repeats))
	if missing(err) {
		return false, t.tx.Err()
	}
	return err == nil, err
}

// inOrigin finds a part in the entry that is the origin of others. It does not find what was
// pruned.
func (t *txn) inOrigin(origin *entry.Last, part *entry.Part) (at spot, i int, ok bool, err error) {
	number, known, err := t.logNumber(origin.Log)
	if err != nil || !known {
		return at, 0, false, err
	}
	h, err := t.head(number)
	if err != nil || origin.Seq >= h.next {
		return at, 0, false, err
	}
	hash, err := t.hashOf(number, origin.Seq)
	if err != nil || hash != origin.Hash {
		return at, 0, false, unlessPruned(err)
	}
	e, err := t.entry(number, origin.Seq)
	if err != nil {
		return at, 0, false, unlessPruned(err)
	}
	i = slices.IndexFunc(e.Parts, func(p entry.Part) bool {
		return p.Group == part.Group && p.Size() == part.Size() && p.Hash() == part.Hash()
	})
	return spot{number, origin.Seq}, i, i >= 0 && e.Kind == entry.KindData, nil
}

// unlessPruned returns an error unless it reports what was pruned.
func unlessPruned(err error) error {
	if errors.Is(err, ErrPruned) {
		return nil
	}
	return err
}

// originCounts reports whether a part counts in the entry that is the origin of others, and that
// the horizon does not cover.
func (t *txn) originCounts(origin *entry.Last, part *entry.Part) (bool, error) {
	at, i, ok, err := t.inOrigin(origin, part)
	if err != nil || !ok {
		return false, err
	}
	if hz, err := t.horizonOf(); err != nil || hz.includes(at) {
		return false, err
	}
	v, err := t.voided(at.log, at.seq)
	return !v.alone.has(i), err
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
	if err == nil && i >= len(changes) {
		err = noSuchPart(at, i)
	}
	if err != nil {
		return err
	}
	return t.mark(e.Parts[i].Group, changes[i])
}

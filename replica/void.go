package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// voided is what a replica stores of an entry with parts that do not count: uvarint alone, uvarint
// repeated, and the reason as a text. An entry of which everything counts has none.
type voided struct {
	alone    partSet // by the verdict
	repeated partSet // what counts elsewhere: see repeats.go
	reason   string
}

// parts returns all parts that do not count.
func (v *voided) parts() partSet { return v.alone | v.repeated }

// voided returns what of an entry does not count, as it is stored.
func (t *txn) voided(log uint32, seq uint64) (v voided, err error) {
	if n, err := t.voidCount(); err != nil || n == 0 {
		return v, err
	}
	p, err := t.meta.Get(entryKey(nil, prefixVoid, log, seq))
	if missing(err) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	return parseVoided(p)
}

func parseVoided(p []byte) (v voided, err error) {
	r := wire.NewReader(p)
	v.alone, v.repeated = partSet(r.Uvarint()), partSet(r.Uvarint())
	v.reason = string(r.Bytes(0, entry.SizeMax))
	if err := r.End(); err != nil {
		return v, fmt.Errorf("a void entry: %w: %w", err, stoat.ErrCorrupt)
	}
	return v, nil
}

// putVoided stores what of an entry does not count.
func (t *txn) putVoided(log uint32, seq uint64, old, v voided) error {
	if v == old {
		return nil
	}
	key := entryKey(nil, prefixVoid, log, seq)
	was, is := old.parts() != 0, v.parts() != 0
	if was != is {
		n, err := t.voidCount()
		if err != nil {
			return err
		}
		if t.voids = n - 1; is {
			t.voids = n + 1
		}
		err = t.meta.Put([]byte(keyVoidCount), binary.BigEndian.AppendUint64(nil, t.voids))
		if err != nil {
			return err
		}
	}
	if !is {
		return t.meta.Delete(key)
	}
	p := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(v.alone)), uint64(v.repeated))
	return t.meta.Put(key, wire.AppendBytes(p, v.reason))
}

// voidCount returns the number of entries with parts that do not count.
func (t *txn) voidCount() (uint64, error) {
	if t.voidsRead {
		return t.voids, nil
	}
	p, err := t.meta.Get([]byte(keyVoidCount))
	if missing(err) {
		t.voidsRead = true
		return 0, nil
	}
	if err == nil && len(p) != 8 {
		err = fmt.Errorf("%q has %d bytes instead of 8: %w", keyVoidCount, len(p), stoat.ErrCorrupt)
	}
	if err != nil {
		return 0, err
	}
	t.voids, t.voidsRead = binary.BigEndian.Uint64(p), true
	return t.voids, nil
}

// eachVoid calls fn with the entries that have parts that do not count, by log and seq, until it
// returns false.
func (t *txn) eachVoid(fn func(at spot, v *voided) (bool, error)) error {
	for key, p := range t.meta.Scan(stoat.Prefix([]byte(prefixVoid))) {
		key = key[len(prefixVoid):]
		v, err := parseVoided(p)
		if err == nil && len(key) != 12 {
			err = fmt.Errorf("void entry %x: %w", key, stoat.ErrCorrupt)
		}
		if err != nil {
			return err
		}
		more, err := fn(spot{binary.BigEndian.Uint32(key), binary.BigEndian.Uint64(key[4:])}, &v)
		if err != nil || !more {
			return err
		}
	}
	return t.tx.Err()
}

// void returns the parts of a stored entry that do not count, and the reason. Its verdict may have
// changed since the last note of it.
func (t *txn) void(h *head, seq uint64, e *entry.Entry) (void partSet, reason, err error) {
	void, reason, err = t.verdict(h, seq, e)
	if err != nil || e.Origin == nil {
		return void, reason, err
	}
	if t.settling != nil {
		repeated, err := t.settling.repeated(spot{h.number, seq}, e)
		return void | repeated, reason, err
	}
	v, err := t.voided(h.number, seq)
	if reason == nil && v.repeated != 0 {
		reason = errors.New(v.reason)
	}
	return void | v.repeated, reason, err
}

// note stores which parts of an entry do not count, and returns them. It is called when an entry is
// stored, and whenever its verdict may be another one.
func (t *txn) note(h *head, seq uint64, e *entry.Entry) (void partSet, err error) {
	alone, reason, err := t.verdict(h, seq, e)
	if err != nil {
		return 0, err
	}
	old, err := t.voided(h.number, seq)
	if err != nil {
		return 0, err
	}
	v := voided{alone: alone, repeated: old.repeated}
	if reason != nil {
		v.reason = reason.Error()
	} else if v.repeated != 0 {
		v.reason = old.reason
	}
	if err := t.putVoided(h.number, seq, old, v); err != nil {
		return 0, err
	}
	if err := t.noteRepeats(h, seq, e, alone); err != nil {
		return 0, err
	}
	v, err = t.voided(h.number, seq)
	return v.parts(), err
}

// actNotes says which acts are to be noted when the transaction commits.
type actNotes struct {
	all bool // stored acts
	of  map[spot]bool
}

// noteActLater notes an act when the transaction commits.
func (t *txn) noteActLater(at spot) error {
	if t.notes.of == nil {
		t.notes.of = map[spot]bool{}
	}
	t.notes.of[at] = true
	return t.replayLater()
}

// noteActs notes the acts whose verdicts are new or may have changed.
func (t *txn) noteActs() error {
	acts := t.notes.of
	if t.notes.all {
		acts = map[spot]bool{}
		maps.Copy(acts, t.notes.of)
		if err := t.eachAct(func(at spot) error { acts[at] = true; return nil }); err != nil {
			return err
		}
	}
	t.notes = actNotes{}
	for at := range acts {
		h, err := t.head(at.log)
		if err != nil {
			return err
		}
		if at.seq >= h.next {
			continue // it was removed after it was noted
		}
		e, err := t.entry(at.log, at.seq)
		if err == nil {
			_, err = t.note(h, at.seq, e)
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// unnote removes what is stored about an entry that is about to be removed. It counts no longer, so
// a repeat of it may.
func (t *txn) unnote(h *head, seq uint64) error {
	e, changes, err := t.changesOf(h.number, seq)
	if err == nil && seq < h.touched {
		err = t.unindex(h.number, seq, e.Parts, changes)
	}
	if err != nil {
		return err
	}
	old, err := t.voided(h.number, seq)
	if err != nil {
		return err
	}
	gone := voided{alone: 1<<len(e.Parts) - 1, repeated: old.repeated}
	if err := t.putVoided(h.number, seq, old, gone); err != nil {
		return err
	}
	if err := t.noteRepeats(h, seq, e, gone.alone); err != nil {
		return err
	}
	if err := t.dropRepeats(h, e); err != nil {
		return err
	}
	v, err := t.voided(h.number, seq)
	if err != nil {
		return err
	}
	return t.putVoided(h.number, seq, v, voided{})
}

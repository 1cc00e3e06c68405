package replica

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// vector says how many entries of each log happened before an entry, itself included.
type vector map[uint32]uint64

// spot is an entry by the number of its log.
type spot struct {
	log uint32
	seq uint64
}

// vectorStep is the distance of the entries of a log whose vectors are stored, which bounds how far
// vectorOf walks back in each log.
const vectorStep = 64

// vectorOf returns the vector of an entry. The caller must not change it.
func (t *txn) vectorOf(at spot) (vector, error) {
	from := at.seq
	v, err := t.knownVector(at)
	for v == nil && err == nil {
		from--
		v, err = t.knownVector(spot{at.log, from})
	}
	if err != nil || from == at.seq {
		return v, err
	}
	v = maps.Clone(v)
	for seq := from + 1; seq <= at.seq; seq++ {
		_, stored, err := t.entry(at.log, seq)
		if err != nil {
			return nil, err
		}
		e, err := entry.ParseHead(stored)
		if err != nil {
			return nil, fmt.Errorf("entry %d of log %d: %w: %w", seq, at.log, err, stoat.ErrCorrupt)
		}
		if err := t.addContext(v, e); err != nil {
			return nil, err
		}
	}
	v[at.log] = at.seq + 1
	t.vectors[at] = v
	return v, nil
}

// knownVector returns the vector of an entry if it need not be computed, or nil.
func (t *txn) knownVector(at spot) (vector, error) {
	if v := t.vectors[at]; v != nil || at.seq%vectorStep != 0 {
		return v, nil
	}
	return t.loadVector(at)
}

// addContext adds what the context of an entry covers.
func (t *txn) addContext(v vector, e *entry.Entry) error {
	for _, h := range e.Context {
		log, ok, err := t.logNumber(h.Log)
		if err == nil && !ok {
			err = fmt.Errorf("a context names the unknown log %s: %w", h.Log, stoat.ErrCorrupt)
		}
		if err != nil {
			return err
		}
		if v[log] > h.Seq {
			continue // and everything before it
		}
		seen, err := t.vectorOf(spot{log, h.Seq})
		if err != nil {
			return err
		}
		for log, n := range seen {
			v[log] = max(v[log], n)
		}
	}
	return nil
}

// keepVector stores the vector of an entry that was just appended, if it is one of those.
func (t *txn) keepVector(h *head, seq uint64, e *entry.Entry) error {
	if seq%vectorStep != 0 {
		return nil
	}
	v := vector{}
	if seq > 0 {
		before, err := t.vectorOf(spot{h.number, seq - 1})
		if err != nil {
			return err
		}
		v = maps.Clone(before)
	}
	if err := t.addContext(v, e); err != nil {
		return err
	}
	v[h.number] = seq + 1
	t.vectors[spot{h.number, seq}] = v
	var p []byte
	for _, log := range slices.Sorted(maps.Keys(v)) {
		p = binary.AppendUvarint(binary.AppendUvarint(p, uint64(log)), v[log])
	}
	return t.meta.Put(entryKey(nil, prefixVector, h.number, seq), p)
}

// loadVector returns a stored vector.
func (t *txn) loadVector(at spot) (vector, error) {
	p, err := t.meta.Get(entryKey(nil, prefixVector, at.log, at.seq))
	if err != nil {
		return nil, fmt.Errorf("the vector of entry %d of log %d: %w", at.seq, at.log, err)
	}
	v := vector{}
	r := wire.NewReader(p)
	for r.Len() > 0 {
		log := uint32(r.Uvarint())
		v[log] = r.Uvarint()
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("the vector of entry %d of log %d: %w: %w", at.seq, at.log, err,
			stoat.ErrCorrupt)
	}
	t.vectors[at] = v
	return v, nil
}

// order is what the rules of merging ask about one entry.
type order struct {
	t    *txn
	at   spot
	own  bool // the entry has seen everything
	seen vector
	err  error // of a lookup; the merge is not valid then
}

// ID returns the id of a log.
func (o *order) ID(log uint32) (id entry.Hash) {
	h, err := o.t.head(log)
	if err != nil {
		o.err = err
		return id
	}
	return h.id
}

// Seen reports whether the entry comes after the one of a stamp.
func (o *order) Seen(s merge.Stamp) bool {
	if o.own || s.Log == o.at.log {
		return true
	}
	if o.seen == nil && o.err == nil {
		o.seen, o.err = o.t.vectorOf(o.at)
	}
	return o.seen[s.Log] > s.Seq
}

package replica

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// vector says how many entries of each log happened before an entry, itself included.
type vector map[uint32]uint64

// vectorStep is the least number of heads in the contexts of a log after which a vector is stored,
// where walks end. A space with many logs has longer vectors, so it stores them less often: what is
// stored, and the time to compute it, is in proportion to the number of heads.
const vectorStep = 32

// keepVector stores the vector of the entry of a frontier, if it is time for one.
func (t *txn) keepVector(f *frontier) error {
	if f.since < vectorStep {
		return nil
	}
	logs, err := t.meta.Sequence() // at least
	if err != nil || f.since < logs/4 {
		return err
	}
	v, err := t.vectorOf(f.at)
	if err != nil {
		return err
	}
	f.since, f.vector = 0, f.at.seq+1
	return t.putVector(f.at, v)
}

// putVector stores the vector of an entry.
func (t *txn) putVector(at spot, v vector) error {
	var p []byte
	for _, log := range slices.Sorted(maps.Keys(v)) {
		p = binary.AppendUvarint(binary.AppendUvarint(p, uint64(log)), v[log])
	}
	return t.meta.Put(entryKey(nil, prefixVector, at.log, at.seq), p)
}

// vectorOf returns the vector of an entry. It takes time in proportion to the number of logs, and
// of contexts since the last stored vectors; to ask about single entries, use pastOf.
func (t *txn) vectorOf(at spot) (vector, error) {
	p, err := t.pastOf(at)
	for err == nil && len(p.todo) > 0 {
		err = p.step()
	}
	if err != nil {
		return nil, err
	}
	v := vector{}
	for log, r := range p.logs {
		v[log] = r.count
	}
	return v, nil
}

// eachInVector calls fn with what a stored vector says. There is none if it was dropped.
func (t *txn) eachInVector(at spot, fn func(log uint32, count uint64)) (ok bool, err error) {
	p, err := t.meta.Get(entryKey(nil, prefixVector, at.log, at.seq))
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r := wire.NewReader(p)
	for r.Len() > 0 {
		log, count := uint32(r.Uvarint()), r.Uvarint()
		if r.Err() == nil {
			fn(log, count)
		}
	}
	if err := r.End(); err != nil {
		return false, fmt.Errorf("the vector of entry %d of log %d: %w: %w", at.seq, at.log, err,
			stoat.ErrCorrupt)
	}
	return true, nil
}

// renewVectors computes the stored vectors of the entries from a time on again. Call it after the
// cut of a log has changed, with the time of the first entry for which that makes a difference.
func (t *txn) renewVectors(from hlc.Time) error {
	var stored []*frontier
	for key := range t.meta.Keys(stoat.Prefix([]byte(prefixVector))) {
		if key = key[len(prefixVector):]; len(key) != 12 {
			return fmt.Errorf("a vector has the key %x: %w", key, stoat.ErrCorrupt)
		}
		f, err := t.frontier(spot{binary.BigEndian.Uint32(key), binary.BigEndian.Uint64(key[4:])})
		if err != nil {
			return err
		}
		if f.time >= from {
			stored = append(stored, f)
		}
	}
	if err := t.tx.Err(); err != nil {
		return err
	}
	for _, f := range stored {
		if err := t.meta.Delete(entryKey(nil, prefixVector, f.at.log, f.at.seq)); err != nil {
			return err
		}
	}
	slices.SortFunc(stored, func(a, b *frontier) int { return cmp.Compare(a.time, b.time) })
	for _, f := range stored {
		v, err := t.vectorOf(f.at)
		if err == nil {
			err = t.putVector(f.at, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

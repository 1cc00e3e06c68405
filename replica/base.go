package replica

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// The bucket "base" has the states that records had at the checkpoint, of those that have changed
// since, or that entries touch which it does not cover:
//
//	u64 number of the horizon, u32 collection, key → the state in its canonical form; empty: none
//
// The state of a record that is not there is still that at the checkpoint.

// baseKey returns the key of a record's base.
func baseKey(number uint64, collection uint32, key []byte) []byte {
	p := binary.BigEndian.AppendUint64(make([]byte, 0, 12+len(key)), number)
	return append(binary.BigEndian.AppendUint32(p, collection), key...)
}

// storedBase returns the stored base of a record. The record is nil if there is none.
func (t *txn) storedBase(number uint64, collection uint32, key []byte) (*merge.Record, error) {
	bases, err := t.bases()
	if err != nil {
		return nil, err
	}
	p, err := bases.Get(baseKey(number, collection, key))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseBase(p)
}

// hasBase reports whether the base of a record is stored.
func (t *txn) hasBase(number uint64, collection uint32, key []byte) (bool, error) {
	bases, err := t.bases()
	if err != nil {
		return false, err
	}
	_, err = bases.Get(baseKey(number, collection, key))
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}

func parseBase(p []byte) (*merge.Record, error) {
	if len(p) == 0 {
		return &merge.Record{}, nil
	}
	r := &merge.Record{}
	err := r.ParseNormal(p)
	if err != nil {
		err = fmt.Errorf("a state at the checkpoint: %w: %w", err, stoat.ErrCorrupt)
	}
	return r, err
}

// putBase stores the base of a record, which is normal.
func (t *txn) putBase(number uint64, collection uint32, key []byte, r *merge.Record) error {
	var p []byte
	if !r.Empty() {
		o := &order{t: t}
		if p = r.Append(nil, o); o.err != nil {
			return o.err
		}
	}
	bases, err := t.bases()
	if err != nil {
		return err
	}
	return bases.Put(baseKey(number, collection, key), p)
}

// keepBase stores the base of a record that is about to change, unless that was done before.
func (s *state) keepBase() error {
	h, err := s.t.horizonOf()
	if err != nil || h == nil {
		return err
	}
	has, err := s.t.hasBase(h.number, s.c.number, s.key)
	if err != nil || has {
		return err
	}
	return s.t.putBase(h.number, s.c.number, s.key, s.record)
}

// normalise forgets what the checkpoint makes irrelevant in a state that was just read.
func (s *state) normalise() error {
	h, err := s.t.horizonOf()
	if err != nil || h == nil || !s.exists {
		return err
	}
	cleared := len(s.record.Alive) == 0
	if cleared {
		changed, err := s.t.hasBase(h.number, s.c.number, s.key)
		if err != nil {
			return err
		}
		cleared = !changed
	}
	s.forgot = s.record.Normalise(h.covers.covered, cleared)
	return nil
}

// base returns the state of a record from which it is replayed, and which entries that state
// covers. All others are available.
func (t *txn) base(c *collection, key []byte) (*merge.Record, vector, error) {
	if err := t.mergeDeferred(); err != nil {
		return nil, nil, err
	}
	h, err := t.horizonOf()
	if err != nil || h == nil {
		return &merge.Record{}, nil, err
	}
	r, err := t.storedBase(h.number, c.number, key)
	if err != nil || r != nil {
		return r, h.covers, err
	}
	s, err := t.loadStored(c, key)
	if err == nil && t.tx.Writable() {
		err = s.keepBase()
	}
	if err != nil {
		return nil, nil, err
	}
	return s.record, h.covers, nil
}

// putBases stores the bases of a new horizon, of all records that are marked for a replay. The old
// horizon is still in force. What is covered decides alone what of it counts: acts that are not do
// not matter.
func (t *txn) putBases(covers vector, number uint64) error {
	return t.putBasesOf(covers, number, nil)
}

// dropBases removes the states that are stored for checkpoints from a number on.
func (t *txn) dropBases(number uint64) error {
	bases, err := t.bases()
	if err != nil {
		return err
	}
	return bases.DeleteRange(stoat.Range{Start: baseKey(number, 0, nil)})
}

// dropBasesBefore removes the states that are stored for checkpoints before a number.
func (t *txn) dropBasesBefore(number uint64) error {
	bases, err := t.bases()
	if err != nil {
		return err
	}
	return bases.DeleteRange(stoat.Range{End: baseKey(number, 0, nil)})
}

// putBasesOf is putBases for some collections; nil stands for all.
func (t *txn) putBasesOf(covers vector, number uint64, of map[string]uint32) error {
	return t.within(covers, func() error {
		return t.eachMarked(covers.covered, func(c *collection, key []byte, r *merge.Record) error {
			if _, ok := of[c.name]; of != nil && !ok {
				return nil
			}
			r.Normalise(covers.covered, true)
			return t.putBase(number, c.number, key, r)
		})
	})
}

// within runs fn, in which what a new horizon covers decides alone what of it counts.
func (t *txn) within(covers vector, fn func() error) error {
	present, err := t.rights()
	if err != nil {
		return err
	}
	defer func() { t.rightsView, t.settling = present, nil }()
	if t.rightsView, err = t.rightsWithin(covers); err != nil {
		return err
	}
	if !t.rebasing { // or else which repeats count is settled, and noted
		t.settling = &settledRepeats{t: t, covers: covers, first: map[string]spot{}}
	}
	return fn()
}

// eachBase calls fn with each record of a collection with a key in a range and its state at a
// checkpoint, in canonical form, in the order of keys. The checkpoint is the horizon, or one whose
// bases are stored.
func (t *txn) eachBase(name string, number uint32, hz *horizon, within stoat.Range,
	fn func(key, canonical []byte) error,
) error {
	prefix := baseKey(hz.number, number, nil)
	bucket, err := t.bases()
	if err != nil {
		return err
	}
	bases := bucket.Cursor()
	changed, kept := bases.Seek(append(bytes.Clone(prefix), within.Start...))
	upTo := func(key []byte) (same bool, err error) { // gives fn the bases before a key, and its own
		for err == nil && bytes.HasPrefix(changed, prefix) {
			own := changed[len(prefix):]
			if key != nil && bytes.Compare(own, key) > 0 ||
				within.End != nil && bytes.Compare(own, within.End) >= 0 {
				break
			}
			same = bytes.Equal(own, key)
			if len(kept) > 0 {
				err = fn(own, kept)
			}
			changed, kept = bases.Next()
		}
		return same, cmp.Or(err, bases.Err())
	}
	o := &order{t: t}
	var canonical []byte
	err = t.eachState(name, number, within, func(s *state) error {
		if same, err := upTo(s.key); err != nil || same {
			return err
		}
		s.record.Normalise(hz.covers.covered, true)
		if s.record.Empty() {
			return nil
		}
		canonical = s.record.Append(canonical[:0], o)
		return cmp.Or(o.err, fn(s.key, canonical))
	})
	if err == nil {
		_, err = upTo(nil)
	}
	return cmp.Or(err, t.tx.Err())
}

// horizonsKey returns the key of the horizon of a number.
func horizonsKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(prefixHorizons), number)
}

// rebase computes the bases again of the records that are marked for a replay, of collections of
// which content was missing, as one checkpoint after the other has made them. Nothing was pruned.
func (t *txn) rebase() error {
	present, err := t.horizonOf()
	if err != nil || present == nil {
		return err
	}
	lacks, err := t.lacks()
	if err != nil {
		return err
	}
	defer func() { t.horizon, t.rebasing = present, false }()
	t.horizon, t.rebasing = nil, true
	for n := uint64(1); n <= present.number; n++ {
		p, err := t.meta.Get(horizonsKey(n))
		if err != nil {
			return fmt.Errorf("checkpoint %d: %w", n, err)
		}
		hz, err := parseHorizon(p)
		if err == nil {
			err = t.putBasesOf(hz.covers, n, lacks)
		}
		if err != nil {
			return err
		}
		t.horizon = hz
	}
	return t.dropBasesBefore(present.number)
}

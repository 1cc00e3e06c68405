package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Entries may be stored without the content of some parts. What is missing of a collection:
//
//	"withheld" u32      of a collection: something is missing; a byte: see unfilled.go
//	"withheld" u32 u32  of a collection and a log: uvarint, the number of the first entry whose
//	                    content may be missing
//
// A collection of which something is missing shows its records as they were before, and is not
// written to: entries would claim to have seen what their author has not.

// errNoContent reports entries without the content of a collection that this replica holds.
var errNoContent = fmt.Errorf("entries come without their content: take them from a replica that "+
	"holds the collection: %w", ErrNotHeld)

// gapKey returns the key of what is missing of a collection in a log.
func gapKey(collection, log uint32) []byte {
	return binary.BigEndian.AppendUint32(keyed(nil, prefixWithheld, collection), log)
}

// noteWithheld notes what is missing of an entry that was stored.
func (t *txn) noteWithheld(h *head, seq uint64, e *entry.Entry) error {
	for i := range e.Parts {
		if e.Parts[i].Withheld == nil {
			continue
		}
		name := e.Parts[i].Group
		number, err := t.collectionNumber(name)
		if err != nil {
			return err
		}
		gap, err := t.gap(number, h.number)
		if err != nil {
			return err
		}
		if gap > 0 {
			continue
		}
		err = t.meta.Put(gapKey(number, h.number), binary.AppendUvarint(nil, seq))
		if err != nil {
			return err
		}
		lacks, err := t.lacks()
		if err != nil {
			return err
		}
		if _, known := lacks[name]; !known {
			if err := t.setLacking(name, number, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// gap returns the number of the first entry of a log whose content about a collection may be
// missing, or 0: genesis entries have none.
func (t *txn) gap(collection, log uint32) (uint64, error) {
	p, err := t.meta.Get(gapKey(collection, log))
	if missing(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	r := wire.NewReader(p)
	seq := r.Uvarint()
	if err := r.End(); err != nil {
		return 0, fmt.Errorf("what is missing in log %d: %w: %w", log, err, stoat.ErrCorrupt)
	}
	return seq, nil
}

// narrow moves the gaps of a log that collections have from an entry on, or later, behind the
// entries that have their content now. It walks once for all of them.
func (t *txn) narrow(h *head, collections map[string]uint32, from uint64) error {
	gaps := map[string]uint64{} // that are still to be moved
	for name, number := range collections {
		seq, err := t.gap(number, h.number)
		if err != nil {
			return err
		}
		if seq > 0 {
			gaps[name] = max(seq, from)
		}
	}
	move := func(name string, seq uint64) error {
		if gap, is := gaps[name]; !is || seq < gap {
			return nil
		}
		delete(gaps, name)
		key := gapKey(collections[name], h.number)
		return t.meta.Put(key, binary.AppendUvarint(nil, seq))
	}
	if err := t.eachMissing(h, gaps, move); err != nil {
		return err
	}
	for name := range gaps {
		t.arrived.add(name)
		if err := t.meta.Delete(gapKey(collections[name], h.number)); err != nil {
			return err
		}
	}
	return nil
}

// eachMissing calls move with the entries of a log that lack content of collections, from the least
// gap on, until there are no gaps.
func (t *txn) eachMissing(
	h *head, gaps map[string]uint64, move func(collection string, seq uint64) error,
) error {
	seq := uint64(math.MaxUint64)
	for _, gap := range gaps {
		seq = min(seq, gap)
	}
	for ; len(gaps) > 0 && seq < h.last()+1; seq++ {
		e, err := t.entry(h.number, seq)
		if err != nil && !errors.Is(err, ErrPruned) {
			return err
		}
		var lacking []string
		if err == nil {
			lacking = withheldParts(e)
		} else { // this will never come
			lacking = slices.Collect(maps.Keys(gaps))
		}
		for _, name := range lacking {
			if err := move(name, seq); err != nil {
				return err
			}
		}
	}
	return nil
}

// withheldParts returns the collections about which the content of an entry is withheld.
func withheldParts(e *entry.Entry) (collections []string) {
	for i := range e.Parts {
		if e.Parts[i].Withheld != nil {
			collections = append(collections, e.Parts[i].Group)
		}
	}
	return collections
}

// eachGap calls fn with the logs in which content of a collection is missing, and with the first
// entry, unless a fork has made that void.
func (t *txn) eachGap(collection uint32, fn func(h *head, seq uint64) error) error {
	prefix := keyed(nil, prefixWithheld, collection)
	for key := range t.meta.Keys(stoat.Prefix(prefix)) {
		if len(key) == len(prefix) {
			continue
		}
		if len(key) != len(prefix)+4 {
			return fmt.Errorf("what is missing of collection %d: %w", collection, stoat.ErrCorrupt)
		}
		h, err := t.head(binary.BigEndian.Uint32(key[len(prefix):]))
		if err != nil {
			return err
		}
		seq, err := t.gap(collection, h.number)
		if err == nil && !h.voids(seq) {
			err = fn(h, seq)
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// wantedGaps returns the logs in which content is missing that this replica holds and may read,
// with the first entries that lack some.
func (t *txn) wantedGaps() (map[*head]uint64, error) {
	lacks, err := t.lacks()
	if err != nil || len(lacks) == 0 {
		return nil, err
	}
	wanted := map[*head]uint64{}
	for name, number := range lacks {
		wants, err := t.wants(name)
		if err != nil {
			return nil, err
		}
		if !wants {
			continue
		}
		err = t.eachGap(number, func(h *head, seq uint64) error {
			gone, err := t.isGone(spot{h.number, seq})
			if first, ok := wanted[h]; !gone && (!ok || seq < first) {
				wanted[h] = seq
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

// withheld returns what is missing, by collection.
func (t *txn) withheld() (all []Withheld, err error) {
	lacks, err := t.lacks()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		w := Withheld{Collection: name}
		if w.Checkpoint, err = t.isUnfilled(lacks[name]); err != nil {
			return nil, err
		}
		if w.Wanted, err = t.wants(name); err == nil {
			err = t.eachGap(lacks[name], func(*head, uint64) error { w.Logs++; return nil })
		}
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// firstGaps returns a function that returns the first entry of a log without content that this
// replica holds and may read.
func (t *txn) firstGaps() (func(*head) uint64, error) {
	wanted, err := t.wantedGaps()
	if err != nil {
		return nil, err
	}
	first := map[uint32]uint64{}
	for h, seq := range wanted {
		first[h.number] = seq
	}
	return func(h *head) uint64 {
		if seq, ok := first[h.number]; ok {
			return seq
		}
		return math.MaxUint64
	}, nil
}

// wholeVector returns how much of the space this replica has with all content that it wants.
func (s *Space) wholeVector(tx *stoat.Tx) (Vector, error) {
	v, err := s.Vector(tx)
	if err != nil {
		return nil, err
	}
	t, err := s.in(tx)
	if err != nil {
		return nil, err
	}
	wanted, err := t.wantedGaps()
	for h, seq := range wanted {
		v[LogID(h.id)] = min(v[LogID(h.id)], seq)
	}
	return v, err
}

// wants reports whether this replica holds a collection, and its device may read it.
func (t *txn) wants(collection string) (bool, error) {
	held, err := t.held()
	if err != nil || !held.has(collection) {
		return false, err
	}
	v, err := t.rights()
	if err != nil {
		return false, err
	}
	own, err := t.ownHead()
	return err == nil && v.tree.Now(own.device, entry.RightRead, collection), err
}

// isGone reports whether an entry was pruned here, so that its content cannot arrive any more.
func (t *txn) isGone(at spot) (bool, error) {
	hz, err := t.horizonOf()
	if err != nil || hz == nil || at.seq >= hz.covers[at.log] {
		return false, err
	}
	return t.hasPruned()
}

// Gaps implements session.Space.
func (e endpoint) Gaps(most int) (gaps []session.Gap, err error) {
	err = e.view(func(t *txn) error {
		found, err := t.wantedGaps()
		for h, seq := range found {
			if len(gaps) < most {
				g := session.Gap{From: seq, To: min(h.sealed, h.last()+1)}
				copy(g.Log[:], h.id[:])
				gaps = append(gaps, g)
			}
		}
		return err
	})
	return gaps, err
}

package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/merge"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// horizon is the last checkpoint that was decided, with the entries that it covers. Every entry
// that counts and is not covered has seen all covered ones. So it no longer matters when and by
// which device a covered value was written: states are normal, see merge.Record.Normalise, and
// covered entries can be pruned. It is immutable.
type horizon struct {
	at     spot       // of the entry with the checkpoint
	hash   entry.Hash // of that entry
	number uint64     // how many checkpoints were decided, with this one
	covers vector     // how many entries of each log
	// tops are the covered entries that no other covered entry has seen. An entry that has seen
	// them has seen all that is covered.
	tops []top
}

// top is an entry with its time.
type top struct {
	spot
	time hlc.Time
}

// knownHorizon is a horizon with its stored form, as some transaction has read it.
type knownHorizon struct {
	stored  []byte
	horizon *horizon
}

// horizonOf returns the horizon, or nil if there was no checkpoint.
func (t *txn) horizonOf() (*horizon, error) {
	if t.horizonRead {
		return t.horizon, nil
	}
	has, err := t.has(hasHorizon)
	if err != nil || !has {
		t.horizonRead = err == nil
		return nil, err
	}
	p, err := t.meta.Get([]byte(keyHorizon))
	if err != nil {
		return nil, err
	}
	s := t.space
	s.mu.Lock()
	known := s.horizon
	s.mu.Unlock()
	if known == nil || !bytes.Equal(known.stored, p) {
		h, err := parseHorizon(p)
		if err != nil {
			return nil, err
		}
		known = &knownHorizon{bytes.Clone(p), h}
		s.mu.Lock()
		s.horizon = known
		s.mu.Unlock()
	}
	t.horizon, t.horizonRead = known.horizon, true
	return t.horizon, nil
}

// putHorizon makes a checkpoint the horizon of the transaction.
func (t *txn) putHorizon(h *horizon) error {
	t.horizon, t.horizonRead = h, true
	p := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(h.at.log)), h.at.seq)
	p = binary.AppendUvarint(append(p, h.hash[:]...), h.number)
	p = binary.AppendUvarint(p, uint64(len(h.tops)))
	for _, x := range h.tops {
		p = binary.AppendUvarint(binary.AppendUvarint(p, uint64(x.log)), x.seq)
		p = binary.BigEndian.AppendUint64(p, uint64(x.time))
	}
	for _, log := range slices.Sorted(maps.Keys(h.covers)) {
		p = binary.AppendUvarint(binary.AppendUvarint(p, uint64(log)), h.covers[log])
	}
	return errors.Join(t.meta.Put([]byte(keyHorizon), p), t.meta.Put(horizonsKey(h.number), p),
		t.noteDecided(h.hash), t.setFlag(hasHorizon, true))
}

func parseHorizon(p []byte) (*horizon, error) {
	r := wire.NewReader(p)
	h := &horizon{at: spot{uint32(r.Uvarint()), r.Uvarint()}, hash: r.Hash(), number: r.Uvarint(),
		covers: vector{}}
	for range r.Count(1<<20, 10) {
		h.tops = append(h.tops, top{spot{uint32(r.Uvarint()), r.Uvarint()}, hlc.Time(r.Uint64())})
	}
	for r.Len() > 0 {
		log := uint32(r.Uvarint())
		h.covers[log] = r.Uvarint()
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("the horizon: %w: %w", err, stoat.ErrCorrupt)
	}
	return h, nil
}

// isTop returns the tops as a set. Each is the last covered entry of its log.
func (h *horizon) isTop() map[spot]bool {
	is := map[spot]bool{}
	if h != nil {
		for _, x := range h.tops {
			is[x.spot] = true
		}
	}
	return is
}

// covered reports whether the checkpoint covers the entry of a stamp.
func (v vector) covered(s merge.Stamp) bool { return v[s.Log] > s.Seq && s != merge.Stamp{} }

// includes reports whether a checkpoint covers an entry.
func (h *horizon) includes(at spot) bool { return h != nil && at.seq < h.covers[at.log] }

// rivals reports whether an entry is another one than the checkpoint, in its place: its author has
// forked the log.
func (h *horizon) rivals(at spot, hash entry.Hash) bool {
	return h != nil && h.at == at && h.hash != hash
}

// passed reports whether an entry is covered, and others of its log are covered behind it. Nobody
// has to know such an entry any more.
func (h *horizon) passed(at spot) bool { return h != nil && at.seq+1 < h.covers[at.log] }

// beyond returns a log, and its first entry from one on that the checkpoint does not cover.
func (t *txn) beyond(log uint32, seq uint64) (h *head, first uint64, err error) {
	hz, err := t.horizonOf()
	if err == nil && hz != nil {
		seq = max(seq, hz.covers[log])
	}
	if err == nil {
		h, err = t.head(log)
	}
	return h, seq, err
}

// topsOf returns the tops of what is covered, or nil if that is not a closed cut. What the present
// horizon covers may have been pruned: of that, nothing but its tops can be one.
func (t *txn) topsOf(covers vector) ([]top, error) {
	before, err := t.horizonOf()
	if err != nil {
		return nil, err
	}
	isTop := before.isTop()
	implied := func(at spot) bool { return before.includes(at) && !isTop[at] }
	p := &past{t: t, logs: map[uint32]reach{}}
	for log, count := range covers {
		last, err := t.lastContext(log, count-1)
		if err == nil {
			err = p.reach(sight{spot{log, count - 1}, last})
		}
		if err != nil {
			return nil, err
		}
	}
	for len(p.todo) > 0 {
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	for log, r := range p.logs {
		if r.count > covers[log] {
			return nil, nil
		}
	}
	var tops []top
	for _, log := range slices.Sorted(maps.Keys(covers)) {
		at := spot{log, covers[log] - 1}
		if p.logs[log].named || implied(at) {
			continue
		}
		time, err := t.timeOf(at)
		if err != nil {
			return nil, err
		}
		tops = append(tops, top{at, time})
	}
	return tops, nil
}

// hasSeen reports whether an entry has seen all that a checkpoint covers.
func (t *txn) hasSeen(at spot, h *horizon) (bool, error) {
	p, err := t.pastOf(at)
	if err != nil {
		return false, err
	}
	for _, x := range h.tops {
		if seen, err := p.has(x.spot, x.time); err != nil || !seen {
			return false, err
		}
	}
	return true, nil
}

// errUnseen says why an entry is void.
var errUnseen = errors.New("its author had not seen what a checkpoint covers: its device makes " +
	"such changes again, in a new log")

// judgeLate notes whether a data entry, which was just appended, is late: whether it has not seen
// what the checkpoint covers. Data of a log that is late once is void from there on, so that what
// its device makes again is not mixed with what followed.
func (t *txn) judgeLate(h *head, seq uint64, e *entry.Entry) error {
	hz, err := t.horizonOf()
	if err != nil || hz == nil || h.late > 0 || e.Kind != entry.KindData ||
		h.abreast == hz.number {
		return err
	}
	seen, err := t.hasSeen(spot{h.number, seq}, hz)
	if err != nil {
		return err
	}
	if seen {
		h.abreast = hz.number
	} else {
		h.late = seq
	}
	return t.putHead(h)
}

// judgeLateAll does the same for the entries of all logs that the checkpoint does not cover, where
// that is not decided, and replays what does not count any more.
func (t *txn) judgeLateAll(hz *horizon) error {
	for h, err := range t.eachHead() {
		if err != nil {
			return err
		}
		if h, err = t.head(h.number); err != nil {
			return err
		}
		late := h.late
		seq := max(hz.covers[h.number], 1)
		for ; seq <= h.last() && h.late == 0 && h.abreast < hz.number; seq++ {
			e, err := t.entry(h.number, seq)
			if err == nil {
				err = t.judgeLate(h, seq, e)
			}
			if err != nil {
				return err
			}
		}
		if h.late == late {
			continue
		}
		if err := t.replayEntries(h.number, h.late, h.next); err != nil {
			return err
		}
	}
	return nil
}

// spotOf returns the entry whose key this is, without its prefix.
func spotOf(key []byte) (at spot, err error) {
	if len(key) != 12 {
		return at, fmt.Errorf("the key %x of an entry: %w", key, stoat.ErrCorrupt)
	}
	return spot{binary.BigEndian.Uint32(key), binary.BigEndian.Uint64(key[4:])}, nil
}

package replica

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// spot is an entry by the number of its log.
type spot struct {
	log uint32
	seq uint64
}

// compare orders entries by log and seq.
func (s spot) compare(other spot) int {
	return cmp.Or(cmp.Compare(s.log, other.log), cmp.Compare(s.seq, other.seq))
}

// frontier is the context of an entry as walks need it, stored beside the entry:
//
//	u64      time
//	uvarint  before
//	uvarint  since
//	uvarint  vector
//	         heads, to the end: uvarints log, seq, last
//
// It is immutable, except while its entry is appended.
type frontier struct {
	at     spot
	time   hlc.Time
	before uint64 // the number of entries of the log up to the previous one with a context
	since  uint64 // heads in contexts of the log behind its last stored vector, these included
	vector uint64 // the number of entries of the log up to the one with that vector; 0: there is none
	heads  []sight
}

// sight is a head in a context.
type sight struct {
	spot
	last uint64 // the number of entries of the log up to the last one with a context; 0: none has one
}

// frontierOf returns the frontier of an entry that is about to be appended, or nil if it has no
// context.
func (t *txn) frontierOf(h *head, e *entry.Entry) (*frontier, error) {
	if len(e.Context) == 0 {
		return nil, nil
	}
	f := &frontier{at: spot{h.number, h.next}, time: e.Time, before: h.contexts}
	if f.before > 0 {
		before, err := t.frontier(spot{h.number, f.before - 1})
		if err == nil {
			f.since, f.vector = before.since, before.vector
		} else if !errors.Is(err, ErrPruned) {
			return nil, err
		}
	}
	f.since += uint64(len(e.Context))
	for _, c := range e.Context {
		log, ok, err := t.logNumber(c.Log)
		if err == nil && !ok {
			err = fmt.Errorf("a context names the unknown log %s: %w", c.Log, stoat.ErrCorrupt)
		}
		if err != nil {
			return nil, err
		}
		last, err := t.lastContext(log, c.Seq)
		if err != nil {
			return nil, err
		}
		f.heads = append(f.heads, sight{spot{log, c.Seq}, last})
	}
	return f, nil
}

// keepFrontier stores a frontier, and the vector of its entry if it is time for one.
func (t *txn) keepFrontier(f *frontier) error {
	t.remember(f)
	if err := t.keepVector(f); err != nil {
		return err
	}
	p := binary.BigEndian.AppendUint64(nil, uint64(f.time))
	p = binary.AppendUvarint(binary.AppendUvarint(p, f.before), f.since)
	p = binary.AppendUvarint(p, f.vector)
	for _, s := range f.heads {
		p = binary.AppendUvarint(binary.AppendUvarint(p, uint64(s.log)), s.seq)
		p = binary.AppendUvarint(p, s.last)
	}
	return t.meta.Put(entryKey(nil, prefixContext, f.at.log, f.at.seq), p)
}

// frontiersMax is the number of frontiers that a transaction remembers.
const frontiersMax = 1 << 16

// frontier returns the frontier of an entry with a context.
func (t *txn) frontier(at spot) (*frontier, error) {
	if f := t.frontiers[at]; f != nil {
		return f, nil
	}
	t.key = entryKey(t.key[:0], prefixContext, at.log, at.seq)
	p, err := t.meta.Get(t.key)
	if missing(err) {
		err = t.whyMissing(at, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the context of entry %d of log %d: %w", at.seq, at.log, err)
	}
	r := wire.NewReader(p)
	f := &frontier{at: at, time: hlc.Time(r.Uint64()), before: r.Uvarint(), since: r.Uvarint(),
		vector: r.Uvarint()}
	f.heads = make([]sight, 0, r.Len()/3)
	for r.Len() > 0 {
		f.heads = append(f.heads, sight{spot{uint32(r.Uvarint()), r.Uvarint()}, r.Uvarint()})
	}
	if f.before > at.seq {
		r.Fail("it follows entry %d", f.before-1)
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("the context of entry %d of log %d: %w: %w", at.seq, at.log, err,
			stoat.ErrCorrupt)
	}
	t.remember(f)
	return f, nil
}

// remember keeps a frontier for the rest of the transaction, or until there are too many.
func (t *txn) remember(f *frontier) {
	if t.frontiers == nil || len(t.frontiers) >= frontiersMax {
		t.frontiers = map[spot]*frontier{}
	}
	t.frontiers[f.at] = f
}

// lastContext returns the number of entries of a log up to the last one that has a context and is
// not after seq; 0 means that none has.
func (t *txn) lastContext(log uint32, seq uint64) (uint64, error) {
	h, err := t.head(log)
	if err != nil || h.contexts <= seq+1 {
		return h.contexts, err
	}
	last := uint64(0)
	until := stoat.Range{Start: entryKey(nil, prefixContext, log, 0),
		End: entryKey(nil, prefixContext, log, seq+1), Reverse: true, Limit: 1}
	for key := range t.meta.Keys(until) {
		last = binary.BigEndian.Uint64(key[len(key)-8:]) + 1
	}
	return last, t.tx.Err()
}

// missing reports whether err says that a key does not exist.
func missing(err error) bool { return errors.Is(err, stoat.ErrNotFound) }

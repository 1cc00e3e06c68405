package replica

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// subtreesAt returns the roots of all collections as they were at a checkpoint, which is the
// horizon or has stored bases, and the root of the logs and control entries, whose name is empty
// and which has no salt. It leaves out some collections.
func (t *txn) subtreesAt(
	hz *horizon, salts salts, without map[string]uint32, on onChunk,
) (all []chunk.Subtree, err error) {
	logs, err := t.logRecords(hz)
	if err != nil {
		return nil, err
	}
	if all, err = addSubtree(nil, "", nil, eachOf(logs), on); err != nil {
		return nil, err
	}
	prefix := []byte(prefixCollection)
	for key := range t.meta.Scan(stoat.Prefix(prefix)) {
		name := string(key[len(prefix):])
		if _, skip := without[name]; skip {
			continue
		}
		number, err := t.number(prefixCollection + name)
		if err != nil {
			return nil, err
		}
		each := func(fn func(key, canonical []byte) error) error {
			return t.eachBase(name, number, hz, stoat.Range{}, fn)
		}
		if all, err = addSubtree(all, name, salts[name], each, on); err != nil {
			return nil, err
		}
	}
	return all, t.tx.Err()
}

// eachOf returns an iterator over records that are in memory.
func eachOf(all []chunk.Record) records {
	return func(fn func(key, content []byte) error) error {
		for _, r := range all {
			if err := fn(r.Key, r.State); err != nil {
				return err
			}
		}
		return nil
	}
}

// logRecord is what a checkpoint says about a log, besides what its act does.
type logRecord struct {
	hash entry.Hash // of the last entry that is covered
	time hlc.Time   // of that entry
	next uint64     // the number of entries that are covered
	late uint64     // the seq of the first late entry; 0: none is
	top  bool       // no other covered entry has seen that entry
}

// logRecords returns what a checkpoint keeps of the logs: for each its end, its genesis entry and
// its control entries, except checkpoints, and which logs have seen its grants.
func (t *txn) logRecords(hz *horizon) ([]chunk.Record, error) {
	covers, isTop := hz.covers, hz.isTop()
	var all []chunk.Record
	add := func(h *head, seq uint64) error {
		stored, err := t.sent(h.number, seq)
		if err == nil {
			all = append(all, chunk.Record{Key: logKey(h.id, seq), State: stored})
		}
		return err
	}
	for number, n := range covers {
		h, err := t.head(number)
		if err != nil {
			return nil, err
		}
		r := &logRecord{next: n, top: isTop[spot{number, n - 1}]}
		if h.late < n {
			r.late = h.late
		}
		if r.hash, err = t.hashOf(number, n-1); err != nil {
			return nil, err
		}
		if r.time, err = t.timeOf(spot{number, n - 1}); err != nil {
			return nil, err
		}
		all = append(all, chunk.Record{Key: h.id[:], State: r.append(nil)})
		if err := add(h, 0); err != nil {
			return nil, err
		}
	}
	err := t.eachAct(func(at spot) error {
		if at.seq >= covers[at.log] {
			return nil
		}
		h, err := t.head(at.log)
		if err == nil {
			err = add(h, at.seq)
		}
		return err
	})
	if err == nil {
		all, err = t.addFirsts(all, covers)
	}
	slices.SortFunc(all, func(a, b chunk.Record) int { return bytes.Compare(a.Key, b.Key) })
	return all, err
}

// addFirsts appends which covered entries were the first of their logs to have seen covered grants.
func (t *txn) addFirsts(all []chunk.Record, covers vector) ([]chunk.Record, error) {
	firsts, err := t.firsts()
	if err != nil {
		return nil, err
	}
	for k, first := range firsts {
		if k.seq >= covers[k.by] || first >= covers[k.log] {
			continue
		}
		by, err := t.head(k.by)
		if err != nil {
			return nil, err
		}
		h, err := t.head(k.log)
		if err != nil {
			return nil, err
		}
		all = append(all, chunk.Record{Key: append(logKey(by.id, k.seq), h.id[:]...),
			State: binary.AppendUvarint(nil, first)})
	}
	return all, nil
}

// eachAct calls fn with the control entries that are about rights, except those that are void
// whatever else arrives.
func (t *txn) eachAct(fn func(at spot) error) error {
	for _, p := range t.meta.Scan(stoat.Prefix([]byte(prefixAct))) {
		r := wire.NewReader(p)
		at := spot{uint32(r.Uvarint()), r.Uvarint()}
		if err := r.End(); err != nil {
			return fmt.Errorf("an act: %w: %w", err, stoat.ErrCorrupt)
		}
		if err := fn(at); err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// logKey returns the key of an entry among the records of logs.
func logKey(log entry.Hash, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(bytes.Clone(log[:]), seq)
}

func (l *logRecord) append(dst []byte) []byte {
	dst = append(binary.AppendUvarint(dst, l.next), l.hash[:]...)
	dst = binary.AppendUvarint(binary.BigEndian.AppendUint64(dst, uint64(l.time)), l.late)
	if l.top {
		return append(dst, 1)
	}
	return append(dst, 0)
}

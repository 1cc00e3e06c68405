package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// firsts returns the first entries of all logs that have seen grants.
func (t *txn) firsts() (map[firstKey]uint64, error) {
	all := map[firstKey]uint64{}
	prefix := []byte(prefixSeen)
	for key, p := range t.meta.Scan(stoat.Prefix(prefix)) {
		r := wire.NewReader(p)
		first := r.Uvarint()
		if key = key[len(prefix):]; r.End() != nil || len(key) != 16 {
			return nil, fmt.Errorf("%q %x: %w", prefixSeen, key, stoat.ErrCorrupt)
		}
		k := firstKey{by: binary.BigEndian.Uint32(key), seq: binary.BigEndian.Uint64(key[4:]),
			log: binary.BigEndian.Uint32(key[12:])}
		all[k] = first
	}
	return all, t.tx.Err()
}

// refit decides about all acts again, and replays what entries did about which grants say something
// else than before.
func (v *rightsView) refit() error {
	before := v.tree
	v.shared = false
	if err := v.load(v.t.space.described()); err != nil {
		return err
	}
	if err := v.t.renewRights(); err != nil {
		return err
	}
	changes := v.tree.Since(before)
	v.t.notes.all = v.t.notes.all || len(changes) > 0
	return v.replay(changes)
}

// renewRights makes other transactions read the rights again.
func (t *txn) renewRights() error {
	_, err := t.nextRights(1)
	return err
}

// truncateRights removes what the entries of a log from one on did to the rights. Call it when they
// are removed.
func (t *txn) truncateRights(log uint32, next uint64) error {
	v, err := t.rights()
	if errors.Is(err, errUndescribed) {
		return nil
	}
	if err != nil {
		return err
	}
	var acts [][]byte
	for key, p := range t.meta.Scan(stoat.Prefix([]byte(prefixAct))) {
		r := wire.NewReader(p)
		if of, seq := uint32(r.Uvarint()), r.Uvarint(); of == log && seq >= next {
			acts = append(acts, bytes.Clone(key))
		}
	}
	firsts, err := t.firsts()
	if err != nil {
		return err
	}
	for _, key := range acts {
		if err := t.meta.Delete(key); err != nil {
			return err
		}
	}
	for k, first := range firsts {
		if k.log == log && first >= next || k.by == log && k.seq >= next {
			if err := v.dropFirst(k); err != nil {
				return err
			}
		}
	}
	h, err := t.head(log)
	if err != nil || len(acts) == 0 && !v.tree.Names(h.id, next) {
		return err
	}
	return v.refit()
}

// recutRights decides again who may do what, after the cut of a log has changed, and replays what
// entries did that have not seen a grant any more. From is the time of the first entry for which
// the cut makes a difference, and gone is what others may not have seen any more.
func (t *txn) recutRights(from hlc.Time, gone *lost) error {
	v, err := t.rights()
	if err != nil {
		return err
	}
	firsts, err := t.firsts()
	if err != nil {
		return err
	}
	unseeing := map[firstKey]uint64{} // from the entry that had seen it to this one
	for k, first := range firsts {
		if !gone.has(spot{k.by, k.seq}) {
			continue
		}
		at, err := t.timeOf(spot{k.log, first})
		if errors.Is(err, ErrPruned) {
			continue // that is settled
		}
		if err == nil && at >= from {
			unseeing[k], err = v.renewFirst(k, first)
		}
		if err != nil {
			return err
		}
	}
	if err := v.refit(); err != nil {
		return err
	}
	for k, to := range unseeing {
		if err := t.replayEntries(k.log, firsts[k], to); err != nil {
			return err
		}
	}
	return nil
}

// renewFirst finds the first entry of a log that has seen a grant, which is not before least. It
// returns its number, or that of the entry that comes next.
func (v *rightsView) renewFirst(k firstKey, least uint64) (first uint64, err error) {
	h, err := v.t.head(k.log)
	if err != nil || k.log == k.by {
		return least, err
	}
	granted, err := v.t.timeOf(spot{k.by, k.seq})
	if err != nil {
		return 0, err
	}
	from, to := least, h.next // those behind from and before to are undecided
	for from < to {
		middle := from + (to-from)/2
		p, err := v.t.pastOf(spot{k.log, middle})
		if err != nil {
			return 0, err
		}
		seen, err := p.has(spot{k.by, k.seq}, granted)
		if err != nil {
			return 0, err
		}
		if seen {
			to = middle
		} else {
			from = middle + 1
		}
	}
	if to == h.next {
		return to, v.dropFirst(k)
	}
	return to, v.putFirst(k, to)
}

// dropFirst says that a log has not seen a grant.
func (v *rightsView) dropFirst(k firstKey) error {
	v.know(k, notSeen)
	return v.t.meta.Delete(k.seenKey())
}

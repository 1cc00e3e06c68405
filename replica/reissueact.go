package replica

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// A device makes the acts of its own branch again when that is void. Unlike data, acts do not count
// once, so the database notes where it has made each again: if a log is cut once more, the acts
// behind both cuts are not made a second time.
//
//	"moved", id of the log, u64 seq → hash of the entry; id of the log, u64 seq: where the act
//	                                  was made again

// reissueAct appends an act to the own log, unless that was done.
func (t *txn) reissueAct(o *orphan) error {
	act, err := entry.ParseAct(o.entry)
	if err != nil || act.Checkpoint != nil {
		return err
	}
	m, err := t.moved(o.origin.Head)
	if err != nil || m != nil && m.Hash == o.origin.Hash {
		return err
	}
	next, err := t.nextOwn()
	if err == nil {
		err = t.follow(act)
	}
	if err == nil {
		to := entry.Head{Log: next.log.id, Seq: next.at.Seq}
		err = t.meta.Put(movedKey(o.origin.Head), binary.BigEndian.AppendUint64(
			append(bytes.Clone(o.origin.Hash[:]), to.Log[:]...), to.Seq))
	}
	if err != nil {
		return err
	}
	return t.issue(next, act.Entry())
}

// follow makes an act be about those acts that were made again, where it was about acts that are
// void.
func (t *txn) follow(act *entry.Act) error {
	var all []*entry.Head
	switch {
	case act.Grant != nil:
		all = []*entry.Head{act.Grant.Under}
	case act.Revoke != nil:
		all = []*entry.Head{act.Revoke.Under, &act.Revoke.Grant}
	default:
		all = []*entry.Head{&act.Endorse.Act}
	}
	for _, h := range all {
		if h == nil {
			continue
		}
		to, err := t.movedTo(*h)
		if err != nil {
			return err
		}
		*h = to
	}
	return nil
}

// movedTo returns where an act was made again at last; the act itself, if it was not.
func (t *txn) movedTo(at entry.Head) (entry.Head, error) {
	for {
		m, err := t.moved(at)
		if err != nil || m == nil {
			return at, err
		}
		at = m.Head
	}
}

// moved returns where the last act with a place was made again, with the hash of that act; or nil.
func (t *txn) moved(at entry.Head) (*entry.Last, error) {
	p, err := t.meta.Get(movedKey(at))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(p)
	m := &entry.Last{Hash: r.Hash(), Head: entry.Head{Log: r.Hash(), Seq: r.Uint64()}}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("where entry %d of log %s was made again: %w: %w", at.Seq, at.Log, err,
			stoat.ErrCorrupt)
	}
	return m, nil
}

func movedKey(at entry.Head) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(prefixMoved), at.Log[:]...), at.Seq)
}

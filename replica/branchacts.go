package replica

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Behind the cut of a log, acts are void: grants, revocations and endorsements. The database that
// wrote them issues them again, as it issues its data. Another database of the device keeps those
// that reach it for [Space.Void] and [Space.Adopt], and does not issue them by itself. Unlike data,
// acts do not count once: if the copy returns and issues them, too, revoking the one grant would
// leave the other one.
//
//	"branch", id of the log, u64 seq, hash → the entry, as it is sent

// branchAct is an act behind the cut of an own log, which a copy of the database has written.
type branchAct struct {
	at    entry.Head
	entry *entry.Entry
}

// keepBranchAct keeps a control entry of a branch that this replica does not store.
func (t *txn) keepBranchAct(h *head, seq uint64, hash entry.Hash, e *entry.Entry) error {
	act, err := entry.ParseAct(e)
	if err != nil || act.Checkpoint != nil {
		return nil // there is nothing to save: void entries are not checked
	}
	key := append(branchKey(h.id, seq), hash[:]...)
	return t.meta.Put(key, e.Append(nil))
}

// branchKey returns the key under which acts of an entry's number begin.
func branchKey(log entry.Hash, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(prefixBranch), log[:]...), seq)
}

// eachBranchAct calls fn with the acts in a range of keys until it returns false.
func (t *txn) eachBranchAct(in stoat.Range, fn func(*branchAct) (bool, error)) error {
	for key, p := range t.meta.Scan(in) {
		r := wire.NewReader(key[len(prefixBranch):])
		b := &branchAct{at: entry.Head{Log: r.Hash(), Seq: r.Uint64()}}
		r.Hash()
		e, err := entry.Parse(bytes.Clone(p))
		if err == nil {
			err = r.End()
		}
		if err != nil {
			return fmt.Errorf("%q: %w: %w", key, err, stoat.ErrCorrupt)
		}
		b.entry = e
		if more, err := fn(b); err != nil || !more {
			return err
		}
	}
	return t.tx.Err()
}

// branchCount returns the number of acts that are kept.
func (t *txn) branchCount() (n uint64, err error) {
	for range t.meta.Keys(stoat.Prefix([]byte(prefixBranch))) {
		n++
	}
	return n, t.tx.Err()
}

// voidBranchActs calls fn with the acts that are kept, in the form of the API, until it returns
// false.
func (t *txn) voidBranchActs(fn func(*Void) bool) error {
	all := stoat.Prefix([]byte(prefixBranch))
	return t.eachBranchAct(all, func(b *branchAct) (bool, error) {
		number, _, err := t.logNumber(b.at.Log)
		if err != nil {
			return false, err
		}
		h, err := t.head(number)
		if err != nil {
			return false, err
		}
		v := &Void{EntryID: idOf(b.at), Device: h.device, Time: b.entry.Time.Time(),
			Act: actText(b.entry), Reason: errForkedAway.Error()}
		v.Repeated, err = t.actRepeated(h.device, b.entry)
		return err == nil && fn(v), err
	})
}

// adoptBranchActs adopts the kept acts of a log from one number up to another one. A grant that the
// branch has revoked itself is left.
func (t *txn) adoptBranchActs(h *head, from, to uint64, a *Adopted) error {
	var acts []*branchAct
	ended := map[entry.Head]bool{}
	all := stoat.Range{Start: branchKey(h.id, 0), End: branchKey(h.id, math.MaxUint64)}
	err := t.eachBranchAct(all, func(b *branchAct) (bool, error) {
		if act, err := entry.ParseAct(b.entry); err == nil && act.Revoke != nil {
			ended[act.Revoke.Grant] = true
		}
		if b.at.Seq >= from && b.at.Seq < to {
			acts = append(acts, b)
		}
		return true, nil
	})
	for _, b := range acts {
		if err != nil {
			return err
		}
		if ended[b.at] {
			a.Left++
		} else {
			err = t.adoptAct(h, b.entry, a)
		}
	}
	return err
}

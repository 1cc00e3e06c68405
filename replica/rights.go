package replica

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/rights"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// rightsView is the rights of a space in a transaction. It answers what a rights.Tree asks.
type rightsView struct {
	t      *txn
	tree   *rights.Tree
	shared bool // the tree is that of the space: copy it before acts are added
	first  map[firstKey]uint64
	within vector // the entries whose acts are in the tree; nil: all
	held   *holdings
	lacks  map[string]uint32 // collections of which content is missing, with their numbers
	err    error             // of a lookup; no answer is valid then
}

// firstKey identifies the first entry of a log that has seen a grant.
type firstKey struct {
	log, by uint32
	seq     uint64
}

// errUndescribed is returned as long as a replica that has joined has not met another one.
var errUndescribed = fmt.Errorf("this replica does not know yet who may write: bring it together "+
	"with another one first: %w", ErrNotAllowed)

// know remembers the first entry of a log that has seen a grant.
func (v *rightsView) know(k firstKey, seq uint64) {
	if v.first == nil {
		v.first = map[firstKey]uint64{}
	}
	v.first[k] = seq
}

// rights returns the rights of the space.
func (t *txn) rights() (*rightsView, error) {
	if t.rightsView != nil {
		return t.rightsView, t.rightsView.err
	}
	s := t.space
	about := s.described()
	if about == nil && !t.tx.Writable() { // this database may follow another one, which has learned it
		if err := s.learn(t.tx); err != nil {
			return nil, err
		}
		about = s.described()
	}
	if about == nil {
		return nil, errUndescribed
	}
	version, err := t.rightsVersion()
	if err != nil {
		return nil, err
	}
	v := &rightsView{t: t}
	committed := t.rightsBase == nil
	var known *knownRights
	if committed {
		known = s.rights.find(version)
	}
	if known != nil {
		v.tree, v.held, v.lacks, v.shared = known.tree, known.held, known.lacks, true
	} else if err := v.load(about); err != nil {
		return nil, err
	} else if v.lacks, err = t.readLacks(); err != nil {
		return nil, err
	} else if v.held, err = t.readHeld(); err != nil {
		return nil, err
	} else if committed {
		s.rights.add(&knownRights{version, v.tree, v.held, v.lacks})
		v.shared = true
	}
	t.rightsView = v
	return v, nil
}

// readRights reads the rights, unless it is not known yet who has any. It must be called before the
// transaction changes what they depend on: later ones go by them even if it fails.
func (t *txn) readRights() error {
	_, err := t.rights()
	if errors.Is(err, errUndescribed) {
		return nil
	}
	return err
}

// rightsWithin returns the rights by the acts of a cut alone.
func (t *txn) rightsWithin(cut vector) (*rightsView, error) {
	about := t.space.described()
	if about == nil {
		return nil, errUndescribed
	}
	v := &rightsView{t: t, within: cut}
	return v, v.load(about)
}

// load makes the tree from the stored acts. They are in the order in which they were merged.
func (v *rightsView) load(about *entry.Space) error {
	t := v.t
	v.tree = rights.New(about)
	for key, p := range t.meta.Scan(stoat.Prefix([]byte(prefixAct))) {
		r := wire.NewReader(p)
		log, seq := uint32(r.Uvarint()), r.Uvarint()
		if err := r.End(); err != nil {
			return fmt.Errorf("act %x: %w: %w", key[len(prefixAct):], err, stoat.ErrCorrupt)
		}
		if v.within != nil && v.within[log] <= seq {
			continue
		}
		f, err := t.factAt(spot{log, seq})
		if err != nil {
			return err
		}
		_, _ = v.tree.Add(f, v) // one that does not hold any more has no effect
	}
	return errors.Join(v.err, t.tx.Err())
}

// factAt returns the act of a control entry that is stored.
func (t *txn) factAt(at spot) (*rights.Fact, error) {
	h, hash, e, err := t.placed(at)
	if err != nil {
		return nil, err
	}
	return h.fact(at.seq, hash, e)
}

// fact returns the act of a control entry with its place.
func (h *head) fact(seq uint64, hash entry.Hash, e *entry.Entry) (*rights.Fact, error) {
	act, err := entry.ParseAct(e)
	if err != nil {
		return nil, fmt.Errorf("entry %d of log %s: %w: %w", seq, h.id, err, stoat.ErrCorrupt)
	}
	at := entry.Head{Log: h.id, Seq: seq}
	return &rights.Fact{At: at, Hash: hash, Time: e.Time, Device: h.device, Act: act}, nil
}

// whyVoid returns why a control entry has no effect, or nil.
func (v *rightsView) whyVoid(h *head, seq uint64, e *entry.Entry) (reason, err error) {
	hash, err := v.t.hashOf(h.number, seq)
	if err != nil {
		return nil, err
	}
	f, err := h.fact(seq, hash, e)
	if err != nil {
		return nil, err
	}
	if reason = v.tree.Why(f, v); reason != nil {
		reason = fmt.Errorf("the device %s may not do that: %w: %w", h.device, reason, ErrNotAllowed)
	}
	return reason, v.err
}

// judge updates the rights after an entry was appended to its log: which grants the log has seen,
// what the act of a control entry changes, and what has to be replayed for that.
func (t *txn) judge(h *head, seq uint64, hash entry.Hash, e *entry.Entry) error {
	if e.Kind == entry.KindGenesis {
		return nil
	}
	v, err := t.rights()
	if err != nil {
		return err
	}
	if err := v.noteSeen(h, seq, e); err != nil {
		return err
	}
	if at := (entry.Head{Log: h.id, Seq: seq}); v.tree.Awaits(at) {
		v.own()
		if err := errors.Join(t.renewRights(), v.replay(v.tree.Arrived(at, v))); err != nil {
			return err
		}
	}
	if e.Kind != entry.KindControl {
		return v.err
	}
	f, err := h.fact(seq, hash, e)
	if err != nil {
		return err
	}
	if err := t.noteActLater(spot{h.number, seq}); err != nil || f.Act.Checkpoint != nil {
		return errors.Join(err, v.err)
	}
	if err = v.add(h, f); v.err == nil {
		v.err = err // or else others would go by a tree that is not what is stored
	}
	return err
}

// add adds an act, unless it is void whatever else arrives.
func (v *rightsView) add(h *head, f *rights.Fact) error {
	v.own()
	decided, void := v.tree.Add(f, v)
	if void != nil || v.err != nil {
		return v.err
	}
	version, err := v.t.nextRights(1)
	if err == nil {
		err = v.t.putAct(version, spot{h.number, f.At.Seq})
	}
	if err == nil && f.Act.Grant != nil && f.Act.Grant.To.Includes(h.device) {
		err = v.putFirst(firstKey{h.number, h.number, f.At.Seq}, f.At.Seq)
	}
	if err != nil {
		return err
	}
	return v.replay(decided)
}

// putAct stores where an act is that was added with a version of the rights.
func (t *txn) putAct(version uint64, at spot) error {
	p := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(at.log)), at.seq)
	return t.meta.Put(binary.BigEndian.AppendUint64([]byte(prefixAct), version), p)
}

// own gives the transaction a tree of its own.
func (v *rightsView) own() {
	if v.shared {
		v.tree, v.shared = v.tree.Clone(), false
	}
}

// replay replays what entries did about which grants say something else than before, and notes the
// grants and what ends them.
func (v *rightsView) replay(decided []rights.Change) error {
	for i := range decided {
		c := &decided[i]
		err := v.noteLater(c.Grant.Fact)
		for f := range v.tree.Ends(c.Grant.At) {
			err = errors.Join(err, v.noteLater(f))
		}
		if err != nil {
			return err
		}
		if !c.Moved() {
			continue
		}
		err = v.eachSeen(c.Grant.At, func(h *head, first uint64) error {
			from, to := c.Entries(h.id, first)
			if to = min(to, h.next); from >= to {
				return nil
			}
			return v.t.replayEntries(h.number, from, to)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// noteLater notes a stored act when the transaction commits.
func (v *rightsView) noteLater(f *rights.Fact) error {
	number, known, err := v.t.logNumber(f.At.Log)
	if err != nil || !known {
		return err
	}
	return v.t.noteActLater(spot{number, f.At.Seq})
}

// noteSeen notes which grants to its device an entry is the first of its log to have seen. Roots
// may act under grants, too.
func (v *rightsView) noteSeen(h *head, seq uint64, e *entry.Entry) error {
	if len(e.Context) == 0 {
		return v.err
	}
	var before *past
	for g := range v.tree.To(h.device) {
		by, known, err := v.t.logNumber(g.At.Log)
		if err != nil || !known {
			return err
		}
		key := firstKey{h.number, by, g.At.Seq}
		if _, seen := v.firstOf(key); seen || v.err != nil {
			continue
		}
		if before == nil {
			if before, err = v.t.pastOf(spot{h.number, seq}); err != nil {
				return err
			}
		}
		seen, err := before.has(spot{by, g.At.Seq}, g.Time)
		if err == nil && seen {
			err = v.putFirst(key, seq)
		}
		if err != nil {
			return err
		}
	}
	return v.err
}

// seenKey returns the key under which the first entry of a log is stored that has seen a grant.
func (k firstKey) seenKey() []byte {
	return binary.BigEndian.AppendUint32(entryKey(nil, prefixSeen, k.by, k.seq), k.log)
}

// notSeen says that a log has not seen a grant.
const notSeen = rights.Never

func (v *rightsView) putFirst(k firstKey, seq uint64) error {
	v.know(k, seq)
	return v.t.meta.Put(k.seenKey(), binary.AppendUvarint(nil, seq))
}

// firstOf returns the first entry of a log that has seen a grant.
func (v *rightsView) firstOf(k firstKey) (seq uint64, ok bool) {
	if seq, known := v.first[k]; known {
		return seq, seq != notSeen
	}
	p, err := v.t.meta.Get(k.seenKey())
	if missing(err) {
		v.know(k, notSeen)
		return 0, false
	}
	if err == nil {
		r := wire.NewReader(p)
		seq = r.Uvarint()
		err = r.End()
	}
	if err != nil {
		v.err = errors.Join(v.err, err)
		return 0, false
	}
	v.know(k, seq)
	return seq, true
}

// First returns the first entry of a log that has seen a grant.
func (v *rightsView) First(log entry.Hash, grant entry.Head) (seq uint64, ok bool) {
	of, known, err := v.t.logNumber(log)
	if err == nil && known {
		var by uint32
		if by, known, err = v.t.logNumber(grant.Log); err == nil && known {
			return v.firstOf(firstKey{of, by, grant.Seq})
		}
	}
	v.err = errors.Join(v.err, err)
	return 0, false
}

// Cut returns the number of the entry from which on nothing of a log counts.
func (v *rightsView) Cut(log entry.Hash) uint64 {
	number, known, err := v.t.logNumber(log)
	if err == nil && known {
		var h *head
		if h, err = v.t.head(number); err == nil && h.cut > 0 {
			return h.cut
		}
	}
	v.err = errors.Join(v.err, err)
	return rights.Never
}

// Hash returns the hash of an entry, if it is known.
func (v *rightsView) Hash(at entry.Head) (hash entry.Hash, ok bool) {
	number, known, err := v.t.logNumber(at.Log)
	if err == nil && known {
		var h *head
		if h, err = v.t.head(number); err == nil && at.Seq < h.next {
			hash, err = v.t.hashOf(number, at.Seq)
			ok, err = err == nil, unlessPruned(err)
		}
	}
	v.err = errors.Join(v.err, err)
	return hash, ok
}

package replica

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// inTx runs a transaction on the space of a replica.
func (p *peer) inTx(fn func(t *txn) error) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		return fn(t)
	})
}

// wreck makes the states of all records empty, with records, indexes and conflicts in step.
func (p *peer) wreck() {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		names, err := t.collectionNames()
		for number, name := range names {
			if err == nil {
				err = t.eachState(name, number, stoat.Range{}, func(s *state) error {
					c, err := t.collection(name)
					if err == nil {
						s, err = t.loadStored(c, s.key)
					}
					if err == nil {
						err = s.keepBase()
					}
					if err != nil {
						return err
					}
					s.record = &merge.Record{}
					return s.show()
				})
			}
		}
		return err
	})
}

// replayAll replays the records that any entry touches.
func (p *peer) replayAll() {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		heads, err := t.allHeads()
		for _, h := range heads {
			if err == nil {
				err = t.replayEntries(h.number, 0, h.next)
			}
			for seq := uint64(0); seq < h.next && err == nil; seq++ {
				err = t.markEntry(spot{h.number, seq})
			}
		}
		return err
	})
}

// markEntry replays the records that an entry touches when the transaction commits.
func (t *txn) markEntry(at spot) error {
	e, changes, err := t.changesOf(at.log, at.seq)
	for i := range changes {
		if err == nil {
			err = t.mark(e.Parts[i].Group, changes[i])
		}
	}
	return err
}

// shown is what a replica shows of its tasks.
type shown struct {
	Root      [32]byte
	Tasks     []task
	Conflicts int
}

func (p *peer) shown() (s shown) {
	p.t.Helper()
	s.Root, s.Tasks = p.root(), all(p)
	err := p.db.View(func(tx *stoat.Tx) error {
		for _, err := range p.space.Conflicts(tx) {
			if err != nil {
				return err
			}
			s.Conflicts++
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// replay replays what some entries touch, or everything after all states were lost; nothing
// changes.
func (h *history) replay(p *peer) {
	before := p.shown()
	if h.rng.IntN(2) == 0 {
		p.wreck()
		p.replayAll()
	} else {
		p.inTx(func(t *txn) error {
			heads, err := t.allHeads()
			for _, head := range heads {
				from := h.rng.Uint64N(head.next)
				if err == nil {
					err = t.replayEntries(head.number, from, from+h.rng.Uint64N(head.next-from+1))
				}
			}
			return err
		})
	}
	if after := p.shown(); !reflect.DeepEqual(before, after) {
		h.t.Errorf("a replay changed the records from %v to %v", before, after)
	}
	p.checkTouches()
}

// checkTouches compares the touch index with the entries.
func (p *peer) checkTouches() {
	p.t.Helper()
	want := map[string][]spot{}
	p.inTx(func(t *txn) error {
		heads, err := t.allHeads()
		if err != nil {
			return err
		}
		for _, h := range heads {
			for seq := range h.next {
				e, changes, err := t.changesOf(h.number, seq)
				if err != nil {
					return err
				}
				for i, c := range changes {
					for j := range c.Records {
						key := e.Parts[i].Group + "/" + string(c.Records[j].Key)
						want[key] = append(want[key], spot{h.number, seq})
					}
				}
			}
		}
		for key := range want {
			name, key, _ := strings.Cut(key, "/")
			number, err := t.collectionNumber(name)
			if err != nil {
				return err
			}
			c, err := t.reader(name, number)
			if err != nil {
				return err
			}
			got, err := t.touching(c, []byte(key))
			if err != nil {
				return err
			}
			if !slices.Equal(got, want[name+"/"+key]) {
				p.t.Errorf("record %x of %s is touched by %v, not by %v", key, name,
					want[name+"/"+key], got)
			}
		}
		return nil
	})
}

// Records that one entry touches are replayed in several batches, with those of a collection that
// is not open, and keys that begin like others.
func TestReplay_manyRecords(t *testing.T) {
	p := newPeer(t, nil)
	q := newPeer(t, p)
	notes, err := Collection[task](p.space, "notes", nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = foldRecords + 100
	p.update(func(tx *stoat.Tx) error {
		for id := range int64(n) {
			if err := errors.Join(p.tasks.Put(tx, &task{ID: id, Votes: 1}),
				notes.Put(tx, &task{ID: id / 300, Votes: 1})); err != nil {
				return err
			}
		}
		return nil
	})
	for range 3 {
		p.edit(func(v *task) { v.Votes++ })
	}
	meet(t, p, q)
	q.put(task{ID: 7, Title: "q"})
	meet(t, p, q)
	for _, p := range []*peer{p, q} {
		before := p.shown()
		p.wreck()
		p.replayAll()
		if after := p.shown(); !reflect.DeepEqual(before, after) || len(after.Tasks) != n {
			t.Error("a replay changed the records")
		}
		p.checkTouches()
	}
	agree(t, p, q)
}

// A replay and changes of the same records go in one transaction, in any order.
func TestReplay_afterTheTransactionsOwnEntry(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1, Title: "a", Votes: 2})
	p.update(func(tx *stoat.Tx) error {
		x, err := p.space.in(tx)
		if err != nil {
			return err
		}
		if err := p.tasks.Put(tx, &task{ID: 1, Title: "b", Votes: 5}); err != nil {
			return err
		}
		if err := x.replayEntries(p.ownLog(), 0, 2); err != nil {
			return err
		}
		return p.tasks.Put(tx, &task{ID: 1, Title: "c", Votes: 6})
	})
	if got := p.get(1); got.Title != "c" || got.Votes != 6 {
		t.Errorf("the record is %v", got)
	}
	before := p.shown()
	p.replayAll()
	if after := p.shown(); !reflect.DeepEqual(before, after) {
		t.Error("a replay changed the records")
	}
}

// checkVoids compares what is stored about entries that do not count with what they are.
func (p *peer) checkVoids() {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		heads, err := t.allHeads()
		if err != nil {
			return err
		}
		n := uint64(0)
		for _, h := range heads {
			for seq := range h.next {
				e, _, err := t.changesOf(h.number, seq)
				if err != nil {
					return err
				}
				stored, err := t.voided(h.number, seq)
				if err != nil {
					return err
				}
				alone, _, err := t.verdict(h, seq, e)
				if err != nil || alone != stored.alone {
					p.t.Errorf("entry %d of log %d: %b is void, not %b (%v)", seq, h.number, alone,
						stored.alone, err)
				}
				if (stored.reason != "") != (stored.parts() != 0) {
					p.t.Errorf("parts %b are void because of %q", stored.parts(), stored.reason)
				}
				if stored.parts() != 0 {
					n++
				}
			}
		}
		if got, err := t.voidCount(); got != n {
			p.t.Errorf("%d entries are void, not %d (%v)", n, got, err)
		}
		return nil
	})
}

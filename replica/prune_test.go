package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// counted returns the number of keys in the buckets of a space, and the bytes of its states.
func (p *peer) counted() (entries, touches, states, bases, size int) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		for range t.entries.Keys(stoat.Range{}) {
			entries++
		}
		index, err := t.touches()
		if err != nil {
			return err
		}
		for range index.Keys(stoat.Range{}) {
			touches++
		}
		kept, err := t.bases()
		if err != nil {
			return err
		}
		for range kept.Keys(stoat.Range{}) {
			bases++
		}
		for _, state := range t.states.Scan(stoat.Range{}) {
			states, size = states+1, size+len(state)
		}
		return tx.Err()
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return entries, touches, states, bases, size
}

func TestPrune_leavesRecordsOnly(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	for id := range int64(100) {
		a.put(task{ID: id, Title: "t", Done: true})
	}
	for id := range int64(50) {
		a.update(func(tx *stoat.Tx) error { return a.tasks.Delete(tx, id) })
	}
	agreeAfter(t, a, b)
	if err := a.checkpoint(); err != nil {
		t.Fatal(err)
	}
	before, _, _, _, _ := a.counted()
	if err := a.space.Prune(); err != nil {
		t.Fatal(err)
	}
	if after, _, _, _, _ := a.counted(); after != before {
		t.Error("a checkpoint that is not sealed is pruned by")
	}
	agreeAfter(t, a, b)
	if err := a.space.Prune(); err != nil {
		t.Fatal(err)
	}
	entries, touches, states, bases, size := a.counted()
	if entries > 6 || touches != 0 || states != 50 || bases != 0 {
		t.Errorf("%d entries, %d touches, %d states and %d bases are left", entries, touches, states,
			bases)
	}
	if size > 24*50 {
		t.Errorf("states take %d bytes", size)
	}
	agree(t, a, b)
	a.put(task{ID: 1, Title: "again"})
	b.put(task{ID: 60, Title: "edited"})
	meet(t, a, b)
	meet(t, a, b)
	agree(t, a, b)
	(&history{t: t}).compare(b)
	if err := a.checkpoint(); err != nil {
		t.Fatal(err)
	}
	meet(t, a, b)
	b.put(task{ID: 61, Title: "agreed"})
	meet(t, a, b)
	meet(t, a, b)
	agree(t, a, b)
	(&history{t: t}).compare(b)
	for range 2 {
		if err := a.space.Prune(); err != nil {
			t.Fatal(err)
		}
	}
	agree(t, a, b)
	late := newPeer(t, a)
	meet(t, b, late)
	meet(t, a, late)
	agree(t, a, b, late)
}

// named is a record with a key that can be found in what is stored.
type named struct {
	Name  string `stoat:"name,key"`
	Text  string `stoat:"text"`
	Count int64  `stoat:"count"`
}

// Nothing that is stored behind a checkpoint has the key or the text of a record that was deleted,
// and what is stored beside the others takes 24 bytes each, besides their keys.
func TestPrune_leavesNothingOfDeletedRecords(t *testing.T) {
	const live = 500
	const keySize = 4 + 1 + len("live-000") + 1 // beside a record, with the number of the collection
	p := newPeer(t, nil)
	all, err := Collection[named](p.space, "named", nil)
	must(t, err)
	for i := range live {
		p.update(func(tx *stoat.Tx) error {
			gone := &named{Name: fmt.Sprintf("gone-%03d", i), Text: "vanished"}
			return errors.Join(all.Put(tx, gone),
				all.Put(tx, &named{Name: fmt.Sprintf("live-%03d", i), Text: "stays", Count: 1}))
		})
	}
	for i := range live {
		p.update(func(tx *stoat.Tx) error {
			return errors.Join(all.Delete(tx, fmt.Sprintf("gone-%03d", i)),
				all.Put(tx, &named{Name: fmt.Sprintf("live-%03d", i), Text: "stays", Count: 2}))
		})
	}
	if !p.has("gone-") || !p.has("vanished") {
		t.Fatal("the history has no deleted records")
	}
	before := p.spaceSize()
	must(t, p.checkpoint())
	must(t, p.space.Seal())
	must(t, p.space.Prune())
	if p.has("gone-") || p.has("vanished") {
		t.Error("something of the deleted records is left")
	}
	each := float64(p.spaceSize())/live - float64(keySize)
	t.Logf("%.1f bytes a record before, %.1f after", float64(before)/live, each)
	if each > 24 {
		t.Errorf("%.1f bytes a record are left", each)
	}
}

// spaceSize returns the bytes of what is stored beside records.
func (p *peer) spaceSize() (size int) {
	p.inTx(func(t *txn) error {
		touches, err := t.touches()
		if err != nil {
			return err
		}
		bases, err := t.bases()
		if err != nil {
			return err
		}
		for _, b := range []*stoat.Bucket{t.meta, t.entries, t.states, touches, bases} {
			for key, value := range b.Scan(stoat.Range{}) {
				size += len(key) + len(value)
			}
		}
		return t.tx.Err()
	})
	return size
}

// A replica whose state is not that of the checkpoint prunes nothing.
func TestPrune_refusesAnotherState(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1, Title: "right"})
	agreeAfter(t, a, b)
	if err := a.checkpoint(); err != nil {
		t.Fatal(err)
	}
	agreeAfter(t, a, b)
	b.update(func(tx *stoat.Tx) error { // something goes wrong
		tr, err := b.space.in(tx)
		if err != nil {
			return err
		}
		n, err := tr.number(prefixCollection + "tasks")
		if err != nil {
			return err
		}
		c, err := tr.readable(n)
		if err != nil {
			return err
		}
		for key := range tr.states.Keys(stoat.Range{}) {
			s, err := tr.loadStored(c, key[4:])
			if err != nil {
				return err
			}
			s.record.Fields = s.record.Fields[1:]
			if err := s.save(s.row); err != nil {
				return err
			}
		}
		return nil
	})
	before, _, _, _, _ := b.counted()
	if err := b.space.Prune(); !errors.Is(err, ErrMismatch) {
		t.Errorf("got %v", err)
	}
	if after, _, _, _, _ := b.counted(); after != before {
		t.Error("entries are gone")
	}
}

// Replicas that prune and such that do not have the same states.
func TestPrune_changesNothing(t *testing.T) {
	t.Parallel()
	n := *histories / 2
	for seed := *historySeed; seed < *historySeed+n; seed++ {
		h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 8))}
		h.peers = []*peer{newPeer(t, nil)}
		for range 2 {
			h.peers = append(h.peers, newPeer(t, h.peers[0]))
		}
		for range 4 {
			for range 10 {
				h.write(h.any())
				if p, q := h.any(), h.any(); p != q {
					meet(t, p, q)
				}
			}
			together := func() {
				for range 3 {
					meet(t, h.peers[2], h.peers[0])
					meet(t, h.peers[2], h.peers[1])
				}
				agree(t, h.peers...)
				h.compare(h.peers[2]) // it never prunes
			}
			together()
			h.checkpoint()
			for _, p := range h.peers {
				p.now = p.now.Add(time.Minute)
			}
			together()
			for _, p := range h.peers[:2] {
				h.write(p)
			}
			together()
			if err := h.peers[h.rng.IntN(2)].space.Prune(); err != nil {
				t.Fatal(err)
			}
		}
		agree(t, h.peers...)
		h.compare(h.peers[2])
		for _, p := range h.peers {
			p.close()
		}
		if t.Failed() {
			t.Fatalf("repeat it with -run TestPrune_changesNothing -seed %d -histories 2", seed)
		}
	}
}

// A Prune that ends after any of its steps leaves a replica that goes on, and the next one
// continues it.
func TestPrune_isContinued(t *testing.T) {
	for steps := range 5 {
		a := newPeer(t, nil)
		b := newPeer(t, a)
		for id := range int64(20) {
			a.put(task{ID: id % 7, Title: "t", Note: "n", Votes: int32(id)})
		}
		a.update(func(tx *stoat.Tx) error { return a.tasks.Delete(tx, int64(3)) })
		agreeAfter(t, a, b)
		if err := a.checkpoint(); err != nil {
			t.Fatal(err)
		}
		agreeAfter(t, a, b)
		s := a.space
		all := []func() error{s.verifyHorizon, s.pruneLogs, s.pruneTouches, s.pruneStates}
		for _, step := range all[:steps] {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		reopened, err := Open(a.db, "team", a.options())
		if err != nil {
			t.Fatal(err)
		}
		a.space = reopened
		a.open()
		a.put(task{ID: 3, Title: "again"})
		b.put(task{ID: 4, Title: "edited"})
		for range 2 {
			meet(t, a, b)
			agree(t, a, b)
			(&history{t: t}).compare(b)
			if err := a.space.Prune(); err != nil {
				t.Fatal(err)
			}
		}
		if entries, touches, _, _, _ := a.counted(); entries > 12 || touches > 2 {
			t.Errorf("after %d steps, %d entries and %d touches are left", steps, entries, touches)
		}
	}
}

// A replica that lacks what another one has pruned starts from the checkpoint, wherever the first
// gap is; one that may not read all of the space is told that it cannot.
func TestPrune_tellsThePeer(t *testing.T) {
	for writes := range int64(4) {
		a := newPeer(t, nil)
		for n := range writes + 1 {
			a.put(task{ID: 1, Votes: int32(n)})
		}
		must(t, a.db.Update(a.space.Checkpoint))
		must(t, a.space.Seal())
		must(t, a.space.Prune())
		late := newPeer(t, a)
		meet(t, a, late)
		agree(t, a, late)
		err := meeting(a, newGuest(t, a))
		if !errors.Is(err, ErrPruned) || !strings.Contains(err.Error(), ErrEnded.Error()) {
			t.Errorf("%d writes: %v", writes, err)
		}
	}
}

// The last context of a log may be gone when its author writes on.
func TestPrune_ofTheLastContext(t *testing.T) {
	a := newPeer(t, nil)
	guest := newGuest(t, a)
	a.grant(guest, Write)
	a.put(task{ID: 1})
	meet(t, a, guest)
	a.put(task{ID: 1})
	a.put(task{ID: 2})
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	must(t, a.space.Prune())
	a.put(task{ID: 3})
	must(t, a.verify())
	meet(t, a, guest)
	agree(t, a, guest)
}

// Acts stay when their log is pruned, and their seals go, so many that follow each other are no run
// any more: who lacks them starts from the checkpoint.
func TestPrune_ofManyActsInARow(t *testing.T) {
	a := newPeer(t, nil)
	a.update(func(tx *stoat.Tx) error {
		for i := range runEntries + 10 {
			if err := a.space.Grant(tx, DeviceID{9, byte(i), byte(i >> 8)}, Write); err != nil {
				return err
			}
		}
		return nil
	})
	renewPayer(a)
	b := newPeer(t, a)
	a.syncWith(b)
	agree(t, a, b)
	if !b.started() {
		t.Error("it has not started from the checkpoint")
	}
	must(t, b.verify())
}

package replica

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// What copies of a database issue again counts once, whatever the order in which replicas learn of
// the original and of the repeats.
func TestRepeats_countOnce(t *testing.T) {
	orders := [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	dir := t.TempDir()
	a := newPeerIn(t, filepath.Join(dir, "db"))
	readers := make([]*peer, len(orders))
	for i := range readers {
		readers[i] = newPeer(t, a)
	}
	a.put(task{ID: 1, Votes: 1})
	for _, r := range readers {
		meet(t, a, r)
	}
	a.edit(func(v *task) { v.Title, v.Votes = "not sealed", v.Votes+10 })
	for _, name := range []string{"one", "two"} {
		if err := a.db.Backup(t.Context(), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	writers := [3]*peer{a, a.copyIn(filepath.Join(dir, "one")), a.copyIn(filepath.Join(dir, "two"))}
	writers[1].edit(func(v *task) { v.Votes += 100 })
	for i, order := range orders {
		for _, w := range order {
			meet(t, writers[w], readers[i])
			readers[i].checkVoids()
			if got := readers[i].get(1).Votes; got != 11 && got != 111 {
				t.Fatalf("order %v: %d votes", order, got)
			}
		}
	}
	for range 2 {
		for _, r := range readers {
			meet(t, a, r)
		}
	}
	agree(t, readers...)
	if got := readers[0].get(1); got.Votes != 111 || got.Title != "not sealed" {
		t.Errorf("the record is %+v", got)
	}
	for _, r := range readers {
		before := r.shown()
		r.wreck()
		r.replayAll()
		if after := r.shown(); after.Root != before.Root {
			t.Error("a replay makes another state")
		}
		r.checkVoids()
	}
}

// A copy of a database learns of a repeat of its own entry, which it has not sealed, and of another
// entry with the same number, which takes its place: then the repeat counts.
func TestRepeats_countForWhatGivesWay(t *testing.T) {
	for name, noticed := range map[string]bool{"copies notice": true, "copies do not": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a := newPeer(t, nil)
			if noticed {
				a = newPeerIn(t, filepath.Join(dir, "db"))
			}
			third := newPeer(t, a)
			a.put(task{ID: 1, Votes: 1})
			meet(t, a, third)
			copyOf := func(p *peer, name string) *peer {
				if err := p.db.Backup(t.Context(), filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
				return p.copyIn(filepath.Join(dir, name))
			}
			one := copyOf(a, "one")
			one.edit(func(v *task) { v.Votes += 10 })
			two := copyOf(one, "two")
			for _, p := range []*peer{a, two, third} {
				p.now = p.now.Add(time.Minute)
			}
			a.edit(func(v *task) { v.Votes += 100 })
			meet(t, a, third)
			meet(t, one, third) // it issues its entry again, if it has not done that yet
			meet(t, two, third)
			agree(t, two, third)
			agreeWithModel(t, two)
			two.checkVoids()
			if got := two.get(1).Votes; got != 111 {
				t.Errorf("%d votes", got)
			}
		})
	}
}

// What a checkpoint covers has no say about repeats that it does not cover: it may have been
// pruned. So all agree, also one who decides about the repeat first and learns then that the
// checkpoint counts.
func TestRepeats_ofWhatACheckpointCovers(t *testing.T) {
	for name, origin := range map[string]func(first, again entry.Last) entry.Last{
		"what counts":        func(first, _ entry.Last) entry.Last { return first },
		"what has a repeat":  func(first, _ entry.Last) entry.Last { first.Seq += 1000; return first },
		"a repeat":           func(_, again entry.Last) entry.Last { return again },
		"with another hash":  func(first, _ entry.Last) entry.Last { first.Hash[0] ^= 1; return first },
		"that is not there":  func(first, _ entry.Last) entry.Last { first.Seq += 1001; return first },
		"of an unknown log":  func(first, _ entry.Last) entry.Last { first.Log[0] ^= 1; return first },
		"of another content": func(first, _ entry.Last) entry.Last { first.Seq--; return first },
	} {
		t.Run(name, func(t *testing.T) {
			a := newPeer(t, nil)
			b, guest := newPeer(t, a), newGuest(t, a)
			a.grant(guest, Write)
			a.put(task{ID: 1, Votes: 1})
			first := a.lastOrigin()
			far := first
			far.Seq += 1000
			a.repeat(far, first)
			agreeAfter(t, a, b, guest)
			b.put(task{ID: 2})
			agreeAfter(t, a, b, guest)
			again := a.lastOrigin()
			if err := a.checkpoint(); err != nil {
				t.Fatal(err)
			}
			meet(t, a, guest)
			guest.repeat(origin(first, again), first)
			meet(t, a, b)
			b.put(task{ID: 3})
			meet(t, b, a)
			if len(a.covered()) == 0 || len(guest.covered()) > 0 {
				t.Fatal("the checkpoint does not count, or its votes are known")
			}
			if err := a.space.Prune(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				meet(t, a, guest)
				meet(t, a, b)
			}
			agreeWithModel(t, guest)
			agree(t, a, b, guest)
			for _, p := range []*peer{a, b, guest} {
				if got := p.get(1).Votes; got != 3 {
					t.Errorf("%d votes", got)
				}
			}
		})
	}
}

// lastOrigin returns the last entry of the own log.
func (p *peer) lastOrigin() (o entry.Last) {
	p.inTx(func(t *txn) error {
		h, err := t.ownHead()
		o = entry.Last{Head: entry.Head{Log: h.id, Seq: h.next - 1}, Hash: h.hash}
		return err
	})
	return o
}

// repeat makes an entry with the parts of another one, and an origin.
func (p *peer) repeat(origin, parts entry.Last) {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		number, _, err := t.logNumber(parts.Log)
		if err != nil {
			return err
		}
		e, err := t.entry(number, parts.Seq)
		if err != nil {
			return err
		}
		next, err := t.nextOwn()
		if err != nil {
			return err
		}
		return t.place(next, &entry.Entry{Kind: entry.KindData, Origin: &origin, Parts: e.Parts})
	})
}

// A right is revoked by somebody who has not seen a repeat that was made under it, after a
// checkpoint has covered the repeat. It counts all the same, once, whatever a replica learns of
// first.
func TestRepeats_ofARevokedDeviceBehindACheckpoint(t *testing.T) {
	root, other, guest := offline(t, func(guest *peer) {
		guest.edit(func(v *task) { v.Votes += 10 })
	})
	third := newPeer(t, root)
	silent, helper := newPeer(t, root), newGuest(t, root) // a root that has never written anything
	root.grant(helper, Write)
	for _, p := range []*peer{silent, helper, other} {
		meet(t, root, p)
	}
	helper.put(task{ID: 5})
	meet(t, root, helper)
	meet(t, root, silent) // has an entry of the helper, and not the repeat
	if a := helper.adopt(guest); a.Entries != 1 {
		t.Fatalf("%+v", a)
	}
	everyone := []*peer{root, other, helper, guest}
	for _, p := range append(everyone, silent, third) {
		p.now = p.now.Add(100 * 24 * time.Hour) // nobody waits for the guest
	}
	adopted := helper.lastOrigin()
	for round := range int64(2) {
		agreeAfter(t, everyone...)
		for i, p := range everyone[:3] {
			p.put(task{ID: 10 + int64(i), Best: round + 1})
		}
	}
	agreeAfter(t, everyone...)
	must(t, root.checkpoint())
	silent.update(func(tx *stoat.Tx) error {
		return silent.space.Revoke(tx, helper.space.device.ID())
	})
	meet(t, silent, third) // learns of the revocation first
	if third.get(1) == nil || third.get(1).Votes != 1 {
		t.Errorf("the record is %+v", third.get(1))
	}
	agreeAfter(t, everyone...)
	other.put(task{ID: 6})
	agreeAfter(t, everyone...)
	root.inTx(func(tr *txn) error {
		number, _, err := tr.logNumber(adopted.Log)
		if root.covered()[number] <= adopted.Seq || len(third.covered()) > 0 {
			t.Fatal("the repeat is not covered, or the votes are known")
		}
		return err
	})
	must(t, root.space.Prune())
	everyone = append(everyone, third, silent)
	gather(t, everyone...)
	if a := other.adopt(guest); a.Entries != 0 {
		t.Errorf("it is adopted again: %+v", a)
	}
	if err := helper.try(task{ID: 7}); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
	gather(t, everyone...)
	for _, p := range everyone {
		if got := p.get(1).Votes; got != 11 {
			t.Errorf("%d votes", got)
		}
	}
}

// What a device has not seen of a checkpoint, another one adopts, and a second checkpoint covers
// that. When the device learns of all of it at once, it issues nothing again.
func TestRepeats_ofWhatWasAdoptedBetweenTwoCheckpoints(t *testing.T) {
	a := newPeer(t, nil)
	a.allow()
	b, c := newPeer(t, a), newGuest(t, a)
	ids := int64(1)
	inTurn := func() {
		for range 2 {
			for _, p := range []*peer{b, a} {
				ids++
				p.put(task{ID: ids})
				meet(t, a, b)
			}
		}
	}
	a.put(task{ID: 1, Votes: 1})
	meet(t, a, c)
	inTurn()
	c.edit(func(v *task) { v.Votes += 10 })
	must(t, a.checkpoint())
	inTurn()
	must(t, a.load(c.export(nil)))
	a.update(func(tx *stoat.Tx) error {
		_, err := a.space.Adopt(tx, c.logID(), 0, 10)
		return err
	})
	inTurn()
	must(t, a.checkpoint())
	inTurn()
	if n := a.checkpoints(); n != 2 || a.get(1).Votes != 11 {
		t.Fatalf("%d checkpoints, %d votes", n, a.get(1).Votes)
	}
	gather(t, a, b, c)
	if got := c.get(1).Votes; got != 11 {
		t.Errorf("%d votes instead of 11", got)
	}
}

// What the index of repeats cannot have is an error.
func TestRepeats_thatAreDamagedAreErrors(t *testing.T) {
	a := newPeer(t, nil)
	a.put(task{ID: 1})
	log := a.logID()
	number := uint32(0)
	a.inTx(func(t *txn) (err error) {
		number, _, err = t.logNumber(entry.Hash(log))
		return err
	})
	value := func(seq uint64, part byte) []byte { return append(entryKey(nil, "", number, seq), part) }
	whole := append([]byte(prefixRepeat), make([]byte, 200)...)
	for name, item := range map[string]struct{ key, value []byte }{
		"short key":       {[]byte(prefixRepeat + "short"), value(1, 0)},
		"short value":     {whole, value(1, 0)[:4]},
		"no origin":       {whole, value(1, 0)},
		"no such part":    {whole, value(1, 63)},
		"a part too many": {whole, value(1, 64)},
	} {
		err := a.db.Update(func(tx *stoat.Tx) error {
			t, err := a.space.in(tx)
			if err == nil {
				err = t.meta.Put(item.key, item.value)
			}
			if err == nil {
				err = t.judgeAllRepeats()
			}
			return err
		})
		if !errors.Is(err, stoat.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

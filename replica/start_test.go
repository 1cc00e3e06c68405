package replica

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// reader returns the replica as a source sees it.
func (p *peer) reader() *session.Reader {
	return &session.Reader{Device: p.space.device.ID(), All: true}
}

// startWith makes a replica start with the checkpoint of another one.
func startWith(t testing.TB, from, to *peer) {
	t.Helper()
	source, sink := endpoint{from.space}, endpoint{to.space}
	o, reason, err := source.Offer(to.reader())
	must(t, errors.Join(reason, err))
	if o == nil {
		t.Fatal("there is no checkpoint to start with")
	}
	lacks, reason, err := sink.Begin(o, from.space.device.ID())
	must(t, errors.Join(reason, err))
	for _, id := range lacks {
		p, err := source.Chunk(to.reader(), o.Checkpoint, id)
		must(t, err)
		must(t, sink.Stage([]chunk.Packed{packed(t, p)}))
	}
	must(t, sink.installOffer(1, o))
}

// packed returns a chunk as it is staged.
func packed(t testing.TB, p []byte) chunk.Packed {
	t.Helper()
	form, err := chunk.Pack(p)
	must(t, err)
	return chunk.Packed{Leaf: chunk.Leaf(p), Form: form}
}

// together brings replicas together until they have the same.
func together(t *testing.T, peers ...*peer) {
	t.Helper()
	for range 3 {
		for _, p := range peers[1:] {
			meet(t, peers[0], p)
		}
	}
	agree(t, peers...)
}

// prunedPeers returns a replica that has pruned what its last checkpoint covers, and two that have
// not.
func prunedPeers(t *testing.T) (a, b, guest *peer) {
	t.Helper()
	a = newPeer(t, nil)
	b = newPeer(t, a)
	guest = newGuest(t, a)
	a.grant(guest, Write)
	for id := range int64(40) {
		a.put(task{ID: id, Title: "t", Note: "n", Votes: int32(id), Tags: []string{"x", "y"},
			Prices: map[string]int64{"p": id}})
	}
	meet(t, a, guest)
	guest.put(task{ID: 50, Title: "by a guest"})
	meet(t, a, guest)
	a.update(func(tx *stoat.Tx) error { return a.tasks.Delete(tx, int64(3)) })
	together(t, a, b, guest)
	must(t, a.checkpoint())
	together(t, a, b, guest)
	must(t, a.space.Prune())
	a.put(task{ID: 60, Title: "after"})
	b.put(task{ID: 61, Title: "after"})
	meet(t, a, b)
	return a, b, guest
}

func TestStart_equalsAllEntries(t *testing.T) {
	a, b, guest := prunedPeers(t)
	late := newPeer(t, a)
	startWith(t, a, late)
	if err := late.verify(); err != nil {
		t.Error(err)
	}
	meet(t, a, late)
	agree(t, a, b, late)
	for id := range int64(62) {
		if x, y := b.get(id), late.get(id); (x == nil) != (y == nil) || x != nil && x.Title != y.Title {
			t.Errorf("task %d is %+v instead of %+v", id, y, x)
		}
	}
	late.put(task{ID: 1, Title: "written by the new one"})
	late.put(task{ID: 3, Title: "again"})
	meet(t, late, b)
	meet(t, b, a)
	agree(t, a, b, late)
	all := []*peer{b, a, guest, late}
	for round := range int32(2) {
		for i, p := range all {
			p.put(task{ID: 70, Votes: 10*round + int32(i)})
			together(t, all...)
		}
	}
	must(t, late.checkpoint())
	together(t, all...)
	for i, p := range all {
		p.put(task{ID: 71, Votes: 1 + int32(i)})
		together(t, all...)
	}
	for _, p := range all {
		must(t, p.space.Prune()) // it verifies the root
		must(t, p.verify())
	}
	third := newPeer(t, a)
	startWith(t, late, third)
	meet(t, third, late)
	agree(t, a, b, late, third)
	must(t, third.verify())
}

// A new replica whose peer has pruned starts from the checkpoint, in a session like any other.
func TestSync_startsFromACheckpoint(t *testing.T) {
	a, b, guest := prunedPeers(t)
	late := newPeer(t, a)
	meet(t, a, late)
	agree(t, a, b, late)
	must(t, late.verify())
	late.put(task{ID: 1, Title: "written by the new one"})
	meet(t, late, guest)
	meet(t, late, a)
	meet(t, a, b)
	agree(t, a, b, late, guest)
	third := newPeer(t, a)
	meet(t, late, third) // it gives what it has started from
	agree(t, a, third)
}

// A replica that has all that a checkpoint covers makes the state itself.
func TestStart_isNotNeededByWhoHasAllEntries(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1})
	meet(t, a, b)
	server := newPeer(t, a)
	meet(t, a, server)
	server.forge(func(*entry.Checkpoint) {})
	server.goBy()
	_, reason, err := endpoint{b.space}.Begin(server.offered(b), DeviceID{})
	must(t, err)
	if !errors.Is(reason, session.ErrNeedless) {
		t.Errorf("got %v", reason)
	}
}

// What was withheld arrives with the state of a checkpoint.
func TestStart_fillsWhatWasWithheld(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	root.grant(guest, Write, In("other"))
	root.put(task{ID: 1, Title: "a"})
	root.syncWith(guest)
	root.grant(guest, Write)
	root.put(task{ID: 2, Title: "b"})
	must(t, root.checkpoint())
	must(t, root.space.Seal())
	must(t, root.space.Prune())
	root.syncWith(guest)
	agree(t, root, guest)
	if guest.get(1) == nil || guest.get(2) == nil {
		t.Error("records are missing")
	}
	guest.put(task{ID: 3})
	root.syncWith(guest)
	agree(t, root, guest)
	must(t, guest.verify())
}

// Chunks that arrive after the start has ended are not kept.
func TestStart_keepsNoChunksBehindItsEnd(t *testing.T) {
	a := bulky(t)
	late := newPeer(t, a)
	o := a.offered(late)
	p, err := endpoint{a.space}.Chunk(late.reader(), o.Checkpoint, session.ChunkID{Tree: 1})
	must(t, err)
	startWith(t, a, late)
	must(t, endpoint{late.space}.Stage([]chunk.Packed{packed(t, p)}))
	late.inTx(func(t *txn) error {
		_, err := t.meta.Bucket([]byte(stagedBucket))
		if err == nil {
			late.t.Error("chunks are left")
		}
		if errors.Is(err, stoat.ErrBucketNotFound) {
			err = nil
		}
		return err
	})
}

// A program has stored a record past the space, which has no state; a start puts the one of the
// checkpoint in its place, in the indexes too.
func TestStart_replacesARecordWithoutAState(t *testing.T) {
	a, _, _ := prunedPeers(t)
	late := newPeer(t, a)
	past, err := record.Open[task](late.db, "team/tasks", nil)
	must(t, err)
	late.update(func(tx *stoat.Tx) error {
		return past.Put(tx, &task{ID: 1, Title: "stray", Tags: []string{"stray"}})
	})
	startWith(t, a, late)
	if got := late.get(1); got == nil || got.Title != "t" {
		t.Errorf("the record is %+v", got)
	}
	must(t, late.db.View(func(tx *stoat.Tx) error {
		for _, old := range []record.Predicate{record.Eq("title", "stray"), record.Has("tags", "stray")} {
			n, err := late.tasks.Query().Where(old).Count(tx)
			if err != nil || n > 0 {
				t.Errorf("an index has %d entries of the record before, %v", n, err)
			}
		}
		return nil
	}))
}

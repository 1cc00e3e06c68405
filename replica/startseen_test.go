package replica

import (
	"bytes"
	"reflect"
	"testing"
)

// The author of a checkpoint may have its right by a grant that the checkpoint does not cover,
// since others had not seen it: others start with the checkpoint nevertheless.
func TestStart_withAGrantThatIsNotCovered(t *testing.T) {
	root := newPeer(t, nil)
	server, writer := newGuest(t, root), newGuestAfter(t, root, 1)
	root.grant(server, Write)
	root.grant(writer, Write)
	all := []*peer{root, server, writer}
	for range 2 {
		together(t, all...)
		write(all...)
	}
	together(t, all...)
	root.grant(server, Write|Checkpoint)
	granted := root.lengthOf(root.logID()) - 1
	meet(t, root, server)
	must(t, server.checkpoint())
	meet(t, root, server)
	write(root)
	together(t, all...)
	must(t, server.space.Prune())
	if n := server.covered()[server.numberOf(root.logID())]; n == 0 || n > granted {
		t.Fatalf("the checkpoint covers %d entries of the root, and the grant is entry %d", n, granted)
	}
	late := newPeer(t, root)
	startWith(t, server, late)
	together(t, server, late, root, writer)
	must(t, late.verify())
}

// numberOf returns the number of a log.
func (p *peer) numberOf(log LogID) (number uint32) {
	p.t.Helper()
	p.inTx(func(t *txn) (err error) {
		number, _, err = t.logNumber([32]byte(log))
		return err
	})
	return number
}

// A start keeps the acts of many chunks of logs as they are: the memory in which a chunk is opened
// is used for others.
func TestStart_keepsActsOfManyChunks(t *testing.T) {
	a := newPeer(t, nil)
	late := newPeer(t, a)
	const acts = 200
	for n := range acts {
		prefix := bytes.Repeat([]byte{byte(n)}, 4000)
		a.grant(late, Write, In("tasks").Prefix(prefix))
	}
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	must(t, a.space.Prune())
	chunks := 0
	a.inTx(func(t *txn) error {
		o, err := t.offering()
		chunks = len(o.trees[0].leaves)
		return err
	})
	if chunks < 6 {
		t.Fatalf("the acts are in %d chunks", chunks)
	}
	startWith(t, a, late)
	sent := func(p *peer) (all [][]byte) {
		p.inTx(func(t *txn) error {
			return t.eachAct(func(at spot) error {
				stored, err := t.sent(at.log, at.seq)
				all = append(all, bytes.Clone(stored))
				return err
			})
		})
		return all
	}
	if want, got := sent(a), sent(late); len(want) < acts || !reflect.DeepEqual(got, want) {
		t.Errorf("%d acts differ from %d", len(got), len(want))
	}
	must(t, late.verify())
	if a.root() != late.root() {
		t.Error("the roots differ")
	}
}

package replica

import "testing"

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

package replica

import (
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
)

// Bytes of a chunk that is not whole are kept for the next session with the device that gave them.
// A peer that comes with ever new keys does not make them grow, and does not make those be lost
// that a device with a session has given.
func TestStart_keepsPiecesOfFewDevices(t *testing.T) {
	p := newPeer(t, nil)
	content := []byte("the first piece, and the second")
	leaf := chunk.Leaf(content)
	form, err := chunk.Pack(content)
	must(t, err)
	honest := DeviceID{1, 2, 3}
	p.space.meet(7, honest)
	e := endpoint{p.space}
	must(t, e.StagePart(leaf, honest, 0, form[:9]))
	for n := range 10 * giversKept {
		must(t, e.StagePart(leaf, DeviceID{9, byte(n), byte(n >> 8)}, 0, form[:9]))
	}
	kept := 0
	p.inTx(func(t *txn) error {
		b, err := t.pieces()
		for range b.Keys(stoat.Prefix([]byte{'p'})) {
			kept++
		}
		return err
	})
	if kept < 2 || kept > giversKept+2 {
		t.Errorf("pieces of %d devices are kept", kept)
	}
	must(t, e.StagePart(leaf, honest, 9, form[9:]))
	if good, err := e.Join(leaf, honest); err != nil || !good {
		t.Errorf("what a device with a session has given is lost: %v", err)
	}
}

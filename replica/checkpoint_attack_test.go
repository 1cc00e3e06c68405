package replica

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// forge makes a checkpoint that is altered, without asking whether it may be made.
func (p *peer) forge(alter func(c *entry.Checkpoint)) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		before, next, err := t.nextHorizon()
		if err != nil {
			return err
		}
		act, salts, err := t.newCheckpoint(before, next)
		if err != nil {
			return err
		}
		alter(act)
		return t.issueCheckpoint(act, salts)
	})
}

// A checkpoint with the root of another state, or of fewer records, does not change anybody's
// state, and nobody prunes by it.
func TestAttack16_checkpointWithAWrongState(t *testing.T) {
	for name, alter := range map[string]func(c *entry.Checkpoint){
		"another root":    func(c *entry.Checkpoint) { c.Chunks[1].Root[0] ^= 1 },
		"fewer chunks":    func(c *entry.Checkpoint) { c.Chunks = c.Chunks[:1] },
		"another log end": func(c *entry.Checkpoint) { c.Chunks[0].Root[0] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			a := newPeer(t, nil)
			b := newPeer(t, a)
			a.put(task{ID: 1, Title: "right"})
			a.forge(alter)
			agreeAfter(t, a, b)
			before, _, _, _, _ := b.counted()
			if err := b.space.Prune(); !errors.Is(err, ErrMismatch) {
				t.Errorf("got %v", err)
			}
			if after, _, _, _, _ := b.counted(); after != before || b.get(1) == nil {
				t.Error("something is gone")
			}
			b.inTx(func(tr *txn) error {
				st, err := b.space.Status(tr.tx)
				if err == nil && (!st.Mismatch || st.Checkpoints != 1) {
					t.Errorf("the status is %+v", st)
				}
				return err
			})
			b.put(task{ID: 2})
			agreeAfter(t, a, b)
		})
	}
}

// A checkpoint that does not follow the last one, or covers what it has not seen, is ignored.
func TestAttack16_checkpointThatIsRolledBack(t *testing.T) {
	var first entry.Checkpoint
	for name, alter := range map[string]func(c *entry.Checkpoint){
		"older":        func(c *entry.Checkpoint) { *c = first },
		"no beginning": func(c *entry.Checkpoint) { c.Before = entry.Hash{} },
		"less":         func(c *entry.Checkpoint) { c.Logs[0].Count = 1 },
		"another hash": func(c *entry.Checkpoint) { c.Logs[0].Hash[0] ^= 1 },
		"too much":     func(c *entry.Checkpoint) { c.Logs[0].Count += 100 },
		"unknown log":  func(c *entry.Checkpoint) { c.Logs[0].Log[31] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			a := newPeer(t, nil)
			b := newPeer(t, a)
			a.put(task{ID: 1, Title: "one"})
			a.forge(func(c *entry.Checkpoint) { first = *c })
			a.put(task{ID: 1, Title: "two"})
			meet(t, a, b)
			covers := b.covered()
			a.forge(alter)
			meet(t, a, b)
			agree(t, a, b)
			for log, n := range b.covered() {
				if covers[log] != n {
					t.Error("the horizon has moved")
				}
			}
			if b.get(1).Title != "two" {
				t.Errorf("the record is %+v", b.get(1))
			}
		})
	}
}

// A checkpoint by a device without the right is void.
func TestAttack16_checkpointWithoutTheRight(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	root.grant(guest, Write)
	root.put(task{ID: 1})
	meet(t, root, guest)
	guest.put(task{ID: 2})
	if err := guest.checkpoint(); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
	meet(t, root, guest)
	root.put(task{ID: 3})
	meet(t, root, guest)
	guest.forge(func(*entry.Checkpoint) {})
	for range 2 {
		meet(t, root, guest)
		root.put(task{ID: 4})
	}
	if len(root.covered())+len(guest.covered()) > 0 {
		t.Error("it counts")
	}
}

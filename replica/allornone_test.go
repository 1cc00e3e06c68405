package replica

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// ownEntries returns how many entries the replica has written.
func (p *peer) ownEntries() (n uint64) {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		h, err := t.ownHead()
		n = h.next
		return err
	})
	return n
}

// inSpite makes a call that is not allowed, and commits nevertheless. It returns the error of that.
func (p *peer) inSpite(call func(tx *stoat.Tx) error) error {
	p.t.Helper()
	return p.db.Update(func(tx *stoat.Tx) error {
		if err := call(tx); !errors.Is(err, ErrNotAllowed) {
			p.t.Errorf("the call: %v", err)
		}
		return nil
	})
}

// A device that may not end all grants to another one ends none, also if the caller commits.
func TestRevoke_ofSeveralGrantsIsAllOrNone(t *testing.T) {
	root := newPeer(t, nil)
	admin, guest := newGuest(t, root), newGuestAfter(t, root, 1)
	root.grant(admin, Admin)
	meet(t, root, admin)
	admin.grant(guest, Read)
	admin.grant(guest, Write, In("tasks"))
	meet(t, root, admin)
	root.grant(guest, Read, In("notes"))
	meet(t, root, admin)
	before := admin.ownEntries()
	must(t, admin.inSpite(func(tx *stoat.Tx) error {
		return admin.space.Revoke(tx, guest.space.device.ID())
	}))
	if n := len(admin.grantsTo(guest)); n != 3 || admin.ownEntries() != before {
		t.Errorf("%d grants are left, and %d entries more", n, admin.ownEntries()-before)
	}
	admin.put(task{ID: 1}) // its log goes on
	meet(t, root, admin)
	agree(t, root, admin)
}

// A device that may not write all that it adopts adopts nothing: if the caller commits in spite of
// the error, that fails.
func TestAdopt_isAllOrNone(t *testing.T) {
	root, _, guest := offline(t, func(guest *peer) {
		guest.put(task{ID: 2})
		guest.update(func(tx *stoat.Tx) error { return guest.tasks.Delete(tx, int64(9)) })
	})
	helper := newGuestAfter(t, root, 1)
	root.grant(helper, Write, In("tasks").NoDelete())
	meet(t, root, helper)
	log := guest.logID()
	before := helper.ownEntries()
	err := helper.inSpite(func(tx *stoat.Tx) error {
		a, err := helper.space.Adopt(tx, log, 0, 1<<40)
		if a != (Adopted{}) {
			t.Errorf("it has adopted %+v", a)
		}
		return err
	})
	if n := helper.ownEntries() - before; !errors.Is(err, ErrNotAllowed) || n > 0 {
		t.Errorf("%d entries, and the commit: %v", n, err)
	}
	helper.put(task{ID: 3}) // its log goes on
	meet(t, root, helper)
	agree(t, root, helper)
}

// A device that may not take all back that it reverts takes nothing back. Nothing is left of what
// was looked at, and if some was written and the caller commits, that fails.
func TestRevert_isAllOrNone(t *testing.T) {
	root := newPeer(t, nil)
	helper := newGuest(t, root)
	root.put(task{ID: 1})
	texts, err := Collection[textByKey](root.space, "texts", nil)
	must(t, err)
	root.update(func(tx *stoat.Tx) error { return texts.Put(tx, &textByKey{Key: "a", Text: "b"}) })
	for name, want := range map[string]error{"texts": nil, "tasks": ErrNotAllowed} {
		root.grant(helper, Write, In(name))
		meet(t, root, helper)
		before := helper.ownEntries()
		err := helper.inSpite(func(tx *stoat.Tx) error {
			r, err := helper.space.Revert(tx, Filter{Device: root.space.device.ID()})
			if r != (Reverted{}) {
				t.Errorf("it has reverted %+v", r)
			}
			return err
		})
		if n := helper.ownEntries() - before; !errors.Is(err, want) || n > 0 {
			t.Errorf("a grant for %s: %d entries, and the commit: %v", name, n, err)
		}
		root.revoke(helper)
		helper.inTx(func(t *txn) error {
			for key := range t.meta.Keys(stoat.Prefix([]byte(prefixRevert))) {
				helper.t.Errorf("%q is left", key)
			}
			return nil
		})
	}
	agree(t, root, helper)
}

// A transaction in which an entry could not be made does not commit: what the entry was to say it
// has seen is noted no more.
func TestIssue_thatFailsKeepsTheTransactionFromCommitting(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	b.put(task{ID: 1})
	meet(t, a, b)
	err := a.db.Update(func(tx *stoat.Tx) error {
		t, err := a.space.in(tx)
		if err != nil {
			return err
		}
		next, err := t.nextOwn()
		if err != nil {
			return err
		}
		large := entry.Part{Group: "tasks", Data: bytes.Repeat([]byte{1}, 2<<20)}
		err = t.issue(next, &entry.Entry{Kind: entry.KindData, Parts: []entry.Part{large}})
		if !errors.Is(err, stoat.ErrTooLarge) {
			a.t.Errorf("got %v", err)
		}
		return nil
	})
	if !errors.Is(err, stoat.ErrTooLarge) {
		t.Errorf("the commit: %v", err)
	}
	a.put(task{ID: 2})
	meet(t, a, b)
	agree(t, a, b)
}

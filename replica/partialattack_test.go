package replica

import (
	"testing"

	"github.com/stoatdb/stoat"
)

// A device that may read some collections gets nothing of others: neither values nor keys.
func TestAttack20_contentOfOtherCollections(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	root.grant(guest, Write, In("tasks"))
	for id := range int64(300) {
		root.pay(id, secret)
	}
	root.syncWith(guest)
	guest.put(task{ID: 7, Title: "mine"})
	root.syncWith(guest)
	if guest.has(secret) || guest.get(1001) == nil || root.get(7) == nil {
		t.Error("it has what it may not read, or lacks what it may")
	}
	sameRoot(t, "tasks", root, guest)

	root.grant(guest, Read, In("salaries"))
	root.syncWith(guest)
	agree(t, root, guest)
	if v := guest.salary(1); v == nil || v.Title != secret {
		t.Errorf("got %+v", v)
	}
}

// A revocation ends what a device is given, also of what its own replica does not know yet.
func TestAttack20_contentAfterARevocation(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	root.grant(guest, Write, In("tasks"))
	root.grant(guest, Read, In("salaries"))
	root.pay(1, "known")
	root.syncWith(guest)
	agree(t, root, guest)
	if v := guest.salary(1); v == nil || v.Title != "known" {
		t.Errorf("got %+v", v)
	}
	var last EntryID
	err := root.db.View(func(tx *stoat.Tx) error {
		for g, err := range root.space.Grants(tx) {
			if err != nil {
				return err
			}
			if g.Right == Read {
				last = g.ID
			}
		}
		return nil
	})
	must(t, err)
	root.update(func(tx *stoat.Tx) error { return root.space.RevokeGrant(tx, last) })
	root.pay(2, secret)
	root.syncWith(guest)
	if guest.has(secret) {
		t.Error("it has what it may not read any more")
	}
	if guest.get(1002) == nil {
		t.Error("it lacks what it may read")
	}
	sameRoot(t, "tasks", root, guest)
	if v := guest.salary(1); v == nil || v.Title != "known" {
		t.Errorf("what was read is gone: %+v", v)
	}
}

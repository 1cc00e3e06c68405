package replica

import (
	"errors"
	"testing"
)

// Requests are as sessions are: what a device may not read, or does not ask for, is withheld, and
// comes when it may.
func TestPost_withholdsContent(t *testing.T) {
	root := newPeer(t, nil)
	web := root.web(nil)
	guest := newGuest(t, root)
	root.grant(guest, Write, In("tasks"))
	partial := newPartialPeer(t, root, "tasks")
	root.pay(1, secret)
	for _, p := range []*peer{guest, partial} {
		must(t, Post(t.Context(), p.space, web.URL, nil))
		if p.has(secret) || p.get(1001) == nil {
			t.Error("it has what it should not have, or lacks what it should")
		}
		sameRoot(t, "tasks", root, p)
	}
	root.grant(guest, Read)
	partial.reopen([]string{})
	for _, p := range []*peer{guest, partial} {
		must(t, Post(t.Context(), p.space, web.URL, nil))
		agree(t, root, p)
	}
}

// A partial server does not give a full client entries in part.
func TestPost_ofAPartialServer(t *testing.T) {
	root := newPeer(t, nil)
	server := newPartialPeer(t, root, "tasks")
	client := newPeer(t, root)
	root.pay(1, secret)
	root.syncWith(server)
	must(t, Post(t.Context(), client.space, server.web(nil).URL, nil))
	must(t, client.db.View(client.space.inWhole))
	must(t, Post(t.Context(), client.space, root.web(nil).URL, nil))
	agree(t, root, client)
}

// A file of a partial replica is no use to a full one, and says so; a partial one takes of a file
// what it holds.
func TestFiles_ofPartialReplicas(t *testing.T) {
	root := newPeer(t, nil)
	partial := newPartialPeer(t, root, "tasks")
	root.pay(1, secret)
	must(t, partial.load(root.export(nil)))
	if partial.has(secret) {
		t.Error("it has what it does not hold")
	}
	sameRoot(t, "tasks", root, partial)
	full := newPeer(t, root)
	if err := full.load(partial.export(nil)); !errors.Is(err, ErrNotHeld) {
		t.Errorf("got %v", err)
	}
	must(t, full.db.View(full.space.inWhole))
	another := newPartialPeer(t, root, "tasks")
	must(t, another.load(partial.export(nil)))
	sameRoot(t, "tasks", root, another)
	partial.reopen([]string{})
	must(t, partial.load(root.export(nil)))
	agree(t, root, partial)
}

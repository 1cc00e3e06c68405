package replica

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// note is a record that may belong to a device.
type note struct {
	Owner string `stoat:"owner,key"`
	Text  string `stoat:"text"`
	Likes int64  `stoat:"likes,merge=sum"`
}

// A scope permits what it says, and nothing else.
func TestScope_limitsWriting(t *testing.T) {
	root := newPeer(t, nil)
	all, err := Collection[note](root.space, "notes", nil)
	if err != nil {
		t.Fatal(err)
	}
	guest := newGuest(t, root)
	notes, err := Collection[note](guest.space, "notes", nil)
	if err != nil {
		t.Fatal(err)
	}
	root.update(func(tx *stoat.Tx) error { return all.Put(tx, &note{Owner: "root", Text: "a"}) })
	me := guest.space.device.ID()
	text := ""
	put := func(owner string) func(tx *stoat.Tx) error {
		return func(tx *stoat.Tx) error { return notes.Put(tx, &note{Owner: owner, Text: text}) }
	}
	like := func(tx *stoat.Tx) error {
		return notes.Update(tx, "root", func(n *note) error { n.Likes++; return nil })
	}
	remove := func(tx *stoat.Tx) error { return notes.Delete(tx, "root") }
	elsewhere := func(tx *stoat.Tx) error { return guest.tasks.Put(tx, &task{ID: 9, Title: text}) }
	own, ours := put(me.String()), put("our")
	for name, c := range map[string]struct {
		scope   Scope
		allowed []int // of own, ours, like, remove, elsewhere
	}{
		"a collection":  {In("notes"), []int{0, 1, 2, 3}},
		"everything":    {In(), []int{0, 1, 2, 3, 4}},
		"own records":   {In("notes").OwnOnly(), []int{0}},
		"a prefix":      {In("notes").Prefix(tuple.AppendString(nil, "our")), []int{1}},
		"no deletions":  {In().NoDelete(), []int{0, 1, 2, 4}},
		"a field":       {In("notes").Fields("likes"), []int{2}},
		"another place": {In("tasks"), []int{4}},
	} {
		t.Run(name, func(t *testing.T) {
			text = name
			root.grant(guest, Write, c.scope)
			meet(t, root, guest)
			for i, change := range []func(*stoat.Tx) error{own, ours, like, remove, elsewhere} {
				err := guest.db.Update(func(tx *stoat.Tx) error {
					if err := change(tx); err != nil {
						t.Fatal(err)
					}
					return errRollback
				})
				if !errors.Is(err, errRollback) {
					t.Fatal(err)
				}
				err = guest.db.Update(change)
				if errors.Is(err, ErrNotAllowed) == slices.Contains(c.allowed, i) {
					t.Errorf("change %d: %v", i, err)
				}
				if err == nil && i == 3 { // for the next ones
					meet(t, guest, root)
					root.update(func(tx *stoat.Tx) error {
						return all.Put(tx, &note{Owner: "root", Text: "a"})
					})
				}
			}
			meet(t, guest, root)
			agree(t, root, guest)
			root.update(func(tx *stoat.Tx) error { return root.space.Revoke(tx, me) })
			meet(t, root, guest)
		})
	}
}

// errRollback rolls a transaction back.
var errRollback = errors.New("roll back")

// With a quorum, what roots decide counts once enough of them agree: grants and revocations.
func TestEndorse_makesAQuorum(t *testing.T) {
	a := newPeerOf(t, nil, testRoots(), 3)
	b, c, guest := newPeer(t, a), newPeer(t, a), newGuest(t, a)
	everywhere := func() {
		for range 2 {
			for _, p := range []*peer{b, c, guest} {
				meet(t, a, p)
			}
		}
		agree(t, a, b, c, guest)
	}
	a.grant(guest, Write)
	granted := a.grants()[0]
	if granted.Active() || !strings.Contains(granted.Void.Error(), "1 of 3") {
		t.Errorf("got %+v", granted)
	}
	everywhere()
	if err := guest.try(task{ID: 1}); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
	endorse := func(p *peer, id EntryID) {
		p.update(func(tx *stoat.Tx) error { return p.space.Endorse(tx, id) })
	}
	endorse(b, granted.ID)
	endorse(b, granted.ID) // twice is once
	endorse(a, granted.ID)
	everywhere()
	if g := c.grants()[0]; g.Active() {
		t.Error("two roots are enough")
	}
	endorse(c, granted.ID)
	everywhere()
	if err := guest.try(task{ID: 1, Title: "x"}); err != nil || !guest.grants()[0].Active() {
		t.Errorf("got %v", err)
	}
	everywhere()
	b.update(func(tx *stoat.Tx) error { return b.space.RevokeGrant(tx, granted.ID) })
	guest.put(task{ID: 2})
	everywhere()
	if a.get(2) == nil {
		t.Error("one root alone has revoked")
	}
	ends := a.grants()[0].Ends
	if len(ends) != 1 || ends[0].By != b.space.device.ID() {
		t.Fatalf("got %+v", ends)
	}
	endorse(a, ends[0].ID)
	endorse(c, ends[0].ID)
	everywhere()
	if a.get(1) == nil || a.get(2) != nil || a.grants()[0].Active() {
		t.Errorf("got %+v and %+v", a.get(1), a.get(2))
	}
	err := guest.db.Update(func(tx *stoat.Tx) error { return guest.space.Endorse(tx, granted.ID) })
	if !errors.Is(err, ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
}

// A revocation that enough roots have endorsed counts, though another one has ended the grant where
// it does.
func TestEndorse_countsForTheSecondOfTwoRevocations(t *testing.T) {
	a := newPeerOf(t, nil, testRoots(), 2)
	b, c, guest := newPeer(t, a), newPeer(t, a), newGuest(t, a)
	everywhere := func() {
		for range 2 {
			for _, p := range []*peer{b, c, guest} {
				meet(t, a, p)
			}
		}
		for _, p := range []*peer{a, b, c, guest} {
			p.checkVoids()
		}
	}
	endorse := func(id EntryID) {
		c.update(func(tx *stoat.Tx) error { return c.space.Endorse(tx, id) })
		everywhere()
	}
	a.grant(guest, Write)
	everywhere()
	granted := a.grants()[0].ID
	endorse(granted)
	for _, p := range []*peer{a, b} {
		p.update(func(tx *stoat.Tx) error { return p.space.RevokeGrant(tx, granted) })
	}
	everywhere()
	var revocations []EntryID
	a.inTx(func(t *txn) (err error) {
		_, revocations, err = acts(t)
		return err
	})
	for _, id := range revocations {
		endorse(id)
	}
	if len(revocations) != 2 || a.grants()[0].Active() {
		t.Errorf("%d revocations of %+v", len(revocations), a.grants()[0])
	}
}

// grants returns the grants of a space.
func (p *peer) grants() (all []Granted) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		for g, err := range p.space.Grants(tx) {
			if err != nil {
				return err
			}
			all = append(all, g)
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// A device with Invite lets others write, and ends that; one with Write alone cannot.
func TestGrant_byAnInviter(t *testing.T) {
	root := newPeer(t, nil)
	login, user := newGuest(t, root), newGuestAfter(t, root, 1)
	root.grant(login, Relay|Invite, In("tasks"))
	meet(t, root, login)
	give := func(p *peer, right Right, scopes ...Scope) error {
		return p.db.Update(func(tx *stoat.Tx) error {
			return p.space.Grant(tx, user.space.device.ID(), right, scopes...)
		})
	}
	if err := give(login, Admin, In("tasks")); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
	if err := give(login, Write); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("everything: %v", err)
	}
	if err := give(login, Write, In("tasks").NoDelete()); err != nil {
		t.Error(err)
	}
	if err := login.try(task{ID: 1}); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("an inviter writes: %v", err)
	}
	meet(t, login, user)
	user.put(task{ID: 2})
	if err := give(user, Write, In("tasks").NoDelete()); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("a writer grants: %v", err)
	}
	meet(t, login, user)
	login.update(func(tx *stoat.Tx) error {
		return login.space.Revoke(tx, user.space.device.ID())
	})
	meet(t, login, user)
	meet(t, login, root)
	agree(t, root, login, user)
	if err := user.try(task{ID: 3}); !errors.Is(err, ErrNotAllowed) || root.get(2) == nil {
		t.Errorf("got %v", err)
	}
	err := login.db.Update(func(tx *stoat.Tx) error {
		return login.space.Revoke(tx, login.space.device.ID())
	})
	if !errors.Is(err, ErrNotAllowed) {
		t.Errorf("it ends its own grant: %v", err)
	}
}

// newGuestAfter is newGuest for one more guest.
func newGuestAfter(t testing.TB, of *peer, others int) *peer {
	t.Helper()
	of.joined += others
	defer func() { of.joined -= others }()
	return newGuest(t, of)
}

// May says what a device may read now, by collection.
func TestMay_isByCollection(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	may := func(right Right, collection string) (ok bool) {
		t.Helper()
		err := root.db.View(func(tx *stoat.Tx) (err error) {
			ok, err = root.space.May(tx, guest.space.device.ID(), right, collection)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return ok
	}
	if may(Relay, "") || may(Read, "tasks") {
		t.Error("without a grant")
	}
	root.grant(guest, Write, In("tasks").OwnOnly())
	root.grant(guest, Relay)
	if !may(Read, "tasks") || may(Read, "notes") || !may(Relay, "notes") || may(Admin, "tasks") ||
		may(Checkpoint, "") {
		t.Error("with grants")
	}
	root.update(func(tx *stoat.Tx) error { return root.space.Revoke(tx, guest.space.device.ID()) })
	if may(Relay, "") || may(Read, "tasks") {
		t.Error("after they were revoked")
	}
}

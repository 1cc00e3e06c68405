package replica

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// lostCopy returns a replica whose folder was copied, and another one that has met the copy. Both
// copies have acted and sealed that: what each did is given. The copy is lost then.
func lostCopy(t *testing.T, of *peer, mine, copys func(p *peer)) (one, third *peer) {
	t.Helper()
	dir, other := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "copy")
	must(t, of.space.Seal())
	must(t, of.db.Backup(t.Context(), dir))
	must(t, os.CopyFS(other, os.DirFS(dir)))
	one, two := of.copyIn(dir), of.copyIn(other)
	third = newPeer(t, of)
	mine(one)
	copys(two)
	must(t, one.space.Seal())
	meet(t, two, third)
	must(t, two.db.Close())
	meet(t, one, third)
	meet(t, one, third)
	return one, third
}

// voidActs returns the acts that do not count.
func (p *peer) voidActs() (all []Void) {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		n, st := uint64(0), (*Status)(nil)
		for v, err := range p.space.Void(tx) {
			if err != nil {
				return err
			}
			if n++; v.Act != "" {
				all = append(all, *v)
			}
		}
		st, err := p.space.Status(tx)
		if err == nil && st.Void != n {
			p.t.Errorf("the status has %d void entries, not %d", st.Void, n)
		}
		return err
	}))
	return all
}

// may reports whether the device of a replica may write, as far as another one knows.
func (p *peer) may(device *peer) (ok bool) {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) (err error) {
		ok, err = p.space.May(tx, device.space.device.ID(), Write, "tasks")
		return err
	}))
	return ok
}

// adoptLog adopts what does not count of a log.
func (p *peer) adoptLog(log LogID) (a Adopted) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) (err error) {
		a, err = p.space.Adopt(tx, log, 0, 1<<40)
		return err
	})
	return a
}

// reopened closes a replica whose database is in a folder, and opens it again.
func (p *peer) reopened() *peer {
	p.t.Helper()
	dir := filepath.Join(p.t.TempDir(), "again")
	must(p.t, p.db.Backup(p.t.Context(), dir))
	must(p.t, p.db.Close())
	return p.copyIn(dir)
}

// A copy of a root's folder grants something and never returns. The grant is listed, here and where
// it arrived, and holds once the device has adopted it.
func TestAdopt_aGrantOfALostCopy(t *testing.T) {
	root := newPeer(t, nil)
	x, y := newGuest(t, root), newGuestAfter(t, root, 1)
	log := root.logID()
	one, third := lostCopy(t, root, func(p *peer) { p.grant(x, Write) },
		func(p *peer) { p.grant(y, Write, In("tasks").NoDelete()) })
	if third.cutOf(entry.Hash(log)) == 0 {
		t.Fatal("the log has not forked")
	}
	if !one.may(x) || one.may(y) {
		t.Error("the grants are others than those of the first copy")
	}
	wanted := "grants write to " + y.space.device.ID().String()
	for _, p := range []*peer{one.reopened(), third} {
		acts := p.voidActs()
		i := slices.IndexFunc(acts, func(v Void) bool { return v.Act == wanted })
		if i < 0 || acts[i].Repeated || acts[i].Reason != errForkedAway.Error() {
			t.Errorf("void are %+v", acts)
		}
		if p != third {
			one = p
		}
	}
	if a := third.adoptLog(log); a.Entries != 0 || a.Left != 1 {
		t.Errorf("another root has adopted %+v", a)
	}
	if a := one.adoptLog(log); a.Entries != 1 || a.Left != 0 {
		t.Errorf("adopted %+v", a)
	}
	one = one.reopened()
	if a := one.adoptLog(log); a.Entries != 0 || a.Left != 0 || a.Before == 0 {
		t.Errorf("adopted once more: %+v", a)
	}
	for range 2 {
		meet(t, one, third)
	}
	for _, p := range []*peer{one, third} {
		for _, v := range p.voidActs() {
			if !v.Repeated {
				t.Errorf("%+v was not adopted", v)
			}
		}
		if !p.may(x) || !p.may(y) {
			t.Error("the grants of both copies do not hold")
		}
		p.checkVoids()
	}
	agree(t, one, third)
}

// What was granted again and revoked since does not come back, nor what the copy has revoked
// itself.
func TestAdopt_leavesWhatWasRevoked(t *testing.T) {
	root := newPeer(t, nil)
	x, y := newGuest(t, root), newGuestAfter(t, root, 1)
	log := root.logID()
	one, third := lostCopy(t, root, func(p *peer) { p.put(task{ID: 1}) }, func(p *peer) {
		p.grant(x, Write)
		p.grant(y, Write)
		p.revoke(y)
	})
	if a := one.adoptLog(log); a.Entries != 1 || a.Left != 2 || !one.may(x) || one.may(y) {
		t.Errorf("adopted %+v", a)
	}
	one.revoke(x)
	if a := one.adoptLog(log); a.Entries != 0 || one.may(x) || one.may(y) {
		t.Errorf("adopted once more: %+v", a)
	}
	one.grant(x, Read)
	one.revoke(x)
	if a := one.adoptLog(log); a.Entries != 0 || one.may(x) {
		t.Errorf("adopted at last: %+v", a)
	}
	meet(t, one, third)
	if third.may(x) || third.may(y) {
		t.Error("what was revoked holds elsewhere")
	}
}

// A revocation of a lost copy is made again.
func TestAdopt_aRevocationOfALostCopy(t *testing.T) {
	root := newPeer(t, nil)
	x := newGuest(t, root)
	root.grant(x, Write)
	must(t, root.space.Seal())
	log := root.logID()
	one, third := lostCopy(t, root, func(p *peer) { p.put(task{ID: 1}) },
		func(p *peer) { p.revoke(x) })
	if !one.may(x) {
		t.Fatal("the copy has revoked the grant here, too")
	}
	if a := one.adoptLog(log); a.Entries != 1 || a.Left != 0 {
		t.Errorf("adopted %+v", a)
	}
	if a := one.adoptLog(log); a.Entries != 0 || a.Left != 0 || a.Before == 0 {
		t.Errorf("adopted once more: %+v", a)
	}
	meet(t, one, third)
	if one.may(x) || third.may(x) {
		t.Error("the grant still holds")
	}
}

// The acts of an admin that was revoked do not come back, neither by itself nor by a root.
func TestAdopt_leavesGrantsOfARevokedAdmin(t *testing.T) {
	root := newPeer(t, nil)
	admin := newGuest(t, root)
	x, y := newGuestAfter(t, root, 1), newGuestAfter(t, root, 2)
	root.grant(admin, Admin)
	meet(t, root, admin)
	admin.put(task{ID: 1})
	meet(t, root, admin)
	log := admin.logID()
	one, third := lostCopy(t, admin, func(p *peer) { p.grant(x, Write) },
		func(p *peer) { p.grant(y, Write) })
	root.revoke(admin)
	for _, p := range []*peer{third, one, third, one} {
		meet(t, root, p)
	}
	for name, p := range map[string]*peer{"the admin": one, "the root": root, "another": third} {
		if a := p.adoptLog(log); a.Entries != 0 {
			t.Errorf("%s has adopted %+v", name, a)
		}
		if len(p.voidActs()) == 0 {
			t.Errorf("%s has no void acts", name)
		}
		if p.may(y) || p.may(x) {
			t.Errorf("%s says that the grants hold", name)
		}
	}
}

package replica

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
)

// grantsTo returns the grants to a device that hold.
func (p *peer) grantsTo(device *peer) (all []EntryID) {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		for g, err := range p.space.Grants(tx) {
			if err != nil {
				return err
			}
			if g.To == device.space.device.ID() && g.Active() {
				all = append(all, g.ID)
			}
		}
		return nil
	}))
	return all
}

// copiesOf returns replicas in copies of the folder of one.
func (p *peer) copiesOf(n int) (all []*peer) {
	p.t.Helper()
	must(p.t, p.space.Seal())
	first := filepath.Join(p.t.TempDir(), "db")
	must(p.t, p.db.Backup(p.t.Context(), first))
	for range n {
		dir := filepath.Join(p.t.TempDir(), "copy")
		must(p.t, os.CopyFS(dir, os.DirFS(first)))
		all = append(all, p.copyIn(dir))
	}
	return all
}

// A log that is cut once more, before the first cut, has its acts made again once.
func TestForks_cutsAgainMakeActsOnce(t *testing.T) {
	root := newPeer(t, nil)
	third, fourth := newPeer(t, root), newPeer(t, root)
	x, y := newGuest(t, root), newGuestAfter(t, root, 1)
	early := root.copiesOf(1)[0]
	root.put(task{ID: 1})
	root.grant(y, Write)
	both := root.copiesOf(2)
	one, late := both[0], both[1]
	one.grant(x, Write)
	one.revoke(x)
	one.grant(x, Write)
	must(t, one.space.Seal())
	late.put(task{ID: 2})
	early.put(task{ID: 3})
	meet(t, late, third)
	meet(t, early, fourth)
	for _, p := range []*peer{third, fourth} {
		for range 2 {
			meet(t, one, p)
		}
		if all := one.grantsTo(x); len(all) != 1 {
			t.Errorf("%d grants: %v", len(all), all)
		}
		if all := one.grantsTo(y); len(all) != 1 {
			t.Errorf("%d earlier grants: %v", len(all), all)
		}
	}
	one.revoke(x)
	if one.may(x) {
		t.Error("the grant holds after it was revoked")
	}
}

package replica

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// One of three devices loses its disk, and goes on from an old backup, or from an old copy of its
// folder, while the others have synced on with each other and with what is lost. In whatever order
// they meet then, all come to one state, and everything is there that anybody has acknowledged, and
// that was written since.
func TestRestore_ofOneOfThreeInEveryOrder(t *testing.T) {
	orders := [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, copied := range []bool{false, true} {
		for _, writes := range []bool{false, true} {
			for _, order := range orders {
				name := fmt.Sprintf("copied %v, writes %v, %v", copied, writes, order)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					restoreOneOfThree(t, copied, writes, order)
				})
			}
		}
	}
}

func restoreOneOfThree(t *testing.T, copied, writes bool, order [3]int) {
	a := newPeerIn(t, filepath.Join(t.TempDir(), "a"))
	a.allow()
	b, c := newPeer(t, a), newPeer(t, a)
	id := int64(0)
	put := func(all ...*peer) {
		for _, p := range all {
			id++
			p.put(task{ID: id, Title: "its own", Votes: 1})
			p.edit(func(v *task) { v.Votes++ })
		}
	}
	put(a)
	together(t, a, b, c)
	put(a, b, c)
	dir, old := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "old")
	must(t, a.db.Backup(t.Context(), dir))
	if copied {
		must(t, os.CopyFS(old, os.DirFS(dir)))
		a = a.copyIn(dir) // goes on in the folder, of which there is a copy
	} else {
		old = dir
	}
	meet(t, a, b) // acknowledged by b, as is what follows
	put(a, b, c)
	meet(t, a, b)
	meet(t, b, c)
	put(a)
	meet(t, a, c)
	must(t, a.db.Close()) // its disk is lost
	put(b, c)
	meet(t, b, c)
	put(b, c)
	a = a.copyIn(old)
	if writes {
		put(a)
	}
	pairs := [3][2]*peer{{a, b}, {a, c}, {b, c}}
	for range 3 {
		for _, n := range order {
			meet(t, pairs[n][0], pairs[n][1])
		}
	}
	agree(t, a, b, c)
	for _, p := range []*peer{a, b, c} {
		must(t, p.verify())
		if n := len(all(p)); n != int(id) {
			t.Errorf("%d of %d records are there", n, id)
		}
		if got := p.get(1).Votes; got != 1+int32(id) {
			t.Errorf("%d of %d increments count", got, 1+id)
		}
		if w := p.waiting(); len(w) > 0 {
			t.Errorf("%v waits", w[0])
		}
		agreeWithModel(t, p)
	}
}

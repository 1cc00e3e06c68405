package replica

import (
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// A fork at an act that outlived its pruned neighbours cannot be proven, and keeps nothing else
// from being merged.
func TestForks_atAnActThatIsKept(t *testing.T) {
	a := newPeer(t, nil)
	a.allow()
	a.update(func(tx *stoat.Tx) error { return a.space.Grant(tx, newStranger(a, 1).device(), Admin) })
	must(t, a.space.Seal())
	under := &entry.Head{Log: entry.Hash(a.logID()), Seq: a.everything()[a.logID()] - 1}
	act := func(n byte) *entry.Entry {
		e := (&entry.Act{Grant: &entry.Grant{
			Under: under, To: entry.Principal{Device: [32]byte{9, n}}, Right: entry.RightRead,
		}}).Entry()
		e.Time = hlc.At(noon.Add(time.Millisecond))
		return seeing(t, e, a)
	}
	f := newStranger(a, 1)
	first := f.begin()
	branch := f.fork()
	f.add(act(1))
	f.add(data(2, "x"))
	f.add(data(3, "y"))
	f.add(data(4, "z"))
	branch.add(act(2))
	branch.add(data(2, "other"))
	must(t, a.space.apply([]*run{first}))
	must(t, a.space.apply([]*run{f.run}))
	a.now = noon.Add(100 * 24 * time.Hour)
	a.put(task{ID: 3})
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	must(t, a.space.Prune())
	must(t, a.space.apply([]*run{branch.run}))
	other := newStranger(a, 2)
	other.add(data(5, "w"))
	must(t, a.space.apply([]*run{other.run}))
	must(t, a.space.Seal())
	b := newPeer(t, a)
	b.now = a.now
	meet(t, a, b)
	agree(t, a, b)
}

package replica

import (
	"errors"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// A device has seen what a checkpoint covers through a log that forks. Then it has not seen it any
// more, and its entries are late, whether they arrive before the proof of the fork or after it.
func TestCut_judgesLateAgain(t *testing.T) {
	for _, proofFirst := range []bool{false, true} {
		p := newPeer(t, nil)
		p.put(task{ID: 1, Title: "covered"})
		must(t, p.space.Seal())
		f := newForger(p)
		f.add(data(1, "both"))
		both := f.begin()
		g := f.fork()
		p.now = noon.Add(100 * 24 * time.Hour)
		must(t, errors.Join(p.checkpoint(), p.space.Seal()))
		if len(p.covered()) == 0 {
			t.Fatal("the checkpoint does not count")
		}
		at := func(later hlc.Time, title string, seen *forger) *run {
			e := data(0, title)
			e.Time = hlc.At(p.now) + later<<20
			if seen == nil {
				seeing(t, e, p)
				f.add(e)
				return f.run
			}
			w := p.otherForger(9)
			w.add(after(e, seen))
			return w.run
		}
		through := at(1, "the forger has seen it", nil)
		written := at(2, "written", f)
		g.add(data(4, "another branch"))
		p.now = p.now.Add(time.Hour)
		p.take(both, through)
		if proofFirst {
			p.take(g.run, written)
		} else if p.take(written); p.get(1).Title != "written" {
			t.Error("what has seen all that is covered does not count")
		}
		p.take(g.run)
		if got := p.get(1).Title; got != "covered" {
			t.Errorf("proof first %t: the title is %q", proofFirst, got)
		}
		agreeWithModel(t, p)
		p.checkVoids()
	}
}

// A cut takes back a revocation, and what that made void counts again, also if the transaction that
// cuts the log is the first one to ask for the rights.
func TestCut_isTheFirstToAskForTheRights(t *testing.T) {
	for _, known := range []bool{true, false} {
		p := newPeer(t, nil)
		f, w := newForger(p), newStranger(p, 1)
		p.update(func(tx *stoat.Tx) error { return p.space.Grant(tx, w.device(), Write) })
		p.now = noon.Add(time.Hour)
		w.add(seeing(t, titling(1, 1, "granted"), p))
		revoke := &entry.Act{Revoke: &entry.Revoke{Grant: p.grants()[0].ID.head()}}
		f.add(seeing(t, at(2, revoke.Entry()), p))
		p.take(f.run, w.run)
		if got := p.get(1); got != nil {
			t.Fatalf("before the cut, the record is %+v", got)
		}
		if !known {
			p.space.rights.all = nil
		}
		p.cutAt(f, 1)
		if got := p.get(1); got == nil || got.Title != "granted" {
			t.Errorf("rights known %t: the record is %+v", known, got)
		}
		agreeWithModel(t, p)
	}
}

package replica

import (
	"errors"
	"testing"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// A device names an entry that a checkpoint covers with a false digest, or with a time before it. A
// replica that goes by the checkpoint cannot check that, since it may have pruned the entry; one
// that does not go by it yet refuses it. In the end, both have the same, and what others write on
// top of it reaches everybody.
func TestAttack11_contextsBehindAHorizon(t *testing.T) {
	for name, ms := range map[string]int{"false digest": 5000, "too early": 500} {
		t.Run(name, func(t *testing.T) {
			a := newPeer(t, nil)
			b, c := newPeer(t, a), newPeer(t, a)
			for _, p := range []*peer{a, b, c} {
				p.now = noon.Add(100 * 24 * time.Hour) // the forgers are silent
			}
			f := newForger(a)
			f.add(data(1000, "one"))
			named := f.prev
			f.add(data(2000, "two"))
			a.take(f.begin())
			before := runsOf(t, a)
			a.put(task{ID: 2})
			must(t, errors.Join(a.checkpoint(), a.space.Seal()))
			if len(a.covered()) == 0 {
				t.Fatal("the checkpoint does not count")
			}
			g := a.otherForger(3)
			e := data(ms, "hostile")
			e.Context = []entry.Head{{Log: f.log, Seq: 1}}
			if name == "false digest" {
				named[0]++
			}
			e.Digest = entry.ContextDigest([]entry.Hash{named})
			g.add(e)
			a.take(g.run)
			for _, p := range []*peer{b, c} {
				for _, runs := range before {
					p.take(runs...)
				}
				if err := p.space.apply([]*run{g.run}); err != nil && !errors.Is(err, ErrInvalid) {
					t.Fatal(err)
				}
				if p.entriesOf(g) != 1 {
					t.Error("it is taken without the checkpoint")
				}
			}
			a.put(task{ID: 3}) // has seen it
			for _, p := range []*peer{b, c, b} {
				meet(t, a, p)
			}
			c.put(task{ID: 4})
			agreeAfter(t, a, b, c)
			for _, p := range []*peer{b, c} {
				if p.entriesOf(g) != 2 || p.get(3) == nil || len(p.waiting())+len(p.ended()) > 0 {
					t.Errorf("%v waits, %v has ended", p.waiting(), p.ended())
				}
			}
		})
	}
}

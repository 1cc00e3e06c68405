package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// checkLacks fails the test unless what a replica notes of what it lacks is what its entries lack.
func (p *peer) checkLacks() {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		lacks, err := t.lacks()
		if err != nil {
			return err
		}
		for name, number := range lacks {
			if whole, err := t.isComplete(number); err != nil || whole {
				p.t.Errorf("nothing is missing of %q: %v", name, err)
			}
		}
		for h, err := range t.eachHead() {
			if err == nil {
				err = p.checkGaps(t, h, lacks)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// checkLacks is that of all replicas.
func (h *history) checkLacks() {
	for _, p := range h.peers {
		p.checkLacks()
	}
}

// checkGaps compares the gaps of a log with its entries, read one after the other.
func (p *peer) checkGaps(t *txn, h *head, lacks map[string]uint32) error {
	p.t.Helper()
	hz, err := t.horizonOf()
	if err != nil {
		return err
	}
	first := map[string]uint64{}
	for seq := uint64(1); seq <= h.last(); seq++ {
		e, err := t.entry(h.number, seq)
		if errors.Is(err, ErrPruned) || err == nil && hz.includes(spot{h.number, seq}) {
			continue
		}
		if err != nil {
			return err
		}
		for _, name := range withheldParts(e) {
			if _, known := first[name]; !known {
				first[name] = seq
			}
			if _, lacking := lacks[name]; !lacking {
				p.t.Errorf("entry %d of log %d lacks content of %q, which is whole", seq, h.number, name)
			}
		}
	}
	for name, number := range lacks {
		gap, err := t.gap(number, h.number)
		if err != nil {
			return err
		}
		if gap != first[name] && !hz.includes(spot{h.number, gap}) && !h.voids(gap) {
			p.t.Errorf("log %d lacks content of %q from entry %d on, not %d", h.number, name,
				first[name], gap)
		}
	}
	return nil
}

// scattered returns runs of a device that write one record in each of many collections.
func scattered(p *peer, n int) []*run {
	f := newStranger(p, 1)
	for i := 0; i < n; {
		e := titling(len(f.run.entries), 1, "x")
		e = seeing(p.t, e, p)
		part := e.Parts[0]
		e.Parts = nil
		for ; len(e.Parts) < entry.PartsMax && i < n; i++ {
			part.Group = fmt.Sprintf("c%06d", i)
			e.Parts = append(e.Parts, part)
		}
		f.add(e)
	}
	return []*run{f.run}
}

// allocations returns how many allocations a function makes, as a measure of what it does.
func allocations(fn func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// lackingCosts are what it takes to have, or not to have, n collections.
type lackingCosts struct{ meets, takes, regains, gives float64 }

func costsOfLacking(t *testing.T, n int) (c lackingCosts) {
	a := newPeer(t, nil)
	a.allow()
	must(t, a.space.apply(scattered(a, n)))
	p := newPartialPeer(t, a, "tasks")
	c.meets = allocations(func() { a.syncWith(p) })
	others := flooder(a, 2, 20)
	c.takes = testing.AllocsPerRun(10, func() {
		must(t, p.space.apply([]*run{others[0].run}))
		others = others[1:]
	})
	if got := len(p.withheld()); got != n {
		t.Fatalf("it lacks %d collections instead of %d", got, n)
	}
	a.now = noon.Add(100 * 24 * time.Hour) // the others are silent
	p.now = a.now
	a.put(task{ID: 1})
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	a.syncWith(p)
	c.gives = p.costOfChunk()
	p.reopen([]string{})
	c.regains = allocations(func() { a.syncWith(p) })
	if got := p.withheld(); len(got) > 0 {
		t.Fatalf("it lacks %v", got)
	}
	agree(t, a, p)
	return c
}

// costOfChunk returns what it takes to give a chunk to who holds tasks.
func (p *peer) costOfChunk() float64 {
	p.t.Helper()
	to := p.reader()
	to.All, to.Collections = false, map[string]bool{"tasks": true}
	source := endpoint{p.space}
	o, reason, err := source.Offer(to)
	must(p.t, errors.Join(reason, err))
	tasks := session.ChunkID{Tree: len(o.Trees) - 1}
	return testing.AllocsPerRun(10, func() {
		got, err := source.Chunk(to, o.Checkpoint, tasks)
		if err != nil || len(got) == 0 {
			p.t.Fatalf("got %d bytes: %v", len(got), err)
		}
	})
}

// A replica that lacks many collections does as much for each of them as one that lacks few, and
// does not look at all of them whenever something arrives, or is asked for.
func TestLacks_costNoMoreEachWhenTheyAreMany(t *testing.T) {
	few, many := costsOfLacking(t, 200), costsOfLacking(t, 2000)
	for _, c := range []struct {
		what      string
		few, many float64
		most      float64
	}{
		{"meeting what it does not hold", few.meets, many.meets, 15},
		{"taking a log", few.takes, many.takes, 2},
		{"giving a chunk", few.gives, many.gives, 2},
		{"regaining it all", few.regains, many.regains, 15},
	} {
		if c.many > c.most*c.few {
			t.Errorf("%s: %.0f allocations at 200 collections, and %.0f at 2000", c.what, c.few, c.many)
		}
	}
}

// A gap that was left where content has arrived, as versions did that moved no gap when the end of
// the run that filled it had to wait, is moved when the content comes again.
func TestLacks_nothingOfWhatIsHere(t *testing.T) {
	a := newPeer(t, nil)
	a.allow()
	p := newPartialPeer(t, a, "others")
	a.put(task{ID: 1})
	a.put(task{ID: 2})
	a.syncWith(p)
	p.reopen([]string{})
	gaps := map[uint32]uint64{}
	read := func(t *txn) error {
		number, err := t.collectionNumber("tasks")
		if err != nil {
			return err
		}
		return t.eachGap(number, func(h *head, seq uint64) error { gaps[h.number] = seq; return nil })
	}
	p.inTx(read)
	a.syncWith(p)
	if len(gaps) != 1 || len(p.withheld()) > 0 {
		t.Fatalf("it had the gaps %v, and lacks %v", gaps, p.withheld())
	}
	p.inTx(func(t *txn) error {
		number, err := t.collectionNumber("tasks")
		if err == nil {
			err = t.setLacking("tasks", number, true)
		}
		for log, seq := range gaps {
			err = errors.Join(err, t.meta.Put(gapKey(number, log), binary.AppendUvarint(nil, seq)))
		}
		return err
	})
	a.syncWith(p)
	if got := p.withheld(); len(got) > 0 {
		t.Errorf("it lacks %v", got)
	}
	agree(t, a, p)
}

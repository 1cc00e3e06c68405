package replica

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/tuple"
)

// titling returns an entry that gives a task a title, some milliseconds after noon.
func titling(ms int, id int64, title string) *entry.Entry {
	changes := entry.Changes{Fields: []string{"title"}, Records: []entry.Record{{
		Key: tuple.AppendInt(nil, id),
		Ops: []entry.Op{{Kind: entry.OpSet, Value: tuple.AppendString(nil, title)}},
	}}}
	return &entry.Entry{Time: hlc.At(noon.Add(time.Duration(ms) * time.Millisecond)),
		Kind: entry.KindData, Parts: []entry.Part{{Group: "tasks", Data: changes.Append(nil)}}}
}

// cutAt cuts the log of a forger, and returns how many records will be replayed.
func (p *peer) cutAt(f *forger, cut uint64) (marked int) {
	p.inTx(func(n *txn) error {
		number, _, err := n.logNumber(f.log)
		if err != nil {
			return err
		}
		h, err := n.head(number)
		if err == nil {
			err = n.cutLog(h, cut)
		}
		for range n.meta.Keys(stoat.Prefix([]byte(prefixReplay))) {
			marked++
		}
		return err
	})
	return marked
}

// A device cuts its log at ever lower entries. Each time, what the void entries touched, or had
// seen of others, is replayed, and nothing else: not what was written since, nor what a higher cut
// has replayed.
func TestCut_replaysWhatIsLostOnce(t *testing.T) {
	const n, rest = 20, 50
	p := newPeer(t, nil)
	p.now = noon.Add(time.Hour)
	f, seen, follows := newForger(p), p.otherForger(1), p.otherForger(2)
	for i := range n {
		seen.add(titling(3*i+1, int64(1000+i), "seen"))
		f.add(after(titling(3*i+2, int64(i), "forger"), seen))
		follows.add(after(titling(3*i+3, int64(2000+i), "follows"), f))
	}
	for i := range rest {
		follows.add(titling(3*n+i+1, int64(3000+i), "later"))
	}
	p.take(seen.run, f.run, follows.run)
	for cut := uint64(n); cut > 0; cut-- {
		if marked := p.cutAt(f, cut); marked != 2 {
			t.Fatalf("the cut at %d replays %d records instead of 2", cut, marked)
		}
	}
	agreeWithModel(t, p)
	p.checkVoids()
}

// Logs that have seen each other write the same few records. Wherever one is cut, in whatever
// order, the state is that of the model.
func TestCut_equalsTheModel(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		p := newPeer(t, nil)
		p.now = noon.Add(time.Hour)
		logs := []*forger{newForger(p)}
		for i := range 1 + rng.IntN(4) {
			logs = append(logs, p.otherForger(byte(i+1)))
		}
		for ms := range 20 + rng.IntN(60) {
			f, other := logs[rng.IntN(len(logs))], logs[rng.IntN(len(logs))]
			e := titling(ms+1, rng.Int64N(4), string(rune('a'+ms%26)))
			if f != other && rng.IntN(3) > 0 {
				e = after(e, other)
			}
			f.add(e)
		}
		for _, f := range logs {
			if err := p.space.apply([]*run{f.run}); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		cuts := make([]uint64, len(logs))
		for range 1 + rng.IntN(6) {
			i := rng.IntN(len(logs))
			end := logs[i].seq
			if cuts[i] > 0 {
				end = cuts[i]
			}
			if end < 2 {
				continue
			}
			cuts[i] = 1 + rng.Uint64N(end-1)
			p.cutAt(logs[i], cuts[i])
			if agreeWithModel(t, p); t.Failed() {
				t.Fatalf("seed %d: after cuts at %v", seed, cuts)
			}
		}
		p.checkVoids()
		must(t, p.db.Close())
	}
}

// A device has seen its grant through a log that is cut, and writes on once it has seen it itself.
// What it wrote before is void, and the records say so.
func TestCut_takesGrantsAway(t *testing.T) {
	p := newPeer(t, nil)
	f, g := newStranger(p, 1), newStranger(p, 2)
	p.update(func(tx *stoat.Tx) error {
		return errors.Join(p.space.Grant(tx, f.device(), Write), p.space.Grant(tx, g.device(), Write))
	})
	p.now = noon.Add(time.Hour)
	f.add(seeing(t, titling(1, 1, "first"), p))
	g.add(after(titling(2, 2, "through it"), f))
	g.add(seeing(t, titling(3, 3, "itself"), p))
	p.take(f.run, g.run)
	if p.get(1) == nil || p.get(2) == nil || p.get(3) == nil {
		t.Fatal("something does not count though all of it may")
	}
	p.cutAt(f, 1)
	if p.get(1) != nil || p.get(2) != nil || p.get(3) == nil {
		t.Errorf("the records are %v, %v and %v", p.get(1), p.get(2), p.get(3))
	}
	agreeWithModel(t, p)
	p.checkVoids()
}

package replica

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// weave is entries of many logs with contexts, which a test appends to a replica.
type weave struct {
	t    testing.TB
	p    *peer
	logs []*strand
}

// strand is a log of a weave.
type strand struct {
	number uint32
	id     entry.Hash
	times  []hlc.Time
	named  [][]spot // by the contexts; log is the index of the strand
}

// newWeave returns logs that have a genesis entry each.
func newWeave(t testing.TB, rng *rand.Rand, logs int) *weave {
	w := &weave{t: t, p: newPeer(t, nil)}
	w.in(func(n *txn) error {
		for i := range logs {
			s := &strand{}
			binary.BigEndian.PutUint32(s.id[:], rng.Uint32())
			binary.BigEndian.PutUint32(s.id[4:], uint32(i))
			h, err := n.addLog(s.id, DeviceID{})
			if err != nil {
				return err
			}
			s.number = h.number
			w.logs = append(w.logs, s)
			g := entry.Genesis{}
			if err := n.append(h, g.Entry(1), g.Entry(1).Append(nil), s.id); err != nil {
				return err
			}
			s.times, s.named = append(s.times, 1), append(s.named, nil)
		}
		return nil
	})
	return w
}

// in runs a transaction.
func (w *weave) in(fn func(*txn) error) {
	w.t.Helper()
	w.p.update(func(tx *stoat.Tx) error {
		n, err := w.p.space.in(tx)
		if err != nil {
			return err
		}
		return fn(n)
	})
}

// add appends an entry to a log, a delay after what it names.
func (w *weave) add(n *txn, log int, delay hlc.Time, named ...spot) error {
	s := w.logs[log]
	e := &entry.Entry{Kind: entry.KindContext, Time: s.times[len(s.times)-1]}
	for _, at := range named {
		e.Context = append(e.Context, entry.Head{Log: w.logs[at.log].id, Seq: at.seq})
		e.Time = max(e.Time, w.logs[at.log].times[at.seq])
	}
	e.Time += delay
	slices.SortFunc(e.Context, func(a, b entry.Head) int { return bytes.Compare(a.Log[:], b.Log[:]) })
	s.times, s.named = append(s.times, e.Time), append(s.named, named)
	h, err := n.head(s.number)
	if err != nil {
		return err
	}
	return n.append(h, e, e.Append(nil), entry.Hash{1})
}

// head returns the last entry of a log.
func (w *weave) head(log int) spot { return spot{uint32(log), uint64(len(w.logs[log].times) - 1)} }

// past returns how many entries of each log are in the past of an entry, by visiting all of it.
func (w *weave) past(at spot, cuts map[uint32]uint64) []uint64 {
	counts := make([]uint64, len(w.logs))
	var visit func(at spot)
	visit = func(at spot) {
		from := counts[at.log]
		counts[at.log] = max(from, at.seq+1)
		for seq := from; seq <= at.seq; seq++ {
			for _, named := range w.logs[at.log].named[seq] {
				if cut := cuts[named.log]; cut > 0 {
					named.seq = min(named.seq, cut-1)
				}
				visit(named)
			}
		}
	}
	visit(at)
	return counts
}

// any returns an entry of a log: mostly one of the last.
func (w *weave) any(rng *rand.Rand, log int) spot {
	n := len(w.logs[log].times)
	if rng.IntN(4) > 0 {
		n = max(1, min(n, rng.IntN(4)+1))
		return spot{uint32(log), uint64(len(w.logs[log].times) - n)}
	}
	return spot{uint32(log), uint64(rng.IntN(n))}
}

// check compares what walks find with all pasts.
func (w *weave) check(n *txn, rng *rand.Rand, cuts map[uint32]uint64) error {
	for range 30 {
		at := w.any(rng, rng.IntN(len(w.logs)))
		if cut := cuts[at.log]; cut > 0 {
			at.seq = min(at.seq, cut-1)
		}
		want := w.past(at, cuts)
		known := spot{w.logs[at.log].number, at.seq}
		p, err := n.pastOf(known)
		if err != nil {
			return err
		}
		for range 6 {
			to := w.any(rng, rng.IntN(len(w.logs)))
			s := w.logs[to.log]
			got, err := p.has(spot{s.number, to.seq}, s.times[to.seq])
			if err != nil {
				return err
			}
			if got != (want[to.log] > to.seq) {
				w.t.Errorf("%v in the past of %v: got %t", to, at, got)
			}
		}
		v, err := n.vectorOf(known)
		if err != nil {
			return err
		}
		for i, s := range w.logs {
			if v[s.number] != want[i] {
				w.t.Errorf("the vector of %v has %d entries of %d, not %d", at, v[s.number], i, want[i])
			}
		}
	}
	return nil
}

// checkImplied compares the heads that imply others with all pasts.
func (w *weave) checkImplied(n *txn, rng *rand.Rand) error {
	var heads []*head
	var logs []int
	for _, i := range rng.Perm(len(w.logs))[:1+rng.IntN(len(w.logs))] {
		h, err := n.head(w.logs[i].number)
		if err != nil {
			return err
		}
		heads, logs = append(heads, h), append(logs, i)
	}
	implied, err := n.implied(heads)
	if err != nil {
		return err
	}
	for i, log := range logs {
		want := false
		for _, other := range logs {
			want = want || other != log && w.past(w.head(other), nil)[log] > w.head(log).seq
		}
		if got := implied(heads[i]); got != want {
			w.t.Errorf("the head of %d is implied by %v: got %t", log, logs, got)
		}
	}
	return nil
}

// What a walk finds is what happened before: whatever the contexts, in whatever order entries are
// asked for, with stored vectors and without, and behind cuts.
func TestPast_equalsAVisitOfAll(t *testing.T) {
	for range 12 {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		w := newWeave(t, rng, 2+rng.IntN(12))
		for range 8 {
			w.in(func(n *txn) error {
				for range 60 {
					log := rng.IntN(len(w.logs))
					var named []spot
					for _, other := range rng.Perm(len(w.logs))[:rng.IntN(min(4, len(w.logs)))] {
						if other != log {
							named = append(named, w.any(rng, other))
						}
					}
					if err := w.add(n, log, 1+hlc.Time(rng.IntN(3)), named...); err != nil {
						return err
					}
				}
				return w.check(n, rng, nil)
			})
		}
		w.in(func(n *txn) error { return w.checkImplied(n, rng) })
		w.in(func(n *txn) error {
			cuts := map[uint32]uint64{}
			from := ^hlc.Time(0)
			for range 2 {
				at := w.any(rng, rng.IntN(len(w.logs)))
				if at.seq == 0 {
					continue
				}
				cuts[at.log] = at.seq
				h, err := n.head(w.logs[at.log].number)
				if err != nil {
					return err
				}
				h.cut = at.seq
				from = min(from, w.logs[at.log].times[at.seq])
				if err := n.putHead(h); err != nil {
					return err
				}
			}
			if err := n.renewVectors(from); err != nil {
				return err
			}
			return w.check(n, rng, cuts)
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// shapes are histories of many logs: what each adds, in order, and the most steps that a walk from
// the last entry of all may take that seeks the first entry of a log that it has not seen.
var shapes = []struct {
	name  string
	logs  int
	most  int
	build func(add func(log int, named ...int), logs int)
}{
	{"two busy logs", 3, 2*vectorStep + 1, func(add func(int, ...int), _ int) {
		for i := range 6000 {
			add(i%2, 1-i%2)
		}
	}},
	{"star", 202, 3 * 202, func(add func(int, ...int), logs int) {
		for i := range 4000 {
			client := 1 + i%(logs-2)
			add(client, 0)
			add(0, client)
		}
	}},
	{"gossip", 102, 3 * 102, func(add func(int, ...int), logs int) {
		rng := rand.New(rand.NewPCG(1, 2))
		for range 6000 {
			if a, b := rng.IntN(logs-1), rng.IntN(logs-1); a != b {
				add(a, b)
			}
		}
	}},
	{"chain", 3000, 3000, func(add func(int, ...int), logs int) {
		for i := 1; i < logs-1; i++ {
			add(i, i-1)
		}
	}},
}

// build makes a history of a shape and returns the last entry.
func (w *weave) build(n *txn, shape func(add func(int, ...int), logs int)) (last spot, err error) {
	shape(func(log int, named ...int) {
		var spots []spot
		for _, other := range named {
			spots = append(spots, w.head(other))
		}
		if err == nil {
			err = w.add(n, log, 1, spots...)
		}
		last = spot{w.logs[log].number, w.head(log).seq}
	}, len(w.logs))
	return last, err
}

// Whatever the shape of a history, a walk is short, and so are stored vectors.
func TestPast_costsLittle(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			w := newWeave(t, rand.New(rand.NewPCG(1, 0)), shape.logs)
			w.in(func(n *txn) error {
				last, err := w.build(n, shape.build)
				if err != nil {
					return err
				}
				p, err := n.pastOf(last)
				if err != nil {
					return err
				}
				unseen := w.logs[shape.logs-1]
				found, err := p.has(spot{unseen.number, 0}, unseen.times[0])
				if found || p.steps > shape.most {
					t.Errorf("%t after %d steps", found, p.steps)
				}
				heads, stored := 0, 0
				for _, s := range w.logs {
					for _, named := range s.named {
						heads += len(named)
					}
				}
				for _, v := range n.meta.Scan(stoat.Prefix([]byte(prefixVector))) {
					stored += len(v)
				}
				if stored > 24*heads {
					t.Errorf("the vectors have %d bytes for %d heads", stored, heads)
				}
				t.Logf("%d steps, %d bytes of vectors for %d heads", p.steps, stored, heads)
				return err
			})
		})
	}
}

// The entries of a batch that all lack one entry do not each walk back to it.
func TestPast_remembersWhatIsUnseen(t *testing.T) {
	w := newWeave(t, rand.New(rand.NewPCG(1, 0)), 1000)
	w.in(func(n *txn) error {
		steps := 0
		unseen := w.logs[len(w.logs)-1]
		for i := 1; i < len(w.logs)-1; i++ {
			if err := w.add(n, i, 1, w.head(i-1)); err != nil {
				return err
			}
			p, err := n.pastOf(spot{w.logs[i].number, 1})
			if err != nil {
				return err
			}
			found, err := p.has(spot{unseen.number, 0}, unseen.times[0])
			if err != nil || found {
				t.Fatal(found, err)
			}
			steps += p.steps
		}
		if steps > 10 {
			t.Errorf("%d steps", steps)
		}
		return nil
	})
}

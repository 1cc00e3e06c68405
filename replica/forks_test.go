package replica

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/model"
)

// fork returns a forger of another branch of the log, from its next entry on.
func (f *forger) fork() *forger {
	branch := *f
	branch.begin()
	return &branch
}

// begin starts a new run of the log.
func (f *forger) begin() *run {
	r, prev := f.run, f.prev
	f.run = &run{log: f.log, first: f.seq, prev: &prev}
	return r
}

// take applies runs, one after the other, each in a call of its own.
func (p *peer) take(runs ...*run) {
	p.t.Helper()
	for _, r := range runs {
		if err := p.space.apply([]*run{r}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// agreeWithModel compares a replica with the model, in which logs are cut where the replica cuts
// them, and what is repeated counts once.
func agreeWithModel(t *testing.T, p *peer) {
	t.Helper()
	facts := factsOf(p)
	cuts := map[entry.Hash]uint64{}
	p.inTx(func(n *txn) error {
		heads, err := n.allHeads()
		for _, h := range heads {
			if h.cut > 0 {
				cuts[h.id] = h.cut
			}
		}
		return err
	})
	about := p.about()
	facts = model.Cut(facts, cuts)
	rights, err := model.NewRights(about, facts)
	if err != nil {
		t.Fatal(err)
	}
	counting, err := rights.Counting(facts)
	if err != nil {
		t.Fatal(err)
	}
	want, err := model.Root(p.space.id, about, counting)
	if err != nil {
		t.Fatal(err)
	}
	if p.root() != want {
		t.Errorf("after %d entries and %d cuts, the root is not that of the model", len(facts),
			len(cuts))
	}
}

// Proofs of one log, the runs of its branches and those of a log that follows them arrive in every
// order: the least cut counts, and the state is always the same.
func TestForks_inEveryOrder(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	f := newForger(p)
	f.add(data(1, "a"))
	first := f.begin()
	f.add(data(2, "b"))
	second := f.begin()
	late := f.fork()
	f.add(data(3, "c"))
	third := f.begin()
	late.add(data(4, "other"))
	early := newForger(p)
	early.add(data(1, "a"))
	early.begin()
	early.add(data(2, "another"))
	early.add(data(5, "more"))
	follows := p.otherForger(9) // which has seen the branch "other"
	e := data(9, "follows")
	e.Context = []entry.Head{{Log: f.log, Seq: 3}}
	e.Digest = entry.ContextDigest([]entry.Hash{late.prev})
	follows.add(e)
	runs := []*run{first, second, third, late.run, early.run, follows.run}
	var want [32]byte
	n := 0
	var visit func(left []*run, order []*run)
	visit = func(left, order []*run) {
		if len(left) > 0 {
			for i := range left {
				rest := append(append([]*run{}, left[:i]...), left[i+1:]...)
				visit(rest, append(order[:len(order):len(order)], left[i]))
			}
			return
		}
		if n++; testing.Short() && n%13 != 1 {
			return
		}
		q := newPeer(t, p)
		q.now = noon.Add(time.Minute)
		for range 2 { // what was dropped because nothing was known of its branch comes again
			q.take(order...)
		}
		root := q.root()
		if n == 1 {
			want = root
			agreeWithModel(t, q)
		}
		w := q.waiting()
		if cut := q.cutOf(f.log); cut != 2 || root != want || len(w) > 0 {
			t.Fatalf("order %d: cut at %d, %d wait", n, cut, len(w))
		}
		_ = q.db.Close()
	}
	visit(runs, nil)
}

// An entry names one of a branch that arrives later than another one, whose entry has a greater
// time than it. It waits for the fork proof and is not refused.
func TestForks_entryWaitsForTheBranchThatItNames(t *testing.T) {
	p := newPeer(t, nil)
	p.now = noon.Add(time.Minute)
	f := newForger(p)
	f.add(data(1, "both"))
	both := f.begin()
	g := f.fork()
	f.add(data(8, "later"))
	g.add(data(2, "named"))
	follows := p.otherForger(9)
	e := data(5, "follows")
	e.Context = []entry.Head{{Log: f.log, Seq: 2}}
	e.Digest = entry.ContextDigest([]entry.Hash{g.prev})
	follows.add(e)
	p.take(both, f.run, follows.run)
	w := p.waiting()
	if len(w) != 1 || !strings.Contains(w[0].Reason.Error(), errDigest.Error()) {
		t.Errorf("what waits is %v", w)
	}
	p.take(g.run)
	if w = p.waiting(); len(w) > 0 || p.cutOf(f.log) != 2 || p.get(1).Title != "follows" {
		t.Errorf("%v waits, the log is cut at %d, and the record is %+v", w, p.cutOf(f.log), p.get(1))
	}
	agreeWithModel(t, p)
}

// An entry is refused since its time is before the one that it names, whose log is cut before that
// one later. It is taken then, as it is by a replica that has learned of the cut first.
func TestForks_entryIsRefusedBeforeTheCut(t *testing.T) {
	for _, cutFirst := range []bool{false, true} {
		p := newPeer(t, nil)
		p.now = noon.Add(time.Minute)
		f := newForger(p)
		f.add(data(1, "both"))
		both := f.begin()
		g := f.fork()
		f.add(data(8, "later"))
		g.add(data(2, "other"))
		follows := p.otherForger(9)
		e := data(5, "follows")
		e.Context = []entry.Head{{Log: f.log, Seq: 2}}
		e.Digest = entry.ContextDigest([]entry.Hash{f.prev})
		follows.add(e)
		p.take(both, f.run)
		if cutFirst {
			p.take(g.run)
		}
		err := p.space.apply([]*run{follows.run})
		if errors.Is(err, ErrInvalid) == cutFirst {
			t.Errorf("got %v", err)
		}
		p.take(g.run)
		if p.cutOf(f.log) != 2 || p.get(1).Title != "follows" {
			t.Errorf("the log is cut at %d, and the record is %+v", p.cutOf(f.log), p.get(1))
		}
		agreeWithModel(t, p)
	}
}

// Of proofs about what a checkpoint covers, the least one is kept, too, whatever comes first.
func TestForks_leastProofBehindACheckpoint(t *testing.T) {
	for _, leastFirst := range []bool{false, true} {
		p := newPeer(t, nil)
		p.now = noon.Add(100 * 24 * time.Hour) // the forger is silent
		f := newForger(p)
		f.add(data(1, "both"))
		first := f.begin()
		early := f.fork()
		f.add(data(2, "a"))
		second := f.begin()
		late := f.fork()
		f.add(data(3, "b"))
		early.add(data(4, "other"))
		late.add(data(4, "other"))
		p.take(first, second, f.run)
		p.put(task{ID: 2})
		if err := errors.Join(p.checkpoint(), p.space.Seal()); err != nil {
			t.Fatal(err)
		}
		if len(p.covered()) == 0 {
			t.Fatal("the checkpoint does not count")
		}
		if leastFirst {
			p.take(early.run, late.run)
		} else {
			p.take(late.run, early.run)
		}
		p.inTx(func(tr *txn) error {
			number, _, err := tr.logNumber(f.log)
			if err != nil {
				return err
			}
			h, err := tr.head(number)
			if err != nil {
				return err
			}
			if least, err := tr.hasProof(h, 2); err != nil || !least {
				t.Errorf("least first %t: the least proof is not kept (%v)", leastFirst, err)
			}
			return nil
		})
		if p.get(1).Title != "b" {
			t.Error("what the checkpoint covers does not count")
		}
	}
}

// A file carries proofs of forks, and both branches to the device that issues them again.
func TestExport_carriesForkProofs(t *testing.T) {
	a, b, c, f, g := forked(t)
	for range 2 {
		meet(t, a, b)
	}
	var file bytes.Buffer
	if err := Export(t.Context(), a.space, &file); err != nil {
		t.Fatal(err)
	}
	if err := Import(t.Context(), c.space, bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	agree(t, a, b, c)
	if c.cutOf(f.log) != 2 {
		t.Error("the file has no proof")
	}
	again := newPeer(t, a) // which has the other branch
	again.take(g.run)
	if err := Import(t.Context(), again.space, bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	agree(t, a, again)
}

// History shows what arrived behind a cut with the reason why it does not count, and nothing fails
// because of what is behind a cut and cannot be read.
func TestForks_leaveHistoryReadable(t *testing.T) {
	a := newPeer(t, nil)
	b, c := newPeer(t, a), newPeer(t, a)
	f, g := newForger(a), newForger(a) // one run each, so that its seal is behind the cut
	f.add(data(1, "both"))
	g.add(data(1, "both"))
	f.add(data(2, "void"))
	g.add(data(3, "void"))
	a.take(f.run)
	b.take(g.run)
	for range 2 {
		meet(t, a, b)
	}
	meet(t, a, c)
	unreadable := data(4, "void")
	unreadable.Parts[0].Data = []byte{0xff}
	c.inTx(func(t *txn) error {
		number, _, err := t.logNumber(f.log)
		if err != nil {
			return err
		}
		h, err := t.head(number)
		if err != nil {
			return err
		}
		for _, e := range []*entry.Entry{unreadable, data(5, "void")} {
			at := entry.Place{Space: c.space.id, Log: h.id, Seq: h.next, Prev: h.hash}
			if err := t.appendVoid(h, e, e.Append(nil), e.Hash(&at)); err != nil {
				return err
			}
		}
		return nil
	})
	for p, want := range map[*peer]int{a: 2, b: 2, c: 3} {
		var titles []string
		err := p.db.View(func(tx *stoat.Tx) error {
			for r, err := range p.space.History(tx, "tasks", int64(1)) {
				if err != nil {
					return err
				}
				if strings.Contains(r.Void, "branches") != (r.Fields[0].Value == "void") {
					t.Errorf("entry %d: void: %q", r.Seq, r.Void)
				}
				titles = append(titles, r.Fields[0].Value.(string))
			}
			return nil
		})
		if err != nil || len(titles) != want || titles[0] != "both" {
			t.Errorf("the history is %q (%v)", titles, err)
		}
		if r := p.revert(Filter{From: noon}); r.Records != 1 {
			t.Errorf("reverted %+v", r)
		}
	}
}

// Of entries behind a cut, which a replica takes because a seal before the cut depends on them,
// only the chain and the seal are checked: their times are in any order.
func TestVerify_allowsAnyTimesBehindACut(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	f, g := newForger(a), newForger(a)
	begin := f.begin()
	f.add(data(1, "both"))
	g.add(data(1, "both"))
	g.add(data(3, "void"))
	branch := *f
	branch.run = &run{log: f.log, first: 1, entries: f.run.entries[:1:1]}
	branch.add(data(9, "void"))
	branch.add(data(4, "void, and back in time"))
	f.add(data(9, "void"))
	a.take(begin, f.run, g.run)
	b.take(begin)
	var proof []byte
	a.inTx(func(t *txn) error {
		number, _, err := t.logNumber(f.log)
		if err == nil {
			proof, err = t.meta.Get(keyed(nil, prefixProof, number))
		}
		return err
	})
	must(t, endpoint{b.space}.Prove(append([]byte{}, proof...)))
	b.take(branch.run)
	if n := b.entriesOf(f); n != 4 {
		t.Errorf("%d entries are here", n)
	}
	must(t, b.verify())
	agree(t, a, b)
}

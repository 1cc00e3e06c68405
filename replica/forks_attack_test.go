package replica

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/fork"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// forked returns three peers, of which the first two have met different branches of a log of the
// forger f. The log has the entry "both" in common; g is the other branch.
func forked(t *testing.T) (a, b, c *peer, f, g *forger) {
	t.Helper()
	a = newPeer(t, nil)
	b, c = newPeer(t, a), newPeer(t, a)
	f = newForger(a)
	f.add(data(1, "both"))
	a.take(f.run)
	b.take(f.begin())
	g = f.fork()
	f.add(data(2, "to a"))
	g.add(data(3, "to b"))
	a.take(f.run)
	b.take(g.run)
	return a, b, c, f, g
}

// A device shows different branches of its log to two peers. When they meet, or someone else meets
// both, the log ends where the branches part, on all replicas; and logs that followed a branch go
// on.
func TestAttack04_twoBranches(t *testing.T) {
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		a, b, c, f, _ := forked(t)
		for _, p := range []*peer{a, b} { // both follow what they saw
			p.now = noon.Add(time.Second)
			p.edit(func(v *task) { v.Note, v.Votes = v.Title, v.Votes+1 })
			p.put(task{ID: 2, Tags: []string{p.get(1).Title}})
		}
		pairs := [3][2]*peer{{a, b}, {b, c}, {a, c}}
		for range 3 {
			for _, i := range order {
				for _, p := range pairs[i] {
					p.now = noon.Add(time.Minute)
				}
				meet(t, pairs[i][0], pairs[i][1])
			}
		}
		agree(t, a, b, c)
		for _, p := range []*peer{a, b, c} {
			agreeWithModel(t, p)
			p.checkVoids()
			if cut := p.cutOf(f.log); cut != 2 {
				t.Errorf("order %v: the log is cut at %d", order, cut)
			}
			if w := p.waiting(); len(w) > 0 {
				t.Errorf("order %v: %v still waits", order, w[0])
			}
			if got := p.get(1); got.Title != "both" || got.Votes != 2 {
				t.Errorf("order %v: the record is %+v", order, got)
			}
		}
	}
}

// Nobody but the device can make a fork proof.
func TestAttack05_forgedFork(t *testing.T) {
	p := newPeer(t, nil)
	f := newForger(p)
	f.add(data(1, "a"))
	p.take(f.begin())
	g, before := f.fork(), f.prev
	f.add(data(2, "b"))
	p.take(f.run)
	other := newForger(p)
	other.key = p.space.device.key // a member, which is not the device of the log
	g.key = other.key
	g.add(data(2, "c"))
	root := p.root()
	if err := p.space.apply([]*run{g.run}); err == nil {
		t.Error("a branch with a forged seal is accepted")
	}
	var genesis []byte
	p.inTx(func(n *txn) error {
		number, _, err := n.logNumber(f.log)
		if err == nil {
			genesis, err = n.sent(number, 0)
		}
		genesis = bytes.Clone(genesis)
		return err
	})
	sides := [2]fork.Side{{Entries: f.run.entries, Seal: f.run.seal},
		{Entries: g.run.entries, Seal: g.run.seal}}
	for _, prev := range []entry.Hash{{}, before} {
		proof, err := fork.New(p.space.id, f.log, genesis, 2, prev, sides)
		if err != nil {
			t.Fatal(err)
		}
		if err := (endpoint{p.space}).Prove(proof.Append(nil)); err == nil {
			t.Error("a forged proof is accepted")
		}
	}
	if p.cutOf(f.log) != 0 || p.root() != root {
		t.Error("the log is cut")
	}
}

// A context that names entries that do not exist waits in bounded room, and keeps nothing else from
// being merged; one that is too wide is refused.
func TestAttack11_contexts(t *testing.T) {
	p := newPeer(t, nil)
	f := newForger(p)
	f.add(data(1, "good"))
	p.take(f.begin())
	root := p.root()
	many := make([]*run, 0, 40)
	for i := range 40 {
		g := p.otherForger(byte(i + 1))
		e := data(2, "follows nothing")
		e.Context = []entry.Head{{Log: entry.Hash{byte(i), 1}, Seq: 7}}
		g.add(e)
		e = data(3, "")
		e.Parts[0].Data = make([]byte, 1<<19)
		e.Parts[0].Data[0] = 9 // whatever it is
		g.add(e)
		many = append(many, g.run)
	}
	before := p.root()
	for range 8 { // as often as the peer likes
		if err := p.space.apply(many); err != nil {
			t.Fatal(err)
		}
	}
	p.space.mu.Lock()
	size, n := p.space.room.size, len(p.space.room.runs)
	p.space.mu.Unlock()
	if size > roomSpace || n > roomRuns {
		t.Errorf("%d bytes in %d runs wait", size, n)
	}
	if p.root() != before {
		t.Error("something counts")
	}
	f.add(data(5, "still good"))
	p.take(f.run)
	if p.get(1).Title != "still good" || p.root() == root {
		t.Error("others are not merged")
	}
	wide := p.otherForger(99)
	e := data(2, "x")
	for i := range entry.ContextMax + 1 {
		e.Context = append(e.Context, entry.Head{Log: entry.Hash{byte(i)}})
	}
	wide.add(e)
	if err := p.space.apply([]*run{wide.run}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a context of %d heads: %v", len(e.Context), err)
	}
}

// otherForger starts another log of the forger's device.
func (p *peer) otherForger(incarnation byte) *forger {
	f := newForger(p)
	f.run, f.seq, f.log, f.prev = &run{}, 0, entry.Hash{}, entry.Hash{}
	g := entry.Genesis{Device: f.device(), Incarnation: [16]byte{incarnation}}
	f.add(g.Entry(hlc.At(noon)))
	return f
}

// Somebody puts an older copy of the folder back. What the device had given to others comes back
// from them, what it writes meanwhile is kept, and its log does not fork.
func TestAttack24_olderFolder(t *testing.T) {
	for _, writes := range []bool{false, true} {
		dir, older := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "older")
		a := newPeerIn(t, dir)
		b := newPeer(t, a)
		a.put(task{ID: 1, Votes: 1})
		meet(t, a, b)
		if err := a.db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(older, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		a = a.copyIn(dir)
		log := a.logID()
		a.edit(func(v *task) { v.Title, v.Votes = "newer", v.Votes+10 })
		meet(t, a, b)
		if err := a.db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(older)); err != nil {
			t.Fatal(err)
		}
		a = a.copyIn(dir)
		want := int32(11)
		if writes {
			a.edit(func(v *task) { v.Note, v.Votes = "meanwhile", v.Votes+100 })
			want = 111
		}
		meet(t, a, b)
		agree(t, a, b)
		if got := b.get(1); got.Votes != want || got.Title != "newer" {
			t.Errorf("the record is %+v", got)
		}
		if b.cutOf(entry.Hash(log)) != 0 {
			t.Error("the log forks")
		}
		if a.logID() == log {
			t.Error("the log goes on")
		}
		agreeWithModel(t, b)
	}
}

// The files of a replica are damaged: the database says so, and a new one gets everything back that
// others have.
func TestAttack24_damagedFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	a := newPeerIn(t, dir)
	b := newPeer(t, a)
	for i := range int64(50) {
		a.put(task{ID: i, Title: "task"})
	}
	meet(t, a, b)
	if err := a.db.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if info, err := file.Info(); err == nil && info.Size() > 100 {
			if err := os.Truncate(filepath.Join(dir, file.Name()), info.Size()/2); err != nil {
				t.Fatal(err)
			}
		}
	}
	if db, err := stoat.Open(dir, nil); err == nil {
		s, err := Open(db, "team", a.options())
		if err == nil && len(all(&peer{t: t, db: db, space: s, tasks: a.tasks})) == 50 {
			t.Error("nobody notices")
		}
		_ = db.Close()
	}
	again := newPeer(t, b)
	meet(t, again, b)
	agree(t, again, b)
	if len(all(again)) != 50 {
		t.Error("records are lost")
	}
}

package replica

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// forger writes a log by hand.
type forger struct {
	key   ed25519.PrivateKey
	space entry.Hash
	log   entry.Hash
	seq   uint64
	prev  entry.Hash
	run   *run
}

// newForger starts a log of a device of its own in the space of a replica.
func newForger(p *peer) *forger {
	f := &forger{key: ed25519.NewKeyFromSeed(make([]byte, 32)), space: p.space.id, run: &run{}}
	g := entry.Genesis{Device: [32]byte(f.key[32:])}
	f.add(g.Entry(hlc.At(noon)))
	return f
}

// add appends an entry and seals it.
func (f *forger) add(e *entry.Entry) {
	hash := e.Hash(&entry.Place{Space: f.space, Log: f.log, Seq: f.seq, Prev: f.prev})
	if f.seq == 0 {
		f.log, f.run.log = hash, hash
	}
	f.run.entries = append(f.run.entries, e.Append(nil))
	f.run.seal = [64]byte(ed25519.Sign(f.key, entry.AppendSealed(nil, &f.space, &f.log, f.seq, &hash)))
	f.seq, f.prev = f.seq+1, hash
}

// data returns an entry that gives task 1 a title, some milliseconds after noon.
func data(ms int, title string) *entry.Entry { return titling(ms, 1, title) }

func TestApply_acceptsAForgerInItsOwnName(t *testing.T) {
	p := newPeer(t, nil)
	f := newForger(p)
	f.add(data(1, "a"))
	if err := p.space.apply([]*run{f.run}); err != nil || p.get(1).Title != "a" {
		t.Errorf("got %v", err)
	}
}

// What is not valid is refused, and the records stay as they are.
func TestApply_refusesWhatIsNotValid(t *testing.T) {
	for name, forge := range map[string]func(f *forger){
		"a bit of a part":     func(f *forger) { last(f.run)[len(last(f.run))-2] ^= 1 },
		"a bit of the header": func(f *forger) { last(f.run)[4] ^= 1 },
		"a bit of the seal":   func(f *forger) { f.run.seal[33] ^= 1 },
		"another log":         func(f *forger) { f.run.log[3] ^= 1 },
		"a missing entry":     func(f *forger) { f.run.entries = f.run.entries[1:] },
		"no entries":          func(f *forger) { f.run.entries = nil },
		"too many entries":    func(f *forger) { f.run.entries = make([][]byte, runEntries+1) },
		"another space": func(f *forger) {
			f.space[0] ^= 1
			f.add(data(2, "x"))
		},
		"another device": func(f *forger) {
			f.key = ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", 32)))
			f.add(data(2, "x"))
		},
		"an entry of the same time": func(f *forger) { f.add(data(1, "x")) },
		"an entry of an earlier time": func(f *forger) {
			f.add(data(2, "x"))
			f.add(data(1, "y"))
		},
		"a second genesis": func(f *forger) { f.add((&entry.Genesis{}).Entry(hlc.At(noon) + 1<<20)) },
		"no parts":         func(f *forger) { f.add(&entry.Entry{Time: hlc.At(noon) + 1<<20, Kind: 1}) },
		"an empty context": func(f *forger) { f.add(&entry.Entry{Time: hlc.At(noon) + 1<<20, Kind: 2}) },
		"a context of its own log": func(f *forger) {
			e := data(2, "x")
			e.Context = []entry.Head{{Log: f.log, Seq: 0}}
			f.add(e)
		},
		"more than the space allows": func(f *forger) { f.add(data(2, strings.Repeat("x", 1<<20))) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, nil)
			f := newForger(p)
			f.add(data(1, "a"))
			forge(f)
			if err := p.space.apply([]*run{f.run}); !errors.Is(err, ErrInvalid) {
				t.Errorf("got %v", err)
			}
			if v := p.get(1); v != nil && v.Title != "a" && v.Title != "x" {
				t.Errorf("got %+v", v)
			}
			if w := p.waiting(); len(w) > 0 {
				t.Errorf("it waits: %v", w[0])
			}
		})
	}
}

// A part whose content is none is void, and nothing else is: replicas that do not hold its
// collection cannot see that.
func TestApply_voidsPartsWithoutChanges(t *testing.T) {
	p := newPeer(t, nil)
	f := newForger(p)
	f.add(data(1, "a"))
	e := data(2, "x")
	e.Parts[0].Data = append(e.Parts[0].Data, 0)
	e.Parts = append(e.Parts, entry.Part{Group: "trash", Data: []byte("trash")})
	f.add(e)
	f.add(data(3, "b"))
	if err := p.space.apply([]*run{f.run}); err != nil || p.get(1).Title != "b" {
		t.Fatalf("got %v, %v", p.get(1), err)
	}
	err := p.db.View(func(tx *stoat.Tx) error {
		n := 0
		for v, err := range p.space.Void(tx) {
			if err != nil {
				return err
			}
			n++
			if v.Seq != 2 || len(v.Collections) != 2 || !strings.Contains(v.Reason, "not valid") {
				t.Errorf("got %+v", v)
			}
		}
		if n != 1 {
			t.Errorf("%d entries are void", n)
		}
		return nil
	})
	must(t, err)
	p.update(func(tx *stoat.Tx) error {
		a, err := p.space.Adopt(tx, LogID(f.log), 0, 9)
		if a.Entries != 0 {
			t.Errorf("adopted %+v", a)
		}
		return err
	})
}

// A record that a collection cannot hold does not keep others from being merged, and the stored one
// stays.
func TestApply_keepsWhatACollectionCannotHold(t *testing.T) {
	p := newPeer(t, nil)
	f := newForger(p)
	f.add(data(1, "short"))
	p.take(f.begin())
	f.add(data(2, strings.Repeat("x", 70_000))) // the title is indexed
	if err := p.space.apply([]*run{f.run}); err != nil {
		t.Fatal(err)
	}
	if v := p.get(1); v == nil || v.Title != "short" {
		t.Errorf("got %+v", v)
	}
	if len(factsOf(p)) != 4 {
		t.Error("an entry is missing")
	}
	p.edit(func(v *task) { v.Votes++ })
	other := newPeer(t, p)
	meet(t, p, other)
	agree(t, p, other)
}

func last(r *run) []byte { return r.entries[len(r.entries)-1] }

// A context binds what it names: its time, its existence and its bytes.
func TestApply_checksContexts(t *testing.T) {
	for name, c := range map[string]struct {
		ms     int
		seq    uint64
		digest byte
		waits  bool
	}{
		"good":                     {6, 1, 0, false},
		"a time that is not after": {5, 1, 0, false},
		"another digest":           {6, 1, 1, true}, // a fork proof could explain it
		"an entry that is missing": {6, 2, 0, true},
	} {
		p := newPeer(t, nil)
		other := newForger(p)
		other.add(data(5, "other"))
		if err := p.space.apply([]*run{other.run}); err != nil {
			t.Fatal(err)
		}
		f := &forger{key: other.key, space: p.space.id, run: &run{}}
		f.add((&entry.Genesis{Device: [32]byte(f.key[32:]),
			Incarnation: [16]byte{byte(len(name))}}).Entry(hlc.At(noon)))
		e := data(c.ms, "x")
		e.Context = []entry.Head{{Log: other.log, Seq: c.seq}}
		e.Digest = entry.ContextDigest([]entry.Hash{other.prev})
		e.Digest[0] ^= c.digest
		f.add(e)
		err := p.space.apply([]*run{f.run})
		invalid := name != "good" && !c.waits
		if errors.Is(err, ErrInvalid) != invalid || len(p.waiting()) > 0 != c.waits {
			t.Errorf("%s: %v, %v", name, err, p.waiting())
		}
	}
}

func TestApply_letsEntriesAheadOfTheClockWait(t *testing.T) {
	p := newPeer(t, nil)
	f := newForger(p)
	f.add(data(6*60*1000, "ahead"))
	if err := p.space.apply([]*run{f.run}); err != nil || p.get(1) != nil {
		t.Errorf("got %v", err)
	}
	if w := p.waiting(); len(w) != 1 || !errors.Is(w[0].Reason, errAhead) {
		t.Errorf("got %v", w)
	}
	p.now = noon.Add(2 * time.Minute)
	if err := p.space.apply(nil); err != nil || p.get(1) == nil || len(p.waiting()) > 0 {
		t.Errorf("got %v, %v", err, p.waiting())
	}
	p.put(task{ID: 2}) // after everything that it has seen
	facts := factsOf(p)
	if facts[1].Entry.Time <= hlc.At(noon.Add(6*time.Minute)) {
		t.Error("the clock was not raised")
	}
}

// A log that needs a newer version waits, with what depends on it; others go on.
func TestApply_letsNewerEntriesWait(t *testing.T) {
	p := newPeer(t, nil)
	f := newForger(p)
	e := data(1, "x")
	e.Kind = 9
	f.add(e)
	if err := p.space.apply([]*run{f.run}); err != nil {
		t.Errorf("got %v", err)
	}
	if w := p.waiting(); len(w) != 1 || !errors.Is(w[0].Reason, ErrNewer) {
		t.Errorf("got %v", w)
	}
}

func TestApply_detectsForks(t *testing.T) {
	p := newPeer(t, nil)
	a, b := newForger(p), newForger(p)
	a.add(data(1, "a"))
	b.add(data(1, "b"))
	b.add(data(2, "c"))
	if err := p.space.apply([]*run{a.run}); err != nil {
		t.Fatal(err)
	}
	if p.get(1) == nil {
		t.Error("the first branch does not count as long as it is the only one")
	}
	behind := &run{log: b.log, first: 2, entries: b.run.entries[2:], seal: b.run.seal}
	for range 2 {
		if err := p.space.apply([]*run{b.run, behind}); err != nil {
			t.Errorf("got %v", err)
		}
		if err := p.space.apply([]*run{behind}); err != nil {
			t.Errorf("got %v", err)
		}
		if cut := p.cutOf(a.log); cut != 1 || p.get(1) != nil {
			t.Errorf("the log is cut at %d, and the record is %+v", cut, p.get(1))
		}
	}
	if w := p.waiting(); len(w) > 0 {
		t.Errorf("it waits: %v", w)
	}
}

// One bad log does not keep others from arriving.
func TestApply_mergesWhatIsValidBesideWhatIsNot(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	f := newForger(a)
	f.add(data(1, "bad"))
	f.run.seal[0] ^= 1
	a.put(task{ID: 2, Title: "good"})
	if err := a.space.Seal(); err != nil {
		t.Fatal(err)
	}
	var good *run
	err := a.db.View(func(tx *stoat.Tx) error {
		n, err := a.space.in(tx)
		if err != nil {
			return err
		}
		h, err := n.ownHead()
		if err == nil {
			good, err = n.runFrom(h, 0)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.space.apply([]*run{f.run, good}); !errors.Is(err, ErrInvalid) || b.get(2) == nil {
		t.Errorf("got %v", err)
	}
}

// The room is bounded, whatever arrives.
func TestApply_keepsBoundedRoom(t *testing.T) {
	p := newPeer(t, nil)
	for i := range 200 {
		f := newForger(p)
		f.add(data(1, strings.Repeat("x", 512<<10)))
		f.add(data(2, "y"))
		gap := &run{log: f.log, first: 1 + uint64(i), entries: f.run.entries[1:], seal: f.run.seal}
		gap.log[0], gap.log[1] = byte(i/50), 7
		if err := p.space.apply([]*run{gap}); err != nil {
			t.Fatal(err)
		}
		if i%50 == 49 && p.space.room.logs[gap.log] > roomLog {
			t.Fatalf("%d bytes of a log wait", p.space.room.logs[gap.log])
		}
	}
	if n := p.space.room.size; n > roomSpace || n == 0 {
		t.Errorf("%d bytes wait", n)
	}
	var small []*run
	for i := range 2 * roomRuns {
		small = append(small, &run{log: entry.Hash{9, byte(i), byte(i >> 8)}, first: 1,
			entries: [][]byte{{1}}})
	}
	if err := p.space.apply(small); err != nil || len(p.waiting()) != roomRuns {
		t.Errorf("%d runs wait, %v", len(p.waiting()), err)
	}
}

func TestSync_refusesAnotherSpace(t *testing.T) {
	a, b := newPeer(t, nil), newPeer(t, nil)
	b.space.id[0] ^= 1
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Sync(context.Background(), b.space, y, once) }()
	err := Sync(context.Background(), a.space, x, once)
	if other := <-done; !errors.Is(err, ErrNoSpace) && !errors.Is(other, ErrNoSpace) {
		t.Errorf("got %v and %v", err, other)
	}
}

func TestSync_endsWithItsContext(t *testing.T) {
	p := newPeer(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Sync(ctx, p.space, x, once) }()
	if _, err := y.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// stream is a connection with a peer that says what it was told to and hears nothing.
type stream struct{ *strings.Reader }

func (stream) Write(p []byte) (int, error) { return len(p), nil }
func (stream) Close() error                { return nil }

// Whatever a peer sends, Sync ends with an error or without one, and the replica stays whole.
func FuzzSync(f *testing.F) {
	seed := newPeer(f, nil)
	seed.put(task{ID: 1, Title: "a"})
	var sent recorder
	sent.Reader = strings.NewReader("")
	_ = Sync(context.Background(), seed.space, &sent, once)
	f.Add(sent.text)
	f.Add(append([]byte{}, sent.text[:60]...))
	f.Fuzz(func(t *testing.T, p []byte) {
		replica := newPeer(t, nil)
		_ = Sync(context.Background(), replica.space, stream{strings.NewReader(string(p))}, once)
		replica.root()
		replica.put(task{ID: 9})
	})
}

// recorder is a stream that keeps what is written.
type recorder struct {
	stream
	text []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.text = append(r.text, p...)
	return len(p), nil
}

// What parseRun accepts is sent as the same bytes.
func FuzzParseRun(f *testing.F) {
	p := newPeer(f, nil)
	forged := newForger(p)
	forged.add(data(1, "a"))
	f.Add(forged.run.append(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, err := parseRun(p)
		if err == nil && string(r.append(nil)) != string(p) {
			t.Errorf("%x is sent as %x", p, r.append(nil))
		}
	})
}

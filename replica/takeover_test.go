package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// unhurried ships only when it is told to.
var unhurried = &remote.Options{Interval: time.Hour, MaxLag: 24 * time.Hour,
	CloseTimeout: time.Millisecond}

// writer is a replica in a database in a store, which one process after the other writes.
type writer struct {
	*peer
	db    *remote.DB
	store *memstore.Store
	line  *line // of the first process, to the store
	dir   string
}

// line is a store that nothing reaches while it is cut.
type line struct {
	objstore.Store
	cut atomic.Bool
}

// Create implements [objstore.Store].
func (l *line) Create(ctx context.Context, name string, body []byte) error {
	if l.cut.Load() {
		return errCut
	}
	return l.Store.Create(ctx, name, body)
}

// newWriter makes a replica of a new space.
func newWriter(t *testing.T) *writer {
	t.Helper()
	w := &writer{store: memstore.New(), dir: filepath.Join(t.TempDir(), "first")}
	w.line = &line{Store: w.store}
	db, err := remote.Open(t.Context(), w.line, w.dir, unhurried)
	must(t, err)
	w.use(t, db)
	w.peer = &peer{t: t, db: db.DB, now: noon, seed: [32]byte{1}, family: new(byte)}
	opts := w.options()
	opts.Roots = testRoots()
	w.space, err = Create(db.DB, "team", opts)
	must(t, err)
	w.open()
	w.ship()
	return w
}

// use sets the database, which the test closes.
func (w *writer) use(t *testing.T, db *remote.DB) {
	w.db = db
	t.Cleanup(func() { _ = db.Close() }) // it may be fenced, or not ship any more
}

// ship ships what was committed.
func (w *writer) ship() {
	w.t.Helper()
	must(w.t, w.db.Ship(w.t.Context()))
}

// in returns the same replica in another database, with its space open.
func (w *writer) in(t *testing.T, db *remote.DB) *writer {
	t.Helper()
	next := &writer{store: w.store}
	next.use(t, db)
	next.peer = &peer{t: t, db: db.DB, now: w.now, seed: w.seed, copies: w.another(),
		family: w.family}
	var err error
	next.space, err = Open(db.DB, "team", next.options())
	must(t, err)
	next.open()
	return next
}

// standby follows the writer.
func (w *writer) standby(t *testing.T) *remote.Reader {
	t.Helper()
	r, err := remote.OpenReader(t.Context(), w.store, "", nil)
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	return r
}

// takenOver has a standby take over.
func (w *writer) takenOver(t *testing.T, by *remote.Reader) *writer {
	t.Helper()
	db, err := by.TakeOver(t.Context(), filepath.Join(t.TempDir(), "next"), unhurried)
	must(t, err)
	return w.in(t, db)
}

// wantNoForks fails the test if a log has forked.
func (p *peer) wantNoForks() {
	p.t.Helper()
	for _, h := range p.heads() {
		if h.Cut > 0 {
			p.t.Errorf("log %s is cut", h.Log)
		}
	}
}

// A standby takes over the database of a replica, and lacks the last that it has committed, of
// which peers have some. The writer before goes on for a while. Each writes a log of its own, so
// none forks; what peers have comes back, and counts once.
func TestTakeOver_ofAReplica(t *testing.T) {
	w := newWriter(t)
	other := newPeer(t, w.peer)
	w.put(task{ID: 1, Votes: 1})
	meet(t, w.peer, other)
	w.edit(func(v *task) { v.Votes += 10 }) // shipped without its seal
	w.ship()
	by := w.standby(t)
	w.put(task{ID: 2, Title: "only the peer has it"})
	meet(t, w.peer, other)
	w.put(task{ID: 3, Title: "is lost with the machine"})

	next := w.takenOver(t, by)
	if next.ownLog() == w.ownLog() {
		t.Error("two databases write one log")
	}
	next.edit(func(v *task) { v.Votes += 100 })
	w.edit(func(v *task) { v.Votes += 1000 }) // it does not know yet
	meet(t, w.peer, other)
	agreeAfter(t, next.peer, other)
	for _, p := range []*peer{next.peer, other} {
		if v := p.get(1); v == nil || v.Votes != 1111 || p.get(2) == nil {
			t.Errorf("it has %+v and %+v", v, p.get(2))
		}
		p.wantNoForks()
	}
}

// The folder of a writer keeps its log from one opening to the next; an empty one begins another.
func TestOpen_ofAReplicaInAStore(t *testing.T) {
	w := newWriter(t)
	w.put(task{ID: 1})
	log := w.logID()
	w.ship()
	must(t, w.db.Close())
	open := func(dir string) *writer {
		db, err := remote.Open(t.Context(), w.store, dir, unhurried)
		must(t, err)
		return w.in(t, db)
	}
	dir := filepath.Join(t.TempDir(), "empty")
	again := open(dir)
	fresh := again.logID()
	if fresh == log {
		t.Error("an empty folder goes on with the log")
	}
	again.put(task{ID: 2})
	again.ship()
	must(t, again.db.Close())
	if again = open(dir); again.logID() != fresh || again.get(1) == nil || again.get(2) == nil {
		t.Error("the folder begins another log")
	}
}

// Random writers ship some of what they commit, meet others, and lose their role at any time: no
// log forks, nothing that was shipped or given away is lost, and all agree with the model.
func TestHistory_ofTakeOvers(t *testing.T) {
	t.Parallel()
	n := max(1, *histories/10) // each takes long
	if testing.Short() {
		n = min(n, 2)
	}
	for seed := *historySeed; seed < *historySeed+n && !t.Failed(); seed++ {
		h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 41))}
		if h.takeOver(newWriter(t)); t.Failed() {
			t.Logf("repeat it with -run '^%s$' -seed %d -histories 1", t.Name(), seed)
		}
	}
}

// takeOver plays such a history.
func (h *history) takeOver(w *writer) {
	t := h.t
	others := []*peer{newPeer(t, w.peer), newPeer(t, w.peer)}
	for range 5 {
		by := w.standby(t)
		for range 12 {
			switch h.rng.IntN(5) {
			case 0, 1:
				h.write(w.peer)
			case 2:
				h.write(others[h.rng.IntN(2)])
			case 3:
				meet(t, w.peer, others[h.rng.IntN(2)])
			case 4:
				w.ship()
			}
		}
		before := w
		w = w.takenOver(t, by)
		for range h.rng.IntN(6) { // it goes on until it notices
			err := before.try(task{ID: int64(h.rng.IntN(4)), Title: "late"})
			if err == nil && h.rng.IntN(2) == 0 {
				err = meeting(before.peer, others[h.rng.IntN(2)])
			}
			if errors.Is(err, remote.ErrFenced) {
				break
			}
			must(t, err)
		}
	}
	for _, p := range append(others, w.peer) {
		p.now = noon.Add(time.Hour)
	}
	agreeAfter(t, append(others, w.peer)...)
	others[0].wantNoForks()
}

// What a writer has committed before it noticed that it had lost its role, and nobody else has, is
// in its folder. Opened by itself, the folder goes on with its log, and gives it to others.
func TestOpen_ofTheFolderOfAWriterThatLostItsRole(t *testing.T) {
	w := newWriter(t)
	other := newPeer(t, w.peer)
	w.put(task{ID: 1, Title: "shipped"})
	w.ship()
	by := w.standby(t)
	w.line.cut.Store(true) // or commits would go along with files that are on their way
	w.put(task{ID: 2, Title: "sealed"})
	must(t, w.space.Seal())
	w.put(task{ID: 3, Title: "not sealed"})
	log := w.logID()
	next := w.takenOver(t, by)
	next.put(task{ID: 4})
	w.line.cut.Store(false)
	if err := w.db.Confirm(t.Context()); !errors.Is(err, remote.ErrFenced) {
		t.Errorf("it is the writer: %v", err)
	}
	if err := w.db.Close(); !errors.Is(err, remote.ErrFenced) {
		t.Errorf("it was closed: %v", err)
	}
	db, err := stoat.Open(w.dir, nil)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	w.peer = &peer{t: t, db: db, now: noon, seed: w.seed, copies: w.another(), family: w.family}
	w.space, err = Open(db, "team", w.options())
	must(t, err)
	w.open()
	if w.logID() != log {
		t.Error("it begins another log")
	}
	agreeAfter(t, w.peer, other, next.peer)
	for id := range int64(4) {
		if next.get(id+1) == nil || w.get(id+1) == nil {
			t.Errorf("the record %d is missing", id+1)
		}
	}
	other.wantNoForks()
}

// A reader shows all that the writer has shipped, whatever the space that it has open knew before.
func TestOpen_ofAReader(t *testing.T) {
	w := newWriter(t)
	guest := newGuest(t, w.peer)
	w.put(task{ID: 1, Title: "first"})
	w.ship()
	r := w.standby(t)
	space, err := Open(r.DB, "team", nil)
	must(t, err)
	reader := &peer{t: t, db: r.DB, space: space, now: noon}
	reader.open()
	steps := []func(){
		func() { w.edit(func(v *task) { v.Votes++ }) },
		func() { w.grant(guest, Write, In("tasks")) },
		func() {
			meet(t, w.peer, guest)
			guest.put(task{ID: 2, Tags: []string{"x"}})
			w.put(task{ID: 2, Note: "y"})
			meet(t, w.peer, guest)
		},
		func() {
			notes, err := Collection[named](w.space, "notes", nil)
			must(t, err)
			w.update(func(tx *stoat.Tx) error { return notes.Put(tx, &named{Name: "n", Text: "t"}) })
		},
		func() { w.revoke(guest) },
		func() { guest.put(task{ID: 3}); meet(t, w.peer, guest) }, // it is void
		func() { must(t, w.checkpoint()); must(t, w.space.Seal()) },
		func() { w.put(task{ID: 4}); meet(t, w.peer, guest); must(t, w.space.Prune()) },
		func() { w.update(func(tx *stoat.Tx) error { return w.tasks.Delete(tx, int64(1)) }) },
	}
	for i, step := range steps {
		step()
		w.ship()
		must(t, r.WaitFor(t.Context(), w.db.Position()))
		if got, want := reader.told(), w.told(); got != want {
			t.Errorf("after step %d, the reader shows\n%s\nand the writer\n%s", i, got, want)
		}
	}
	if _, err := Collection[named](space, "notes", nil); err != nil {
		t.Error(err)
	}
	_, err = Collection[textByKey](space, "texts", nil)
	if !errors.Is(err, stoat.ErrReadOnly) || !strings.Contains(err.Error(), "open it once") {
		t.Errorf("a collection that is not there: %v", err)
	}
}

// A reader that has the space open learns what the space is when the writer does.
func TestOpen_ofAReaderBeforeTheSpaceIsKnown(t *testing.T) {
	a := newPeer(t, nil)
	w := &writer{store: memstore.New()}
	db, err := remote.Open(t.Context(), w.store, filepath.Join(t.TempDir(), "db"), unhurried)
	must(t, err)
	w.use(t, db)
	w.peer = &peer{t: t, db: db.DB, now: noon, seed: [32]byte{2, 1}}
	w.space, err = Join(db.DB, "team", a.space.ID(), w.options())
	must(t, err)
	w.ship()
	r := w.standby(t)
	space, err := Open(r.DB, "team", nil)
	must(t, err)
	device := a.space.device.ID()
	may := func() (ok bool) {
		must(t, r.View(func(tx *stoat.Tx) error {
			ok, err = space.MayRead(tx, device)
			return err
		}))
		return ok
	}
	if may() {
		t.Error("it knows the roots too early")
	}
	must(t, syncBoth(a, w.peer))
	w.ship()
	must(t, r.WaitFor(t.Context(), db.Position()))
	if !may() {
		t.Error("it does not know the roots")
	}
}

// told returns what a replica says about its space, as text.
func (p *peer) told() string {
	p.t.Helper()
	var text strings.Builder
	tell := func(what string, v any, err error) { fmt.Fprintf(&text, "%s %+v %v\n", what, v, err) }
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		heads, err := p.space.Heads(tx)
		tell("heads", heads, err)
		root, err := p.space.Root(tx)
		tell("root", root, err)
		vector, err := p.space.Vector(tx)
		tell("vector", vector, err)
		for g, err := range p.space.Grants(tx) {
			tell("grant", g, err)
		}
		for c, err := range p.space.Conflicts(tx) {
			tell("conflict", c, err)
		}
		for v, err := range p.space.Void(tx) {
			tell("void", v, err)
		}
		for id := range int64(5) {
			for r, err := range p.space.History(tx, "tasks", id) {
				tell("revision", r, err)
			}
		}
		return nil
	}))
	tell("tasks", all(p), nil)
	return text.String()
}

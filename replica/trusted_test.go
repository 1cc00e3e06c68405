package replica

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// newTrusted makes a replica of a trusted space: of a new one, or of the one of another.
func newTrusted(t *testing.T, of *peer) *peer {
	t.Helper()
	if of != nil {
		return newPeer(t, of)
	}
	p := &peer{t: t, now: noon, seed: [32]byte{1}}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.db = db
	t.Cleanup(func() { _ = db.Close() })
	opts := p.options()
	opts.Trusted = true
	if p.space, err = Create(db, "team", opts); err != nil {
		t.Fatal(err)
	}
	p.open()
	return p
}

// A trusted space works like any other, without a signature.
func TestTrusted_replicates(t *testing.T) {
	a := newTrusted(t, nil)
	b := newTrusted(t, a)
	c := newTrusted(t, a)
	a.put(task{ID: 1, Title: "a"})
	meet(t, a, b)
	b.edit(func(v *task) { v.Title = "b" })
	a.edit(func(v *task) { v.Note = "a" })
	meet(t, b, c)
	c.edit(func(v *task) { v.Votes++ })
	for range 2 {
		meet(t, a, b)
		meet(t, b, c)
		meet(t, a, c)
	}
	agree(t, a, b, c)
	if v := a.get(1); v == nil || v.Title != "b" || v.Note != "a" || v.Votes != 1 {
		t.Errorf("got %+v", v)
	}
	compareWithModel(t, a)
	for _, runs := range runsOf(t, c) {
		for _, r := range runs {
			if r.seal != [64]byte{} {
				t.Error("an entry is sealed")
			}
		}
	}
	var buf bytes.Buffer
	if err := Export(t.Context(), a.space, &buf); err != nil {
		t.Fatal(err)
	}
	d := newTrusted(t, a)
	if err := Import(t.Context(), d.space, &buf); err != nil {
		t.Fatal(err)
	}
	agree(t, a, d)
	s, err := Open(a.db, "team", a.options())
	if err != nil || !s.trusted() {
		t.Errorf("opened again: %v", err)
	}
}

func TestTrusted_hasNoRights(t *testing.T) {
	p := newTrusted(t, nil)
	err := p.db.Update(func(tx *stoat.Tx) error {
		return p.space.Grant(tx, Anyone, Write)
	})
	if !errors.Is(err, errTrusted) {
		t.Errorf("got %v", err)
	}
	opts := p.options()
	opts.Trusted, opts.Roots = true, []DeviceID{{1}}
	if _, err := Create(p.db, "other", opts); err == nil {
		t.Error("a trusted space has a root")
	}
}

// A trusted space cannot pass for a sealed one, nor the other way round: the id covers the mode.
func TestTrusted_isNeverTakenForASealedSpace(t *testing.T) {
	sealed, trusted := newPeer(t, nil), newTrusted(t, nil)
	for _, p := range []*peer{sealed, trusted} {
		about, err := entry.ParseSpace(p.described())
		if err != nil {
			t.Fatal(err)
		}
		other := *about
		other.Trusted = !about.Trusted
		if other.Trusted {
			other.Quorum, other.Roots = 0, nil
		} else {
			other.Quorum, other.Roots = 1, [][32]byte{p.options().Device.ID()}
		}
		joined := newPeer(t, p)
		if err := joined.space.describe(other.Append(nil)); !errors.Is(err, ErrInvalid) {
			t.Errorf("another mode: %v", err)
		}
	}
	f := newForger(sealed)
	f.run.seal = [64]byte{}
	if err := sealed.space.apply([]*run{f.run}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no seal: %v", err)
	}
	f = newForger(trusted)
	if err := trusted.space.apply([]*run{f.run}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a seal: %v", err)
	}
}

// What arrives before the space is described waits for it.
func TestTrusted_waitsForTheDescription(t *testing.T) {
	a := newTrusted(t, nil)
	b := &peer{t: t, now: noon, seed: [32]byte{9}}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	b.db = db
	if b.space, err = Join(db, "team", a.space.ID(), b.options()); err != nil {
		t.Fatal(err)
	}
	b.open()
	a.put(task{ID: 1})
	if err := a.space.Seal(); err != nil {
		t.Fatal(err)
	}
	runs := runsOf(t, a)
	if err := b.space.apply(runs[0]); err != nil || b.get(1) != nil {
		t.Fatalf("got %v", err)
	}
	meet(t, a, b)
	agree(t, a, b)
}

// A trusted space is sealed by storing its records in a sealed one.
func TestTrusted_isSealedByAnotherSpace(t *testing.T) {
	a := newTrusted(t, nil)
	want := task{ID: 1, Title: "a", Votes: 2, Best: 3, First: -1, Tags: []string{"x"}}
	a.put(want)
	s, err := Create(a.db, "sealed", a.options())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := Collection[task](s, "tasks", nil)
	if err != nil {
		t.Fatal(err)
	}
	a.update(func(tx *stoat.Tx) error {
		for v, err := range a.tasks.All(tx) {
			if err == nil {
				err = sealed.Put(tx, v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	err = a.db.View(func(tx *stoat.Tx) error {
		got, err := sealed.Get(tx, 1)
		if err == nil && (got.Title != want.Title || got.Votes != 2 || len(got.Tags) != 1) {
			t.Errorf("got %+v", got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

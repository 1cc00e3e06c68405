package record_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// copyOf is a copy of a result that changes keep up to date.
type copyOf map[int64]person

// apply changes the copy, and checks that each change is one.
func (m copyOf) apply(t *testing.T, changes record.Changes[person]) {
	t.Helper()
	for _, e := range changes.Added {
		if _, there := m[e.Record.ID]; there {
			t.Fatalf("%d is added, and was there", e.Record.ID)
		}
		m[e.Record.ID] = *e.Record
	}
	for _, e := range changes.Changed {
		if _, there := m[e.Record.ID]; !there {
			t.Fatalf("%d is changed, and was not there", e.Record.ID)
		}
		m[e.Record.ID] = *e.Record
	}
	for _, e := range changes.Removed {
		wantEqual(t, "removed", *e.Record, m[e.Record.ID])
		wantEqual(t, "key of removed", e.Key[0], e.Record.ID)
		delete(m, e.Record.ID)
	}
}

// resultOf returns the result of a query.
func resultOf(t *testing.T, db *stoat.DB, q record.Query[person]) copyOf {
	t.Helper()
	m := copyOf{}
	view(t, db, func(tx *stoat.Tx) error {
		for _, p := range collect(t, q.All(tx)) {
			m[p.ID] = *p
		}
		return nil
	})
	return m
}

func TestWatch_keepsACopyUpToDate(t *testing.T) {
	onDisk, err := stoat.Open(t.TempDir(), &stoat.Options{Sync: stoat.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := onDisk.Close(); err != nil {
			t.Error(err)
		}
	})
	r := newRand(t)
	for _, db := range []*stoat.DB{onDisk, openMemory(t)} {
		c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
		for _, q := range []record.Query[person]{
			c.Query(),
			c.Query().Where(record.Between("age", 0, 9)).OrderBy("age"),
			c.Query().Where(record.Has("tags", "a")).Filter(func(p *person) bool { return p.Active }),
			c.Query().OrderBy("score").Desc().Limit(5),
			c.Query().OrderBy("note").Limit(5).Offset(2),
			c.Query().OrderBy("age").After(&person{Age: 3, ID: 5}),
		} {
			watchWhileWriting(t, r, db, c, q)
		}
	}
}

// watchWhileWriting compares a copy with the result of a query after each of some commits.
func watchWhileWriting(
	t *testing.T, r *rand.Rand, db *stoat.DB, c *record.Collection[person], q record.Query[person],
) {
	t.Helper()
	model := people(nil)
	view(t, db, func(tx *stoat.Tx) error {
		model = people{}
		for _, p := range collect(t, c.All(tx)) {
			model[p.ID] = p
		}
		return nil
	})
	next, stop := iter.Pull2(c.Watch(t.Context(), db, q))
	defer stop()
	got := copyOf{}
	for range 60 {
		// The first result always comes, and so does what changed the result since.
		want := resultOf(t, db, q)
		changes, err, _ := next()
		if err != nil {
			t.Fatal(err)
		}
		got.apply(t, changes)
		wantEqual(t, "copy", got, want)
		for maps.EqualFunc(want, resultOf(t, db, q), samePerson) {
			update(t, db, func(tx *stoat.Tx) error {
				for range 1 + r.IntN(5) {
					step(t, r, tx, c, model)
				}
				return nil
			})
		}
	}
}

// samePerson reports whether two persons have the same record.
func samePerson(a, b person) bool {
	return a.Note == b.Note && a.Email == b.Email && a.Age == b.Age && a.Born.Equal(b.Born) &&
		a.Score == b.Score && a.Active == b.Active && a.Home == b.Home && a.Token == b.Token &&
		slices.Equal(a.Tags, b.Tags) && slices.Equal(a.Codes, b.Codes) &&
		slices.Equal(a.Blob, b.Blob) && maps.Equal(a.Extra, b.Extra) &&
		(a.Level == nil) == (b.Level == nil) && (a.Level == nil || *a.Level == *b.Level)
}

func TestWatch_saysThatItLagged(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	r := newRand(t)
	put(t, db, c, randomPerson(r, 1), randomPerson(r, 2))
	next, stop := iter.Pull2(c.Watch(t.Context(), db, c.Query()))
	defer stop()
	changes, err, _ := next()
	if err != nil || len(changes.Added) != 2 || changes.Lagged {
		t.Fatalf("first %+v, %v, want both records", changes, err)
	}
	// The loop follows commits from its next step on, and a database in memory has no log.
	put(t, db, c, randomPerson(r, 3))
	update(t, db, func(tx *stoat.Tx) error { return c.Delete(tx, 1) })
	changes, err, _ = next()
	if err != nil || len(changes.Added) != 1 || len(changes.Removed) != 1 || !changes.Lagged {
		t.Fatalf("then %+v, %v, want the difference", changes, err)
	}
}

func TestWatch_endsWithAnError(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	other := mustOpen(t, db, "others", personOptions(record.CodecBinary))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steps := 0
	for _, err := range c.Watch(ctx, db, c.Query()) {
		if steps++; steps == 1 {
			cancel()
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the context: %v", err)
		}
	}
	if steps != 2 {
		t.Errorf("%d steps, want 2", steps)
	}
	for _, err := range c.Watch(ctx, db, other.Query()) {
		wantError(t, err, "another collection")
	}
	for _, err := range c.Watch(ctx, db, c.Query().OrderBy("x")) {
		wantError(t, err, `"x"`)
	}
}

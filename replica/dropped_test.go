package replica

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

// A program has dropped the bucket of the records of a collection, or emptied it: whatever needs
// them says which bucket it is and what to do, and that brings all of them back.
func TestCollection_whoseRecordsAreGone(t *testing.T) {
	for name, lose := range map[string]func(tx *stoat.Tx) error{
		"dropped": func(tx *stoat.Tx) error { return tx.DeleteBucket([]byte("team/tasks")) },
		"emptied": func(tx *stoat.Tx) error {
			b, err := tx.Bucket([]byte("team/tasks"))
			if err != nil {
				return err
			}
			return b.DeleteRange(stoat.Range{})
		},
	} {
		a := newPeer(t, nil)
		b := newPeer(t, a)
		a.put(task{ID: 1, Title: "x", Votes: 3})
		meet(t, a, b)
		a.put(task{ID: 2, Title: "not sealed"})
		a.update(lose)
		wants := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, stoat.ErrCorrupt) || !strings.Contains(err.Error(), `"team/tasks"`) ||
				!strings.Contains(err.Error(), "Export") {
				t.Errorf("%s, %s: got %v", name, what, err)
			}
		}
		wants("the root", a.db.View(func(tx *stoat.Tx) error {
			_, err := a.space.Root(tx)
			return err
		}))
		if err := a.db.Update(func(tx *stoat.Tx) error {
			return a.tasks.Put(tx, &task{ID: 1})
		}); err == nil {
			t.Errorf("%s: it was written to", name)
		}
		b.edit(func(v *task) { v.Votes++ })
		wants("a merge", meeting(a, b))
		again, err := Open(a.db, "team", a.options())
		must(t, err)
		wants("a merge before it is open", again.apply(b.runs(0)))
		if name == "dropped" {
			_, err = Collection[task](again, "tasks", nil)
			wants("opening it", err)
		}
		var file bytes.Buffer
		must(t, Export(t.Context(), a.space, &file))
		opts := a.options()
		opts.random = nil
		joined, err := Join(a.db, "again", a.space.ID(), opts)
		must(t, err)
		c := &peer{t: t, db: a.db, space: joined, now: a.now, seed: a.seed}
		c.open()
		must(t, Import(t.Context(), joined, &file))
		meet(t, c, b)
		agree(t, b, c)
		if v := c.get(1); v == nil || v.Votes != 4 || c.get(2) == nil || b.get(2) == nil {
			t.Errorf("%s: it has %+v and %+v", name, v, c.get(2))
		}
	}
}

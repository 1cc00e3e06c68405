package record_test

import (
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// The types of a collection that is opened with both.
type (
	plain struct {
		ID   int64  `stoat:"id,key" json:"id"`
		Name string `stoat:"name" json:"name"`
	}
	extended struct {
		ID   int64  `stoat:"id,key" json:"id"`
		Name string `stoat:"name" json:"name"`
		More string `stoat:"more" json:"more"`
	}
	renumbered struct {
		Name  string `stoat:"name,key" json:"name"`
		ID    string `stoat:"id,index" json:"id"`
		Extra bool   `stoat:"extra" json:"extra"`
	}
)

func TestCollection_leavesTheSequenceAlone(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[plain](t, db, "plain", nil)
	next := func(want uint64) {
		update(t, db, func(tx *stoat.Tx) error {
			b, err := tx.Bucket([]byte("plain"))
			if err != nil {
				return err
			}
			id, err := b.NextSequence()
			if err != nil {
				return err
			}
			wantEqual(t, "number", id, want)
			return c.Put(tx, &plain{ID: int64(id)})
		})
	}
	next(1)
	next(2)
	mustOpen[extended](t, db, "plain", nil)
	c = mustOpen[plain](t, db, "plain", nil)
	next(3)
	view(t, db, func(tx *stoat.Tx) error { return c.Verify(tx) })
}

func TestCount_ofWritesInSeveralHooks(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[plain](t, db, "plain", nil)
	update(t, db, func(tx *stoat.Tx) error {
		if err := c.Put(tx, &plain{ID: 1}); err != nil {
			return err
		}
		return tx.BeforeCommit(func() error {
			if err := c.Put(tx, &plain{ID: 2}); err != nil {
				return err
			}
			return tx.BeforeCommit(func() error { return c.Put(tx, &plain{ID: 3}) })
		})
	})
	view(t, db, func(tx *stoat.Tx) error {
		n, err := c.Count(tx)
		wantEqual(t, "count", n, uint64(3))
		if err != nil {
			return err
		}
		return c.Verify(tx)
	})
}

func TestCollection_isOutdatedAfterAnotherOpen(t *testing.T) {
	db := openMemory(t)
	old := mustOpen[plain](t, db, "plain", nil)
	put(t, db, old, &plain{ID: 1})
	next, stop := iter.Pull2(old.Watch(t.Context(), db, old.Query()))
	defer stop()
	watched := func() error {
		_, err, more := next()
		if !more {
			t.Fatal("the loop has ended")
		}
		return err
	}
	if err := watched(); err != nil {
		t.Fatal(err)
	}
	put(t, db, old, &plain{ID: 2})
	if err := watched(); err != nil {
		t.Fatal(err)
	}
	put(t, db, mustOpen[extended](t, db, "plain", nil), &extended{ID: 3})
	view(t, db, func(tx *stoat.Tx) error {
		_, err := old.Get(tx, 1)
		if !errors.Is(err, record.ErrOutdated) {
			t.Errorf("get: %v", err)
		}
		return nil
	})
	err := watched()
	if !errors.Is(err, record.ErrOutdated) || errors.Is(err, stoat.ErrCorrupt) {
		t.Fatalf("watch: %v", err)
	}
	if n := strings.Count(err.Error(), "collection"); n != 1 {
		t.Errorf("watch: %q names the collection %d times", err, n)
	}
}

func TestWatch_isOutdatedWhileItFollows(t *testing.T) {
	db, err := stoat.Open(t.TempDir(), &stoat.Options{Sync: stoat.SyncNever})
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	old := mustOpen[plain](t, db, "plain", nil)
	steps := 0
	for _, err := range old.Watch(t.Context(), db, old.Query()) {
		if steps++; steps == 1 {
			ok(t, err)
			put(t, db, mustOpen[extended](t, db, "plain", nil), &extended{ID: 3})
			continue
		}
		if !errors.Is(err, record.ErrOutdated) || errors.Is(err, stoat.ErrCorrupt) {
			t.Errorf("watch: %v", err)
		}
	}
	wantEqual(t, "steps", steps, 2)
}

func TestOpen_refusesAnotherKeyFunction(t *testing.T) {
	db := openMemory(t)
	type untagged struct {
		ID   int64  `stoat:"id"`
		Name string `stoat:"name"`
	}
	byID := &record.Options[untagged]{Key: func(u *untagged) tuple.Tuple {
		return tuple.Tuple{u.ID}
	}}
	c := mustOpen(t, db, "records", byID)
	byName := &record.Options[untagged]{Key: func(u *untagged) tuple.Tuple {
		return tuple.Tuple{u.Name}
	}}
	mustOpen(t, db, "records", byName) // without records any key will do
	put(t, db, c, &untagged{1, "a"})
	_, err := record.Open(db, "records", byName)
	wantError(t, err, `collection "records"`, `key "a"`, "key 1")
	mustOpen(t, db, "records", byID)
}

func TestOpen_changesAnEmptyCollectionFreely(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON} {
		db := openMemory(t)
		old := mustOpen[plain](t, db, "records", nil)
		put(t, db, old, &plain{ID: 1, Name: "a"})
		opts := &record.Options[renumbered]{Codec: codec, Version: 3}
		_, err := record.Open(db, "records", opts)
		wantError(t, err, "records")
		update(t, db, func(tx *stoat.Tx) error { return old.Delete(tx, 1) })
		for range 2 {
			c := mustOpen(t, db, "records", opts)
			put(t, db, c, &renumbered{"x", "y", true})
			view(t, db, func(tx *stoat.Tx) error {
				got, err := c.By("id").Get(tx, "y")
				if err != nil {
					return err
				}
				wantEqual(t, "record", *got, renumbered{"x", "y", true})
				if _, err := old.Get(tx, 1); !errors.Is(err, record.ErrOutdated) {
					t.Errorf("the old collection: %v", err)
				}
				return c.Verify(tx)
			})
		}
		_, err = record.Open[renumbered](db, "records", &record.Options[renumbered]{Codec: codec})
		wantError(t, err, "version 3", "version 0")
	}
}

func TestOpen_migratesWhatDoesNotDecode(t *testing.T) {
	type text struct {
		ID   string `stoat:"id,key" json:"id"`
		Name string `stoat:"name" json:"name"`
	}
	type number struct {
		ID   string `stoat:"id,key" json:"id"`
		Name int    `stoat:"name" json:"name"`
	}
	db := openMemory(t)
	old := mustOpen(t, db, "records", &record.Options[text]{Codec: record.CodecJSON})
	put(t, db, old, &text{"a", "17"})
	c := mustOpen(t, db, "records", &record.Options[number]{
		Codec: record.CodecJSON, Version: 1,
		Migrate: map[int]func(record.Row, *number) error{
			0: func(row record.Row, new *number) error {
				wantEqual(t, "new record", *new, number{})
				var was text
				err := json.Unmarshal(row.Stored(), &was)
				if err == nil {
					new.ID = was.ID
					new.Name, err = strconv.Atoi(was.Name)
				}
				return err
			},
		},
	})
	view(t, db, func(tx *stoat.Tx) error {
		got, err := c.Get(tx, "a")
		if err != nil {
			return err
		}
		wantEqual(t, "migrated", *got, number{"a", 17})
		return c.Verify(tx)
	})
}

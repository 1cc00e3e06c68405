package record_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

func TestCollection_errorsSayWhatIsWrong(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	put(t, db, c, &person{ID: 1, Email: "a", Home: home{"x", 1}})
	update(t, db, func(tx *stoat.Tx) error {
		err := c.Put(tx, &person{ID: 2, Email: "a", Home: home{"x", 2}})
		if !errors.Is(err, record.ErrDuplicate) {
			t.Errorf("duplicate: %v", err)
		}
		wantError(t, err, `collection "people"`, "key 2", "key 1", `email "a"`)
		err = c.Insert(tx, &person{ID: 1})
		if !errors.Is(err, record.ErrExists) {
			t.Errorf("insert: %v", err)
		}
		_, err = c.Get(tx, "1")
		wantError(t, err, `collection "people"`, "field id", "int64", `"1"`, "string")
		_, err = c.Get(tx, tuple.Tuple{1, 2})
		wantError(t, err, "2 values", "id")
		_, err = c.Get(tx, nil)
		wantError(t, err, "field id")
		_, err = record.Field[int64](tx, c, 1, "age")
		wantError(t, err, "field age", "int32", "int64")
		err = record.SetField(tx, c, 1, "id", int64(2))
		wantError(t, err, "field id", "key")
		err = c.Update(tx, 1, func(p *person) error { p.ID = 3; return nil })
		wantError(t, err, "changed the key to 3")
		return c.Verify(tx)
	})
	view(t, db, func(tx *stoat.Tx) error {
		for what, err := range map[string]error{
			"put":    c.Put(tx, &person{ID: 1, Email: "b"}),
			"same":   c.Put(tx, &person{ID: 1, Email: "a", Home: home{"x", 1}}),
			"delete": c.Delete(tx, 1),
			"absent": c.Delete(tx, 9),
			"clear":  c.Clear(tx),
			"field":  record.SetField(tx, c, 1, "note", "x"),
		} {
			if !errors.Is(err, stoat.ErrReadOnly) {
				t.Errorf("%s in a read-only transaction: %v", what, err)
			}
		}
		return nil
	})
	other := openMemory(t)
	view(t, other, func(tx *stoat.Tx) error {
		_, err := c.Get(tx, 1)
		wantError(t, err, `collection "people"`, "not in this transaction's database")
		_, err = record.OpenTx[person](tx, "new", nil)
		if !errors.Is(err, stoat.ErrReadOnly) {
			t.Errorf("open in a read-only transaction: %v", err)
		}
		return nil
	})
}

func TestCount_isSharedInATransaction(t *testing.T) {
	db := openMemory(t)
	update(t, db, func(tx *stoat.Tx) error {
		a, err := record.OpenTx[pair](tx, "pairs", nil)
		if err != nil {
			return err
		}
		if err := a.Put(tx, &pair{A: "a"}); err != nil {
			return err
		}
		b, err := record.OpenTx[pair](tx, "pairs", nil)
		if err != nil {
			return err
		}
		if err := b.Put(tx, &pair{A: "b"}); err != nil {
			return err
		}
		return a.Verify(tx)
	})
	c := mustOpen[pair](t, db, "pairs", nil)
	view(t, db, func(tx *stoat.Tx) error {
		if n, err := c.Count(tx); n != 2 || err != nil {
			t.Errorf("count %d, %v, want 2", n, err)
		}
		return c.Verify(tx)
	})
}

func TestCollection_survivesReopening(t *testing.T) {
	dir := t.TempDir()
	var want []*person
	for i := range 3 {
		db := openIn(t, dir)
		c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
		p := &person{ID: int64(i), Email: fmt.Sprint(i), Home: home{"x", uint32(i)}}
		want = append(want, p)
		put(t, db, c, p)
		view(t, db, func(tx *stoat.Tx) error {
			if n, err := c.Count(tx); n != uint64(i+1) || err != nil {
				t.Errorf("count %d, %v, want %d", n, err, i+1)
			}
			wantEqual(t, "records", collect(t, c.All(tx)), want)
			return c.Verify(tx)
		})
		ok(t, db.Close())
	}
}

func TestCollection_isSafeForConcurrentUse(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 30 {
				id := int64(100*g + i)
				err := db.Update(func(tx *stoat.Tx) error {
					p := &person{ID: id, Email: fmt.Sprint(id), Home: home{"x", uint32(id)}}
					return c.Put(tx, p)
				})
				if err == nil {
					err = db.View(c.Verify)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	view(t, db, func(tx *stoat.Tx) error {
		if n, err := c.Count(tx); n != 120 || err != nil {
			t.Errorf("count %d, %v, want 120", n, err)
		}
		return nil
	})
}

func TestOpenTx_afterDeletingTheBucketInTheSameTransaction(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[account](t, db, "accounts", nil)
	update(t, db, func(tx *stoat.Tx) error {
		if err := c.Put(tx, &account{1, "a"}); err != nil {
			return err
		}
		if err := tx.DeleteBucket([]byte("accounts")); err != nil {
			return err
		}
		again, err := record.OpenTx[account](tx, "accounts", nil)
		if err != nil {
			return err
		}
		if err := again.Put(tx, &account{2, "b"}); err != nil {
			return err
		}
		return c.Put(tx, &account{3, "c"})
	})
	view(t, db, func(tx *stoat.Tx) error {
		wantEqual(t, "records", collect(t, c.All(tx)), []*account{{2, "b"}, {3, "c"}})
		return c.Verify(tx)
	})
}

type account struct {
	ID    int64  `stoat:"id,key"`
	Email string `stoat:"email,unique"`
}

func TestCollection_isLookedUpInAFolderThatWasRestored(t *testing.T) {
	type other struct {
		ID   int64 `stoat:"id,key"`
		Size int64 `stoat:"size"`
	}
	dir, saved := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "saved")
	db := openIn(t, dir)
	ok(t, db.Put([]byte("x"), nil))
	ok(t, db.Close())
	ok(t, os.CopyFS(saved, os.DirFS(dir)))
	db = openIn(t, dir)
	c := mustOpen[account](t, db, "accounts", nil)
	view(t, db, func(tx *stoat.Tx) error { _, err := c.Count(tx); return err })
	ok(t, db.Close())
	ok(t, os.RemoveAll(dir))
	ok(t, os.CopyFS(dir, os.DirFS(saved)))
	db = openIn(t, dir)
	mustOpen[other](t, db, "accounts", nil)
	view(t, db, func(tx *stoat.Tx) error {
		if _, err := c.Count(tx); !errors.Is(err, record.ErrOutdated) {
			t.Errorf("error %v, want ErrOutdated", err)
		}
		return nil
	})
	ok(t, db.Close())
}

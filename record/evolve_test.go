package record_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// The types of one collection, as they change.
type (
	account1 struct {
		ID    int32  `stoat:"id,key"`
		Name  string `stoat:"name,index"`
		Birth string `stoat:"birth"`
		Gone  int64  `stoat:"gone,index"`
	}
	account2 struct {
		Title string `stoat:"title,index,was=name"`
		ID    int64  `stoat:"id,key"`
		Birth string `stoat:"birth,index"`
		New   uint8  `stoat:"new,index"`
	}
	account3 struct {
		Title string `stoat:"title,unique,was=name"`
		ID    int64  `stoat:"id,key"`
		Year  int    `stoat:"year,index"`
	}
	accountBad struct {
		ID   int32 `stoat:"id,key"`
		Name int   `stoat:"name"`
	}
	accountKey struct {
		ID    int32  `stoat:"id"`
		Name  string `stoat:"name,key"`
		Birth string `stoat:"birth"`
		Gone  int64  `stoat:"gone"`
	}
)

func TestOpen_followsTheType(t *testing.T) {
	db := openMemory(t)
	first := mustOpen[account1](t, db, "accounts", nil)
	for i := range 20 {
		put(t, db, first, &account1{int32(i), fmt.Sprint("n", i%3), strconv.Itoa(1980 + i), int64(i)})
	}
	second := mustOpen[account2](t, db, "accounts", nil)
	put(t, db, second, &account2{"n1", 5, "2000", 7}, &account2{"x", 100, "1999", 0})
	view(t, db, func(tx *stoat.Tx) error {
		got, err := second.Get(tx, 4)
		if err != nil {
			return err
		}
		wantEqual(t, "old record", *got, account2{"n1", 4, "1984", 0})
		if n := len(collect(t, second.By("title").With(tx, "n1"))); n != 8 {
			t.Errorf("%d records with n1, want 8", n)
		}
		if n := len(collect(t, second.By("new").With(tx, 0))); n != 20 {
			t.Errorf("%d records without a new field, want 20", n)
		}
		wantError(t, first.Put(tx, &account1{}), `collection "accounts"`, "reopen it")
		_, err = second.By("gone").Get(tx, 1)
		wantError(t, err, `no index "gone"`)
		return second.Verify(tx)
	})
	_, err := record.Open[account1](db, "accounts", nil)
	wantError(t, err, "field id", "int64", "int32")
	again := mustOpen[account2](t, db, "accounts", nil)
	view(t, db, func(tx *stoat.Tx) error { return again.Verify(tx) })
}

func TestOpen_migratesOnce(t *testing.T) {
	db := openMemory(t)
	first := mustOpen[account2](t, db, "accounts", nil)
	for i := range 20 {
		put(t, db, first, &account2{fmt.Sprint("n", i%10), int64(i), strconv.Itoa(1980 + i), 0})
	}
	calls := 0
	opts := &record.Options[account3]{Version: 1}
	_, err := record.Open(db, "accounts", opts)
	wantError(t, err, "version 0", "Options.Migrate")

	opts.Migrate = map[int]func(record.Row, *account3) error{
		0: func(old record.Row, new *account3) error {
			birth, err := old.String("birth")
			if err != nil {
				return err
			}
			calls++
			new.Year, err = strconv.Atoi(birth)
			return err
		},
	}
	_, err = record.Open(db, "accounts", opts)
	if !errors.Is(err, record.ErrDuplicate) {
		t.Fatalf("unique index of duplicate values: %v", err)
	}
	wantError(t, err, "accounts", "title", `"n0"`)

	update(t, db, func(tx *stoat.Tx) error {
		for i := 10; i < 20; i++ {
			if err := first.Delete(tx, i); err != nil {
				return err
			}
		}
		return nil
	})
	calls = 0
	for range 2 {
		c := mustOpen(t, db, "accounts", opts)
		view(t, db, func(tx *stoat.Tx) error {
			got, err := c.By("title").Get(tx, "n7")
			if err != nil {
				return err
			}
			wantEqual(t, "migrated", *got, account3{"n7", 7, 1987})
			return c.Verify(tx)
		})
	}
	if calls != 10 {
		t.Errorf("%d calls to migrate 10 records", calls)
	}
	_, err = record.Open[account3](db, "accounts", nil)
	wantError(t, err, "version 1", "version 0")
}

func TestOpen_refusesWhatWouldLose(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[account1](t, db, "accounts", nil)
	put(t, db, c, &account1{ID: 1})
	_, err := record.Open[accountBad](db, "accounts", nil)
	wantError(t, err, `collection "accounts"`, "field name", "string", "int64")
	_, err = record.Open[accountKey](db, "accounts", nil)
	wantError(t, err, `collection "accounts"`, "key", "id (integer)", "name (string)")
	_, err = record.Open(db, "accounts", &record.Options[account1]{Codec: record.CodecJSON})
	wantError(t, err, "binary", "json")
	view(t, db, func(tx *stoat.Tx) error { return c.Verify(tx) })
}

func TestOpen_refusesTypes(t *testing.T) {
	db := openMemory(t)
	type noKey struct{ A int }
	_, err := record.Open[noKey](db, "x", nil)
	wantError(t, err, `collection "x"`, "noKey", "A,key", "Options.Key")
	type listKey struct {
		A []int `stoat:",key"`
	}
	_, err = record.Open[listKey](db, "x", nil)
	wantError(t, err, "field A", "[]int")
	type badOption struct {
		A int `stoat:",key,indexed"`
	}
	_, err = record.Open[badOption](db, "x", nil)
	wantError(t, err, "field A", `"indexed"`)
	type mapIndex struct {
		A int            `stoat:",key"`
		B map[string]int `stoat:",index"`
	}
	_, err = record.Open[mapIndex](db, "x", nil)
	wantError(t, err, "index B", "map[string]int")
	_, err = record.Open(db, "x", &record.Options[account1]{
		Indexes: []record.Index{{Name: "i", Fields: []string{"nmae"}}},
	})
	wantError(t, err, "index i", `"nmae"`, "name, birth")
	update(t, db, func(tx *stoat.Tx) error {
		_, err := tx.CreateBucket([]byte("plain"))
		return err
	})
	_, err = record.Open[account1](db, "plain", nil)
	wantError(t, err, `collection "plain"`, "not a collection")
}

func TestOpen_inATransactionThatHasUsedIt(t *testing.T) {
	type renamed struct {
		First string `stoat:"first,key,was=a"`
		B     int    `stoat:"b,key"`
		C     string `stoat:"c"`
	}
	db := openMemory(t)
	update(t, db, func(tx *stoat.Tx) error {
		old, err := record.OpenTx[pair](tx, "pairs", nil)
		if err != nil {
			return err
		}
		if err := old.Put(tx, &pair{A: "a", C: "c"}); err != nil {
			return err
		}
		c, err := record.OpenTx[renamed](tx, "pairs", nil)
		if err != nil {
			return err
		}
		wantError(t, old.Put(tx, &pair{A: "b"}), "reopen it")
		got, err := c.Get(tx, tuple.Tuple{"a", 0})
		if err != nil {
			return err
		}
		wantEqual(t, "renamed", *got, renamed{"a", 0, "c"})
		if err := c.Verify(tx); err != nil {
			return err
		}
		if err := tx.DeleteBucket([]byte("pairs")); err != nil {
			return err
		}
		if c, err = record.OpenTx[renamed](tx, "pairs", nil); err != nil {
			return err
		}
		if err := c.Put(tx, &renamed{First: "x"}); err != nil {
			return err
		}
		return c.Verify(tx)
	})
	c := mustOpen[renamed](t, db, "pairs", nil)
	view(t, db, func(tx *stoat.Tx) error { return c.Verify(tx) })
	update(t, db, func(tx *stoat.Tx) error {
		if err := c.Put(tx, &renamed{First: "y"}); err != nil {
			return err
		}
		return tx.DeleteBucket([]byte("pairs"))
	})
	view(t, db, func(tx *stoat.Tx) error {
		_, err := c.Count(tx)
		if !errors.Is(err, stoat.ErrBucketNotFound) {
			t.Errorf("count of a deleted collection: %v", err)
		}
		return nil
	})
}

func TestOpen_migratesJSON(t *testing.T) {
	db := openMemory(t)
	first := mustOpen(t, db, "accounts", &record.Options[account1]{Codec: record.CodecJSON})
	put(t, db, first, &account1{1, "n", "1980", 5})
	opts := &record.Options[account3]{Codec: record.CodecJSON, Version: 1}
	opts.Migrate = map[int]func(record.Row, *account3) error{
		0: func(old record.Row, new *account3) error {
			_, err := old.String("Birth")
			wantError(t, err, "Row.Stored")
			was := account1{}
			if err := json.Unmarshal(old.Stored(), &was); err != nil {
				return err
			}
			new.Title = was.Name
			new.Year, err = strconv.Atoi(was.Birth)
			return err
		},
	}
	c := mustOpen(t, db, "accounts", opts)
	view(t, db, func(tx *stoat.Tx) error {
		got, err := c.By("year").Get(tx, 1980)
		if err != nil {
			return err
		}
		wantEqual(t, "migrated", *got, account3{"n", 1, 1980})
		return c.Verify(tx)
	})
}

func TestOpenTx_thatFailedHalfWayCannotBeCommitted(t *testing.T) {
	type user struct {
		ID   int32  `stoat:"id,key"`
		Name string `stoat:"name"`
	}
	type unique struct {
		ID   int32  `stoat:"id,key"`
		Name string `stoat:"name,unique"`
	}
	db := openMemory(t)
	users := mustOpen[user](t, db, "users", nil)
	update(t, db, func(tx *stoat.Tx) error {
		return errors.Join(users.Put(tx, &user{1, "ada"}), users.Put(tx, &user{2, "ada"}))
	})
	err := db.Update(func(tx *stoat.Tx) error {
		if _, err := record.OpenTx[unique](tx, "users", nil); !errors.Is(err, record.ErrDuplicate) {
			t.Errorf("opened with %v", err)
		}
		return nil
	})
	if !errors.Is(err, record.ErrDuplicate) {
		t.Errorf("committed with %v", err)
	}
	ok(t, db.View(mustOpen[user](t, db, "users", nil).Verify))
}

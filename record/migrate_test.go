package record_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// The types of a collection whose field birthday became born, and then year.
type (
	guest1 struct {
		ID       int64  `stoat:"id,key"`
		Birthday string `stoat:"birthday"`
		Rooms    uint8  `stoat:"rooms"`
	}
	guest2 struct {
		ID    int64  `stoat:"id,key"`
		Born  string `stoat:"born,was=birthday"`
		Rooms int32  `stoat:"rooms"`
		Nick  string `stoat:"nick"`
	}
	guest3 struct {
		ID   int64  `stoat:"id,key"`
		Year string `stoat:"year"`
		Beds int64  `stoat:"beds"`
		Nick string `stoat:"nick"`
	}
	guest3Tagged struct {
		ID   int64  `stoat:"id,key"`
		Date string `stoat:"date,was=born|birthday"`
		Year string `stoat:"year"`
	}
)

// renameGuests stores a record under each name of a field.
func renameGuests(t *testing.T) *stoat.DB {
	t.Helper()
	db := openMemory(t)
	put(t, db, mustOpen[guest1](t, db, "guests", nil), &guest1{1, "1815-12-10", 200})
	put(t, db, mustOpen[guest2](t, db, "guests", nil), &guest2{2, "1906-12-09", -2, "Grace"})
	return db
}

func TestMigrate_knowsAFieldByAllItsNames(t *testing.T) {
	for _, name := range []string{"birthday", "born"} {
		db := renameGuests(t)
		c := mustOpen(t, db, "guests", &record.Options[guest3]{Version: 1,
			Migrate: map[int]func(record.Row, *guest3) error{0: func(old record.Row, new *guest3) error {
				born, err := old.String(name)
				if err != nil {
					return err
				}
				rooms, err := old.Int("rooms")
				if err != nil {
					return err
				}
				nick, err := old.String("nick") // which the first record has never had
				new.Year, new.Beds = born[:4], 2*rooms
				if nick != new.Nick {
					err = fmt.Errorf("nick is %q in the row and %q in the record", nick, new.Nick)
				}
				if _, err := old.String("year"); err == nil || !strings.Contains(err.Error(), "year") {
					t.Errorf("a field of the new type only: %v", err)
				}
				return err
			}}})
		view(t, db, func(tx *stoat.Tx) error {
			wantEqual(t, name, collect(t, c.All(tx)), []*guest3{{1, "1815", 400, ""},
				{2, "1906", -4, "Grace"}})
			return c.Verify(tx)
		})
	}
}

func TestMigrate_knowsTheNamesThatTagsTell(t *testing.T) {
	for _, name := range []string{"birthday", "born", "date"} {
		db := renameGuests(t)
		c := mustOpen(t, db, "guests", &record.Options[guest3Tagged]{Version: 1,
			Migrate: map[int]func(record.Row, *guest3Tagged) error{
				0: func(old record.Row, new *guest3Tagged) error {
					date, err := old.String(name)
					new.Year = date[:4]
					return err
				},
			}})
		view(t, db, func(tx *stoat.Tx) error {
			wantEqual(t, name, collect(t, c.All(tx)), []*guest3Tagged{{1, "1815-12-10", "1815"},
				{2, "1906-12-09", "1906"}})
			return nil
		})
	}
}

func TestMigrate_doesNotTakeAnUnknownNameForZero(t *testing.T) {
	db := renameGuests(t)
	update(t, db, func(tx *stoat.Tx) error { // as versions of the package did that stored no names
		meta := metaOf(t, tx, "guests")
		p, err := meta.Get([]byte("definition"))
		ok(t, err)
		text := strings.Replace(string(p), `,"renamed":{"birthday":"born"},"traced":true`, "", 1)
		if text == string(p) {
			t.Fatalf("no names in %s", p)
		}
		return meta.Put([]byte("definition"), []byte(text))
	})
	_, err := record.Open(db, "guests", &record.Options[guest3]{Version: 1,
		Migrate: map[int]func(record.Row, *guest3) error{0: func(old record.Row, new *guest3) error {
			born, err := old.String("born")
			new.Year = born
			return err
		}}})
	wantError(t, err, "key 1", "schema 1", `no field "born"`)
}

func TestOpen_followsANameThereAndBack(t *testing.T) {
	type back struct {
		ID       int64  `stoat:"id,key"`
		Birthday string `stoat:"birthday,was=born"`
		Rooms    int32  `stoat:"rooms"`
	}
	db := renameGuests(t)
	put(t, db, mustOpen[back](t, db, "guests", nil), &back{3, "1912-06-23", 1})
	c := mustOpen(t, db, "guests", &record.Options[guest3]{Version: 1,
		Migrate: map[int]func(record.Row, *guest3) error{0: func(old record.Row, new *guest3) error {
			born, err := old.String("born")
			new.Year = born
			return err
		}}})
	view(t, db, func(tx *stoat.Tx) error {
		for i, g := range collect(t, c.All(tx)) {
			wantEqual(t, "year", g.Year, []string{"1815-12-10", "1906-12-09", "1912-06-23"}[i])
		}
		return nil
	})
}

// metaOf returns the bucket with the definition of a collection.
func metaOf(t *testing.T, tx *stoat.Tx, name string) *stoat.Bucket {
	t.Helper()
	root, err := tx.Bucket([]byte(name))
	ok(t, err)
	meta, err := root.Bucket([]byte("meta"))
	ok(t, err)
	return meta
}

package record_test

import (
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// TestGet_seesItsOwnSnapshot reads by turns in transactions that began before and after commits, of
// which the last one deletes the collection.
func TestGet_seesItsOwnSnapshot(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[plain](t, db, "plain", nil)
	var snapshots []*stoat.Tx
	for _, name := range []string{"first", "second", "third"} {
		put(t, db, c, &plain{ID: 1, Name: name})
		tx, err := db.Begin(false)
		ok(t, err)
		snapshots = append(snapshots, tx)
	}
	update(t, db, func(tx *stoat.Tx) error { return tx.DeleteBucket([]byte("plain")) })
	for range 2 {
		for i, want := range []string{"first", "second", "third"} {
			r, err := c.Get(snapshots[i], 1)
			ok(t, err)
			wantEqual(t, "record", *r, plain{1, want})
			name, err := record.Field[string](snapshots[i], c, 1, "name")
			ok(t, err)
			wantEqual(t, "field", name, want)
			has, err := c.Has(snapshots[i], 2)
			ok(t, err)
			wantEqual(t, "Has of another record", has, false)
		}
		_, err := c.Get(snapshots[0], 2)
		wantError(t, err, `collection "plain", key 2`, "not found")
		err = db.View(func(tx *stoat.Tx) error { _, err := c.Get(tx, 1); return err })
		wantError(t, err, "not in this transaction's database")
	}
	for _, tx := range snapshots {
		ok(t, tx.Rollback())
	}
	_, err := c.Get(snapshots[2], 1)
	wantError(t, err, "transaction")
}

// TestGetInto_allocatesOnlyTheStrings compares with a read of the root bucket, which looks nothing
// up.
func TestGetInto_allocatesOnlyTheStrings(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[plain](t, db, "plain", nil)
	put(t, db, c, &plain{ID: 1, Name: "some name"})
	ok(t, db.Put([]byte("key"), []byte("value")))
	var into plain
	cost := func(read func(tx *stoat.Tx) error) float64 {
		return testing.AllocsPerRun(100, func() {
			tx, err := db.Begin(false)
			ok(t, err)
			ok(t, read(tx))
			ok(t, tx.Rollback())
		})
	}
	raw := cost(func(tx *stoat.Tx) error { _, err := tx.Get([]byte("key")); return err })
	get := cost(func(tx *stoat.Tx) error { return c.GetInto(tx, 1, &into) })
	has := cost(func(tx *stoat.Tx) error { _, err := c.Has(tx, 1); return err })
	if get != raw+1 || has != raw {
		t.Errorf("Tx.Get allocates %v times, GetInto %v, want 1 more, and Has %v, want no more", raw,
			get, has)
	}
}

package record_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// document is an item of a document store.
type document struct {
	ID    string   `stoat:"id,key"`
	Title string   `stoat:"title"`
	Count int      `stoat:"count"`
	Tags  []string `stoat:"tags,index"`
}

// BenchmarkOpen measures opening a database and a collection, up to reading one record, and closing
// the database.
func BenchmarkOpen(b *testing.B) {
	dir, opts := b.TempDir(), &stoat.Options{Sync: stoat.SyncNever}
	db, err := stoat.Open(dir, opts)
	if err != nil {
		b.Fatal(err)
	}
	c := mustOpen[document](b, db, "documents", nil)
	random := rand.New(rand.NewPCG(1, 1))
	var ids []string
	for len(ids) < 10_000 {
		update(b, db, func(tx *stoat.Tx) error {
			for range 1_000 {
				i := len(ids)
				d := document{fmt.Sprintf("%08x%012x", random.Uint32(), random.Uint64()>>16),
					fmt.Sprint("Item ", i), i, []string{fmt.Sprint("tag", i), "category"}}
				ids = append(ids, d.ID)
				if err := c.Put(tx, &d); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		db, err := stoat.Open(dir, opts)
		if err != nil {
			b.Fatal(err)
		}
		c, err := record.Open[document](db, "documents", nil)
		if err != nil {
			b.Fatal(err)
		}
		view(b, db, func(tx *stoat.Tx) error {
			_, err := c.Get(tx, ids[i%len(ids)])
			return err
		})
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

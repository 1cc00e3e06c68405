package stoat_test

import (
	"fmt"

	"github.com/stoatdb/stoat"
)

// What the entries of a database are in, from the newest to the oldest.
func ExampleDB_Shape() {
	db, err := stoat.OpenMemory(&stoat.Options{Compression: stoat.CompressionNone})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	names := map[uint64]string{0: "(root)"}
	write := func(name string, keys ...string) error {
		return db.Update(func(tx *stoat.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(name))
			if err != nil {
				return err
			}
			names[b.ID()] = name
			for _, key := range keys {
				if err := b.Put([]byte(key), nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := write("animals", "badger", "stoat"); err != nil {
		panic(err)
	}
	if err := db.Flush(); err != nil { // writes tables
		panic(err)
	}
	if err := write("animals", "otter"); err != nil {
		panic(err)
	}

	var s stoat.Shape = db.Shape()
	for _, m := range s.Memtables {
		fmt.Println("memtable:", stoat.MemtableInfo(m).Entries, "entries")
	}
	show := func(what string, r stoat.RunInfo) {
		for _, t := range r.Tables {
			fmt.Printf("%s: %d entries from %s to %s\n", what, stoat.TableInfo(t).Entries,
				place(names, t.First), place(names, t.Last))
		}
	}
	for _, r := range s.Young {
		show("young", r)
	}
	show("bottom", s.Bottom)
	for _, f := range s.ValueFiles {
		fmt.Println("value file:", stoat.ValueFileInfo(f).Bytes, "bytes")
	}
	for _, j := range s.Jobs {
		fmt.Println("under way:", stoat.JobInfo(j).Reason)
	}

	// Output:
	// memtable: 1 entries
	// bottom: 2 entries from (root)/animals to the catalog's end
	// bottom: 2 entries from animals/"badger" to animals/"stoat"
}

// place returns a place as text.
func place(buckets map[uint64]string, p stoat.Place) string {
	switch {
	case p.Catalog && p.Key == nil:
		return "the catalog's end"
	case p.Catalog:
		return buckets[p.Bucket] + "/" + string(p.Key)
	}
	return fmt.Sprintf("%s/%q", buckets[p.Bucket], p.Key)
}

package cometdb_test

import (
	"fmt"
	"log"
	"os"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/cometdb"
)

// The types iterator and batch stand for those of the module in use: dbm.Iterator and dbm.Batch.
func Example() {
	dir, err := os.MkdirTemp("", "cometdb-")
	check(err)
	defer os.RemoveAll(dir)

	db, err := stoat.Open(dir, &stoat.Options{Sync: stoat.SyncNever})
	check(err)
	store := cometdb.New(db,
		func(it *cometdb.Iterator) iterator { return it },
		func(b *cometdb.Batch) batch { return b })
	defer store.Close() // closes db, too

	check(store.Set([]byte("block/1"), []byte("genesis")))
	check(store.SetSync([]byte("block/2"), []byte("next"))) // durable when it returns
	it, err := store.ReverseIterator([]byte("block/"), []byte("block0"))
	check(err)
	defer it.Close()
	for ; it.Valid(); it.Next() {
		fmt.Printf("%s: %s\n", it.Key(), it.Value())
	}
	check(it.Error())
	// Output:
	// block/2: next
	// block/1: genesis
}

func ExampleStore_Print() {
	db, err := stoat.OpenMemory(nil)
	check(err)
	store := wrap(db)
	defer store.Close()
	check(store.Set([]byte("key"), []byte{1, 255}))
	check(store.Set([]byte("none"), []byte{}))
	check(store.Print())
	// Output:
	// 6b6579: 01ff
	// 6e6f6e65:
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

package datastore_test

import (
	"context"
	"fmt"
	"log"
	"os"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/datastore"
)

func Example() {
	dir, err := os.MkdirTemp("", "datastore-")
	check(err)
	defer os.RemoveAll(dir)
	ctx := context.Background()

	db, err := stoat.Open(dir, nil)
	check(err)
	var store ds.Datastore = datastore.New(db)
	defer store.Close() // closes db, too

	check(store.Put(ctx, ds.NewKey("/mustelids/stoat"), []byte("Mustela erminea")))
	check(store.Put(ctx, ds.NewKey("/mustelids/weasel"), []byte("Mustela nivalis")))
	for e, err := range ds.QueryIter(ctx, store, query.Query{Prefix: "/mustelids"}) {
		check(err)
		fmt.Printf("%s: %s\n", e.Key, e.Value)
	}
	// Output:
	// /mustelids/stoat: Mustela erminea
	// /mustelids/weasel: Mustela nivalis
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

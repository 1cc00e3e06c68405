package remote_test

import (
	"context"
	"fmt"
	"os"

	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

func ExampleOpenReader() {
	dir, err := os.MkdirTemp("", "stoat")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, store := context.Background(), memstore.New() // in earnest, a folderstore or a bucket

	db, err := remote.Open(ctx, store, dir, nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if err := db.Ship(ctx); err != nil {
		panic(err)
	}

	// Any other machine, for as long as it likes.
	r, err := remote.OpenReader(ctx, store, "", nil)
	if err != nil {
		panic(err)
	}
	defer r.Close()

	if err := db.Put([]byte("capital"), []byte("Reykjavík")); err != nil {
		panic(err)
	}
	if err := r.WaitFor(ctx, db.Position()); err != nil {
		panic(err)
	}
	value, err := r.Get([]byte("capital"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", value)
	// Output: Reykjavík
}

package remote_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

func Example() {
	dir, err := os.MkdirTemp("", "stoat")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, store := context.Background(), memstore.New() // in earnest, a folderstore or a bucket

	db, err := remote.Open(ctx, store, filepath.Join(dir, "first"), nil)
	if err != nil {
		panic(err)
	}
	if err := db.Put([]byte("capital"), []byte("Reykjavík")); err != nil {
		panic(err)
	}
	if err := db.Close(); err != nil { // ships the rest
		panic(err)
	}

	// Another machine, which has nothing but the store.
	db, err = remote.Open(ctx, store, filepath.Join(dir, "second"), nil)
	if err != nil {
		panic(err)
	}
	value, err := db.Get([]byte("capital"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s, epoch %d\n", value, db.Status().Epoch)
	if err := db.Close(); err != nil {
		panic(err)
	}
	// Output: Reykjavík, epoch 2
}

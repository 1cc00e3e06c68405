package remote_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

func ExampleReader_TakeOver() {
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
	defer db.Close()
	if err := db.Put([]byte("capital"), []byte("Reykjavík")); err != nil {
		panic(err)
	}
	if err := db.Ship(ctx); err != nil {
		panic(err)
	}

	// Another machine follows, and takes over when somebody says so.
	standby, err := remote.OpenReader(ctx, store, filepath.Join(dir, "cache"), nil)
	if err != nil {
		panic(err)
	}
	defer standby.Close()
	second, err := standby.TakeOver(ctx, filepath.Join(dir, "second"), nil)
	if err != nil {
		panic(err)
	}
	defer second.Close()
	value, err := second.Get([]byte("capital"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s; the first one is fenced: %v\n", value,
		errors.Is(db.Confirm(ctx), remote.ErrFenced))
	// Output: Reykjavík; the first one is fenced: true
}

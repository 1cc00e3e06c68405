package remote_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// Commits that return once they are in the store survive the machine, and a copy can be made as of
// any of them. A machine that was taken over from learns of it.
func ExampleWait() {
	dir, err := os.MkdirTemp("", "stoat")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, store := context.Background(), memstore.New() // in earnest, a folderstore or a bucket
	options := &remote.Options{Durability: remote.Wait}

	first, err := remote.Open(ctx, store, filepath.Join(dir, "first"), options)
	if err != nil {
		panic(err)
	}
	if err := first.Put([]byte("balance"), []byte("10")); err != nil {
		panic(err)
	}
	position := first.Position()
	if err := first.Put([]byte("balance"), []byte("0")); err != nil {
		panic(err)
	}

	second, err := remote.Open(ctx, store, filepath.Join(dir, "second"), options)
	if err != nil {
		panic(err)
	}
	fmt.Println("first:", errors.Is(first.Confirm(ctx), remote.ErrFenced))
	fmt.Println("second:", second.Confirm(ctx))

	past := filepath.Join(dir, "past")
	err = remote.Restore(ctx, store, past, &remote.RestoreOptions{Position: position})
	if err != nil {
		panic(err)
	}
	copied, err := stoat.Open(past, nil)
	if err != nil {
		panic(err)
	}
	balance, err := copied.Get([]byte("balance"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("balance: %s\n", balance)
	if err := errors.Join(copied.Close(), second.Close()); err != nil {
		panic(err)
	}
	_ = first.Close() // it is fenced
	// Output:
	// first: true
	// second: <nil>
	// balance: 10
}

package remote_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

func ExampleClone() {
	dir, err := os.MkdirTemp("", "stoat")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, production := context.Background(), memstore.New() // in earnest, two buckets
	db, err := remote.Open(ctx, production, filepath.Join(dir, "production"), nil)
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

	own := memstore.New()
	cloned, err := remote.Clone(ctx, own, production, &remote.CloneOptions{Name: "production"})
	if err != nil {
		panic(err)
	}
	staging, err := remote.Open(ctx, remote.CloneStore(own, production),
		filepath.Join(dir, "staging"), nil)
	if err != nil {
		panic(err)
	}
	if err := staging.Put([]byte("capital"), []byte("Tórshavn")); err != nil {
		panic(err)
	}
	if _, err := staging.Detach(ctx); err != nil { // to keep it without its parent
		panic(err)
	}
	if err := staging.Close(); err != nil {
		panic(err)
	}

	value, err := db.Get([]byte("capital"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("cloned at commit %d, and production has %s\n", cloned.Commit, value)
	// Output: cloned at commit 1, and production has Reykjavík
}

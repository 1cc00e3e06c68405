package cryptstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/cryptstore"
	"github.com/stoatdb/stoat/remote/memstore"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	key := make([]byte, 32) // from crypto/rand, kept in the secret store of your platform

	bucket := memstore.New() // any store
	store, err := cryptstore.Open(ctx, bucket, key)
	if err != nil {
		log.Fatal(err)
	}
	opts := &remote.Options{Database: &stoat.Options{Key: key}}
	db, err := remote.Open(ctx, store, filepath.Join(dir, "db"), opts)
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Put([]byte("greeting"), []byte("hello")); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}

	_, err = remote.OpenReader(ctx, bucket, "", nil)
	fmt.Println("without the key:", errors.Is(err, stoat.ErrKey))
	// Output: without the key: true
}

package stoat_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat"
)

// A database that nobody can read without its key.
func ExampleOptions_key() {
	parent, err := os.MkdirTemp("", "stoat-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "db")
	key := make([]byte, 32) // keep it in the secret store of the platform
	if _, err := rand.Read(key); err != nil {
		log.Fatal(err)
	}

	db, err := stoat.Open(dir, &stoat.Options{Key: key})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Put([]byte("diary"), []byte("the weasel was here")); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}

	_, err = stoat.Open(dir, nil)
	fmt.Println("without the key:", errors.Is(err, stoat.ErrKey))
	// Output: without the key: true
}

package boltcompat_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	bolt "github.com/stoatdb/stoat/boltcompat"
)

// A program for bbolt, of which only the import has changed.
func Example() {
	dir, err := os.MkdirTemp("", "boltcompat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	db, err := bolt.Open(filepath.Join(dir, "app.db"), 0o600, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("animals"))
		if err != nil {
			return err
		}
		return b.Put([]byte("stoat"), []byte("Mustela erminea"))
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("animals")).ForEach(func(k, v []byte) error {
			fmt.Printf("%s: %s\n", k, v)
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: stoat: Mustela erminea
}

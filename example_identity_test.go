package stoat_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat"
)

// A program that has told others about its data stores the identity, and compares it when it starts
// again.
func ExampleDB_Identity() {
	db := exampleDB()
	defer db.Close()
	if err := db.Put([]byte("seq"), []byte("17")); err != nil {
		log.Fatal(err)
	}
	known := db.Identity()
	var backup bytes.Buffer
	if err := db.BackupTo(context.Background(), &backup); err != nil {
		log.Fatal(err)
	}

	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "restored.db")
	if err := stoat.RestoreFrom(context.Background(), &backup, dir); err != nil {
		log.Fatal(err)
	}
	restored, err := stoat.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer restored.Close()
	compare := func(now, before stoat.Identity) {
		switch {
		case now == before:
			fmt.Println("nothing is missing")
		case now.Database == before.Database:
			fmt.Println("restored from a backup of the same database")
		default:
			fmt.Println("another database")
		}
	}
	compare(db.Identity(), known)
	compare(restored.Identity(), known)
	// Output:
	// nothing is missing
	// restored from a backup of the same database
}

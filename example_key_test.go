package stoat_test

import (
	"bytes"
	"context"
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

// exampleKeyed makes a database in dir, which is encrypted unless key is nil.
func exampleKeyed(dir string, key []byte) *stoat.DB {
	db, err := stoat.Open(dir, &stoat.Options{Key: key})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Put([]byte("diary"), []byte("the weasel was here")); err != nil {
		log.Fatal(err)
	}
	return db
}

// The yearly change of a key that only the program knew. The data is not written again.
func ExampleRekey() {
	dir, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	oldKey, newKey := bytes.Repeat([]byte("o"), 32), bytes.Repeat([]byte("n"), 32)
	if err := exampleKeyed(dir, oldKey).Close(); err != nil {
		log.Fatal(err)
	}

	if err := stoat.Rekey(dir, oldKey, newKey); err != nil {
		log.Fatal(err)
	}
	_, err = stoat.Open(dir, &stoat.Options{Key: oldKey})
	fmt.Println("with the old key:", errors.Is(err, stoat.ErrKey))
	db, err := stoat.Open(dir, &stoat.Options{Key: newKey})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("with the new key:", db.Close())
	// Output:
	// with the old key: true
	// with the new key: <nil>
}

// A database that was not encrypted becomes so by a backup, and its program then uses the backup.
func ExampleDB_BackupWithKey() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	plain := exampleKeyed(filepath.Join(parent, "plain"), nil)
	defer plain.Close()

	dir, key := filepath.Join(parent, "encrypted"), bytes.Repeat([]byte("k"), 32)
	if err := plain.BackupWithKey(context.Background(), dir, key); err != nil {
		log.Fatal(err)
	}
	db, err := stoat.Open(dir, &stoat.Options{Key: key})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	value, err := db.Get([]byte("diary"))
	fmt.Printf("%s %v\n", value, err)
	// Output: the weasel was here <nil>
}

// A backup for a place that is trusted less has a key of its own, which never meets that of the
// database.
func ExampleDB_BackupToWithKey() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	key, elsewhere := bytes.Repeat([]byte("k"), 32), bytes.Repeat([]byte("e"), 32)
	db := exampleKeyed(filepath.Join(parent, "db"), key)
	defer db.Close()

	ctx := context.Background()
	var stream bytes.Buffer
	if err := db.BackupToWithKey(ctx, &stream, elsewhere); err != nil {
		log.Fatal(err)
	}
	dir := filepath.Join(parent, "restored")
	if err := stoat.RestoreWithKey(ctx, &stream, dir, elsewhere, key); err != nil {
		log.Fatal(err)
	}
	restored, err := stoat.Open(dir, &stoat.Options{Key: key})
	if err != nil {
		log.Fatal(err)
	}
	defer restored.Close()
	value, err := restored.Get([]byte("diary"))
	fmt.Printf("%s %v\n", value, err)
	// Output: the weasel was here <nil>
}

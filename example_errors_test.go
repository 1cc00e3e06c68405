package stoat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat"
)

// What a program says about a directory that it cannot open.
func ExampleErrLocked() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	open := func(dir string) {
		db, err := stoat.Open(filepath.Join(parent, dir), nil)
		switch {
		case errors.Is(err, stoat.ErrLocked): // err names the process
			fmt.Println(dir, "is in use")
		case errors.Is(err, stoat.ErrFormat):
			fmt.Println(dir, "is no database")
		case err != nil:
			log.Fatal(err)
		default:
			defer db.Close()
			fmt.Println(dir, "is open")
		}
	}
	if err := os.Mkdir(filepath.Join(parent, "letters"), 0o700); err != nil {
		log.Fatal(err)
	}
	err = os.WriteFile(filepath.Join(parent, "letters", "MANIFEST"), []byte("Dear Ada,"), 0o600)
	if err != nil {
		log.Fatal(err)
	}
	open("letters")

	db, err := stoat.Open(filepath.Join(parent, "my.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Put([]byte("stoat"), []byte("Mustela erminea")); err != nil {
		log.Fatal(err)
	}
	open("my.db")
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	open("my.db")
	// Output:
	// letters is no database
	// my.db is in use
	// my.db is open
}

// What a program does about the errors that it must expect in production.
func ExampleErrPoisoned() {
	advice := func(err error) string {
		switch {
		case errors.Is(err, stoat.ErrNoSpace):
			return "make space: nothing of the transaction was written"
		case errors.Is(err, stoat.ErrPoisoned):
			return "stop and find out why: what is readable is there when the database opens again"
		case errors.Is(err, stoat.ErrCorrupt):
			return "keep a copy, and restore a backup"
		}
		return ""
	}
	for _, err := range []error{
		fmt.Errorf("commit: %w", stoat.ErrNoSpace),
		fmt.Errorf("commit: %w", stoat.ErrPoisoned),
		fmt.Errorf("get: %w", stoat.ErrCorrupt),
	} {
		fmt.Println(advice(err))
	}
	// Output:
	// make space: nothing of the transaction was written
	// stop and find out why: what is readable is there when the database opens again
	// keep a copy, and restore a backup
}

// A check for a load balancer, as cheap as reading a variable.
func ExampleDB_Err() {
	db := exampleDB()
	healthy := func() string {
		switch err := db.Err(); {
		case errors.Is(err, stoat.ErrClosed):
			return "shutting down"
		case err != nil: // matches stoat.ErrPoisoned
			return "broken: " + err.Error()
		}
		return "healthy"
	}
	fmt.Println(healthy())
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(healthy())
	// Output:
	// healthy
	// shutting down
}

// The transaction to write with is the one at hand: another would wait for it for ever.
func ExampleErrDeadlock() {
	db := exampleDB()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		err := db.Put([]byte("key"), nil)
		fmt.Println(errors.Is(err, stoat.ErrDeadlock))
		return tx.Put([]byte("key"), nil)
	})
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

// A transaction says what it is not for.
func ExampleErrReadOnly() {
	db := exampleDB()
	defer db.Close()
	var kept *stoat.Tx
	err := db.View(func(tx *stoat.Tx) error {
		kept = tx
		err := tx.Put([]byte("key"), nil)
		fmt.Println(errors.Is(err, stoat.ErrReadOnly))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = kept.Get([]byte("key"))
	fmt.Println(errors.Is(err, stoat.ErrTxClosed))
	// Output:
	// true
	// true
}

// A server that stores what its clients send tells their mistakes from its own.
func ExampleErrTooLarge() {
	db := exampleDB()
	defer db.Close()
	status := func(key []byte) int {
		switch err := db.Put(key, []byte("value")); {
		case errors.Is(err, stoat.ErrInvalidKey):
			return 400
		case errors.Is(err, stoat.ErrTooLarge):
			return 413
		case err != nil:
			return 500
		}
		return 200
	}
	fmt.Println(status(nil), status(bytes.Repeat([]byte("k"), 70_000)), status([]byte("key")))
	// Output: 400 413 200
}

func ExampleErrBucketNotFound() {
	db := exampleDB()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		if _, err := tx.CreateBucket([]byte("old")); err != nil {
			return err
		}
		_, err := tx.CreateBucket([]byte("old"))
		fmt.Println("exists:", errors.Is(err, stoat.ErrBucketExists))
		if err := tx.DeleteBucket([]byte("old")); err != nil {
			return err
		}
		_, err = tx.Bucket([]byte("old"))
		fmt.Println("is gone:", errors.Is(err, stoat.ErrBucketNotFound))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// exists: true
	// is gone: true
}

// A loop that missed changes says so. Load, for example, writes past the log that loops read.
func ExampleErrLagged() {
	db, remove := exampleFolder()
	defer remove()
	ctx, from := context.Background(), db.Position()
	animals := map[string][]byte{"stoat": []byte("Mustela erminea")}
	err := db.Load(ctx, func(yield func(key, value []byte) bool) {
		for key, value := range maps.All(animals) {
			if !yield([]byte(key), value) {
				return
			}
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, err := range db.Watch(ctx, stoat.Range{}, from) {
		if errors.Is(err, stoat.ErrLagged) {
			fmt.Println("read everything again") // and continue from Tx.Position
		} else if err != nil {
			log.Fatal(err)
		}
	}
	// Output: read everything again
}

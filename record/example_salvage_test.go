package record_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// salvagedUsers returns a database of which Salvage could not save the second of three users.
func salvagedUsers(parent string) *stoat.DB {
	damaged, saved := filepath.Join(parent, "damaged"), filepath.Join(parent, "saved")
	db, err := stoat.Open(damaged, &stoat.Options{Compression: stoat.CompressionNone})
	if err != nil {
		log.Fatal(err)
	}
	users, err := record.Open[User](db, "users", nil)
	if err != nil {
		log.Fatal(err)
	}
	long := strings.Repeat("a long street ", 1000)
	err = db.Update(func(tx *stoat.Tx) error {
		return errors.Join(
			users.Put(tx, &User{1, "ada@example.org", 36, nil, Address{"", "London"}}),
			users.Put(tx, &User{2, "bob@example.org", 20, nil, Address{long, "Ulm"}}),
			users.Put(tx, &User{3, "eve@example.org", 50, nil, Address{"", "Ulm"}}),
		)
	})
	if err := errors.Join(err, db.Close(), damage(damaged, long)); err != nil {
		log.Fatal(err)
	}
	if _, err := stoat.Salvage(context.Background(), damaged, saved); err != nil {
		log.Fatal(err)
	}
	if db, err = stoat.Open(saved, nil); err != nil {
		log.Fatal(err)
	}
	return db
}

// damage changes a byte of a value in the files of a database that is closed.
func damage(dir, value string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if i := bytes.Index(content, []byte(value[:20])); i >= 0 {
			content[i] ^= 1
			err = os.WriteFile(name, content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A program that has salvaged its database opens its collections in this way.
func ExampleReindex() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	db := salvagedUsers(parent)
	defer db.Close()

	users, err := record.Open[User](db, "users", nil)
	if errors.Is(err, record.ErrInconsistent) {
		fmt.Println("something is lost")
		users, err = record.Reindex[User](db, "users", nil)
	}
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		for u, err := range users.By("age").All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(u.Email)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// something is lost
	// ada@example.org
	// eve@example.org
}

// A tool mends any collection after a salvage, without its type.
func ExampleReindexStored() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	db := salvagedUsers(parent)
	defer db.Close()

	if err := record.ReindexStored(db, "users"); err != nil {
		log.Fatal(err)
	}
	_, err = record.Open[User](db, "users", nil)
	fmt.Println(err)
	// Output: <nil>
}

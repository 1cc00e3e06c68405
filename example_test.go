package stoat_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat"
)

func ExampleOpen() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)

	db, err := stoat.Open(filepath.Join(parent, "my.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Put([]byte("stoat"), []byte("Mustela erminea")); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}

	db, err = stoat.Open(filepath.Join(parent, "my.db"), &stoat.Options{ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	value, err := db.Get([]byte("stoat"))
	fmt.Printf("%s %v\n", value, err)
	// Output: Mustela erminea <nil>
}

// exampleDB returns a database for the examples, which omit most error handling.
func exampleDB() *stoat.DB {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	return db
}

func ExampleDB_Update() {
	db := exampleDB()
	defer db.Close()

	err := db.Update(func(tx *stoat.Tx) error {
		if err := tx.Put([]byte("alice"), []byte("100")); err != nil {
			return err
		}
		return tx.Put([]byte("bob"), []byte("50"))
	})
	fmt.Println("first:", err)

	err = db.Update(func(tx *stoat.Tx) error {
		if err := tx.Delete([]byte("alice")); err != nil {
			return err
		}
		return errors.New("changed my mind") // rolls back
	})
	fmt.Println("second:", err)

	value, err := db.Get([]byte("alice"))
	fmt.Printf("alice: %s %v\n", value, err)
	// Output:
	// first: <nil>
	// second: changed my mind
	// alice: 100 <nil>
}

func ExampleDB_View() {
	db := exampleDB()
	defer db.Close()

	err := db.View(func(tx *stoat.Tx) error {
		_, err := tx.Get([]byte("absent"))
		if errors.Is(err, stoat.ErrNotFound) {
			fmt.Println("there is no such key")
			return nil
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// there is no such key
	// <nil>
}

func ExampleTx_Heads() {
	db := exampleDB()
	defer db.Close()

	err := db.Update(func(tx *stoat.Tx) error {
		if err := tx.Put([]byte("mink"), []byte("2026-05-01 Mustela lutreola, …")); err != nil {
			return err
		}
		return tx.Put([]byte("stoat"), []byte("2026-06-02 Mustela erminea, …"))
	})
	if err != nil {
		log.Fatal(err)
	}

	err = db.View(func(tx *stoat.Tx) error {
		for key, date := range tx.Heads(stoat.Range{}, len("2006-01-02")) {
			fmt.Printf("%s: %s\n", key, date)
		}
		return tx.Err()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// mink: 2026-05-01
	// stoat: 2026-06-02
}

func ExampleTx_Scan() {
	db := exampleDB()
	defer db.Close()

	err := db.Update(func(tx *stoat.Tx) error {
		for _, key := range []string{"mink", "stoat/1", "stoat/2", "stoat/3", "weasel"} {
			if err := tx.Put([]byte(key), []byte("…")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}

	err = db.View(func(tx *stoat.Tx) error {
		newest := stoat.Prefix([]byte("stoat/"))
		newest.Reverse, newest.Limit = true, 2
		for key, value := range tx.Scan(newest) {
			fmt.Printf("%s = %s\n", key, value)
		}
		for key := range tx.Keys(stoat.Range{Start: []byte("n"), End: []byte("stoat/2")}) {
			fmt.Printf("%s\n", key)
		}
		return nil // had a loop failed, View would return the error
	})
	fmt.Println(err)
	// Output:
	// stoat/3 = …
	// stoat/2 = …
	// stoat/1
	// <nil>
}

func ExampleBucket() {
	db := exampleDB()
	defer db.Close()

	err := db.Update(func(tx *stoat.Tx) error {
		animals, err := tx.CreateBucketIfNotExists([]byte("animals"))
		if err != nil {
			return err
		}
		for _, name := range []string{"mustelids", "corvids"} {
			family, err := animals.CreateBucket([]byte(name))
			if err != nil {
				return err
			}
			if err := family.Put([]byte("about"), []byte("the "+name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}

	err = db.View(func(tx *stoat.Tx) error {
		animals, err := tx.Bucket([]byte("animals"))
		if err != nil {
			return err
		}
		for name := range animals.Buckets() {
			family, err := animals.Bucket(name)
			if err != nil {
				return err
			}
			about, err := family.Get([]byte("about"))
			if err != nil {
				return err
			}
			fmt.Printf("%s: %s\n", name, about)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// corvids: the corvids
	// mustelids: the mustelids
	// <nil>
}

func ExampleTx_CompareAndSwap() {
	db := exampleDB()
	defer db.Close()

	err := db.Update(func(tx *stoat.Tx) error {
		for _, old := range [][]byte{nil, nil, []byte("mine")} { // nil: must be absent
			swapped, err := tx.CompareAndSwap([]byte("lease"), old, []byte("mine"))
			if err != nil {
				return err
			}
			fmt.Println(swapped)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// true
	// false
	// true
	// <nil>
}

func ExampleCursor() {
	db := exampleDB()
	defer db.Close()

	err := db.Update(func(tx *stoat.Tx) error {
		for _, day := range []string{"2025-01-03", "2025-02-14", "2025-03-01"} {
			if err := tx.Put([]byte(day), []byte("…")); err != nil {
				return err
			}
		}
		c := tx.Cursor()
		key, _ := c.Seek([]byte("2025-02"))
		fmt.Printf("from February on: %s\n", key)
		key, _ = c.Prev()
		fmt.Printf("before that: %s\n", key)
		for key, _ := c.First(); key != nil; key, _ = c.Next() {
			fmt.Printf("%s\n", key)
		}
		return c.Err()
	})
	fmt.Println(err)
	// Output:
	// from February on: 2025-02-14
	// before that: 2025-01-03
	// 2025-01-03
	// 2025-02-14
	// 2025-03-01
	// <nil>
}

func ExampleTx_NextSequence() {
	db := exampleDB()
	defer db.Close()

	err := db.Update(func(tx *stoat.Tx) error {
		for range 3 {
			id, err := tx.NextSequence()
			if err != nil {
				return err
			}
			fmt.Println(id)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1
	// 2
	// 3
	// <nil>
}

func ExampleBucket_Stats() {
	db := exampleDB()
	defer db.Close()

	err := db.Update(func(tx *stoat.Tx) error {
		animals, err := tx.CreateBucket([]byte("animals"))
		if err != nil {
			return err
		}
		if err := animals.Put([]byte("stoat"), []byte("Mustela erminea")); err != nil {
			return err
		}
		stats, err := animals.Stats()
		if err != nil {
			return err
		}
		fmt.Printf("%d key, %d bytes\n", stats.Keys, stats.Bytes)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1 key, 20 bytes
	// <nil>
}

func ExampleDB_Check() {
	db := exampleDB()
	defer db.Close()
	if err := db.Put([]byte("stoat"), []byte("Mustela erminea")); err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	switch err := db.Check(ctx); {
	case err == nil:
		fmt.Println("nothing is wrong")
	case errors.Is(err, stoat.ErrCorrupt):
		fmt.Println("restore a backup:", err)
	default:
		fmt.Println("it is not known:", err)
	}
	// Output: nothing is wrong
}

func ExampleDB_Backup() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	db := exampleDB()
	defer db.Close()

	dir := filepath.Join(parent, "backup")
	for _, name := range []string{"alice", "bob"} {
		if err := db.Put([]byte(name), []byte("100")); err != nil {
			log.Fatal(err)
		}
		if err := db.Backup(context.Background(), dir); err != nil { // again, what is new
			log.Fatal(err)
		}
	}

	backup, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer backup.Close()
	value, err := backup.Get([]byte("bob"))
	fmt.Printf("%s %v\n", value, err)
	// Output: 100 <nil>
}

package stoat_test

import (
	"errors"
	"fmt"
	"log"
	"strconv"
	"time"

	"github.com/stoatdb/stoat"
)

// A layer that counts many times in a transaction, and writes the count once, before the commit.
func ExampleLocal() {
	db := exampleDB()
	defer db.Close()
	type pending struct{} // a key that no other package can have
	count := func(tx *stoat.Tx) {
		n := stoat.Local(tx, pending{}, func() *uint64 {
			n := new(uint64)
			tx.BeforeCommit(func() error { // after a rollback, nothing has happened
				old, err := tx.Get([]byte("visits"))
				if err != nil && !errors.Is(err, stoat.ErrNotFound) {
					return err
				}
				before, _ := strconv.ParseUint(string(old), 10, 64)
				return tx.Put([]byte("visits"), strconv.AppendUint(nil, before+*n, 10))
			})
			return n
		})
		*n++
	}
	for range 2 {
		err := db.Update(func(tx *stoat.Tx) error {
			for range 1000 {
				count(tx)
			}
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	visits, err := db.Get([]byte("visits"))
	fmt.Printf("%s %v\n", visits, err)
	// Output: 2000 <nil>
}

// A layer that uses one bucket in every transaction finds it without a lookup, as long as nobody
// creates, drops or moves buckets.
func ExampleRef() {
	db := exampleDB()
	defer db.Close()
	var known stoat.Ref // in a struct that goroutines share, an atomic.Pointer
	visits := func(tx *stoat.Tx) (*stoat.Bucket, error) {
		if b := tx.Refer(known); b != nil {
			return b, nil
		}
		b, err := tx.Bucket([]byte("visits"))
		if err != nil {
			return nil, err
		}
		known = b.Ref()
		return b, nil
	}
	err := db.Update(func(tx *stoat.Tx) error {
		_, err := tx.CreateBucket([]byte("visits"))
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		err := db.Update(func(tx *stoat.Tx) error {
			fmt.Println("known:", tx.Refer(known) != nil)
			b, err := visits(tx)
			if err != nil {
				return err
			}
			_, err = b.NextSequence()
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// known: false
	// known: true
	// known: true
}

// A layer that stores the time at which a value ends with the value. Within a transaction nothing
// ends, and whatever has ended is removed where that is possible.
func ExampleTx_Now() {
	db := exampleDB()
	defer db.Close()
	get := func(tx *stoat.Tx, key []byte) ([]byte, error) {
		value, err := tx.Get(key)
		if err != nil {
			return nil, err
		}
		end, err := strconv.ParseInt(string(value[:10]), 10, 64)
		if err != nil || tx.Now().Before(time.Unix(end, 0)) {
			return value[10:], err
		}
		if tx.Writable() {
			if err := tx.Delete(key); err != nil {
				return nil, err
			}
		}
		return nil, stoat.ErrNotFound
	}
	if err := db.Put([]byte("lease"), []byte("1767225600mine")); err != nil { // until 2026 begins
		log.Fatal(err)
	}
	for _, run := range []func(func(*stoat.Tx) error) error{db.View, db.Update} {
		err := run(func(tx *stoat.Tx) error {
			_, err := get(tx, []byte("lease"))
			kept, err1 := tx.Has([]byte("lease"))
			fmt.Println(err, kept)
			return err1
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// key not found true
	// key not found false
}

package stoat_test

import (
	"fmt"
	"log"
	"time"

	"github.com/stoatdb/stoat"
)

// A session that ends an hour after it began, however often it changes.
func ExampleTx_TTL() {
	db := exampleDB()
	defer db.Close()
	if err := db.PutTTL([]byte("session"), []byte("empty cart"), time.Hour); err != nil {
		log.Fatal(err)
	}
	err := db.Update(func(tx *stoat.Tx) error {
		_, err := tx.CompareAndSwap([]byte("session"), []byte("empty cart"), []byte("one book"))
		if err != nil {
			return err
		}
		ttl, expires, err := tx.TTL([]byte("session"))
		fmt.Println(ttl.Round(time.Minute), expires, err)
		return tx.Put([]byte("session"), []byte("stays"))
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		ttl, expires, err := tx.TTL([]byte("session"))
		fmt.Println(ttl, expires, err)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1h0m0s true <nil>
	// 0s false <nil>
}

// A lock that its owner holds for a while: nobody else can release it, and it ends by itself.
func ExampleTx_CompareAndDelete() {
	db := exampleDB()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		if err := tx.PutTTL([]byte("lock"), []byte("alice"), time.Hour); err != nil {
			return err
		}
		for _, owner := range []string{"bob", "alice"} {
			released, err := tx.CompareAndDelete([]byte("lock"), []byte(owner))
			if err != nil {
				return err
			}
			fmt.Println(owner, released)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// bob false
	// alice true
}

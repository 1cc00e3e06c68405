package tuple_test

import (
	"fmt"
	"log"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

func ExampleEncode() {
	key, err := tuple.Encode("order", 42, true)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%x\n", key)

	values, err := tuple.Decode(key)
	fmt.Println(values, err)
	// Output:
	// 286f7264657200152a05
	// [order 42 true] <nil>
}

// Orders are sorted by customer, and each customer's orders from newest to oldest.
func ExamplePrefix() {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	put := func(customer string, year int) {
		key, err := tuple.Encode("order", customer, tuple.Desc(year))
		if err != nil {
			log.Fatal(err)
		}
		if err := db.Put(key, nil); err != nil {
			log.Fatal(err)
		}
	}
	put("bob", 2023)
	put("alice", 2024)
	put("alice", 2025)

	err = db.View(func(tx *stoat.Tx) error {
		for key := range tx.Keys(tuple.Prefix("order", "alice")) {
			r := tuple.NewReader(key)
			if err := r.Skip(); err != nil {
				return err
			}
			customer, err := r.String()
			if err != nil {
				return err
			}
			year, err := r.Int()
			if err != nil {
				return err
			}
			fmt.Println(customer, year)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// alice 2025
	// alice 2024
}

func ExampleInvert() {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	key := tuple.AppendString(nil, "visit")
	n := len(key)
	key = tuple.AppendTime(key, at)
	tuple.Invert(key[n:])

	same, err := tuple.Encode("visit", tuple.Desc(at))
	fmt.Println(string(key) == string(same), err)
	// Output: true <nil>
}

func ExampleBetween() {
	r := tuple.Between(tuple.Tuple{"age", 18}, tuple.Tuple{"age", 65})
	fmt.Printf("%x up to %x\n", r.Start, r.End)
	// Output: 28616765001512 up to 28616765001541
}

package stoat_test

import (
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
)

// A function that takes a cursor works on any bucket, and goes on where the caller has put it.
func ExampleCursor_Last() {
	db := exampleDB()
	defer db.Close()
	back := func(c *stoat.Cursor, n int) error { // prints n keys before the current one
		for range n {
			key, _ := c.Prev()
			if key == nil {
				break
			}
			fmt.Printf("%s\n", key)
		}
		return c.Err()
	}
	err := db.Update(func(tx *stoat.Tx) error {
		for _, day := range []string{"2025-01-03", "2025-02-14", "2025-03-01"} {
			if err := tx.Put([]byte(day), nil); err != nil {
				return err
			}
		}
		c := tx.Cursor()
		newest, _ := c.Last()
		fmt.Printf("newest: %s\n", newest)
		return back(c, 10)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// newest: 2025-03-01
	// 2025-02-14
	// 2025-01-03
}

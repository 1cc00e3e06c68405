package record_test

import (
	"context"
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// A cache of a result that each commit brings up to date.
func ExampleChanges() {
	db, users := exampleUsers()
	defer db.Close()
	cache := map[string]string{}
	store := func(entries []record.Entry[User]) {
		for _, e := range entries {
			cache[fmt.Sprint(e.Key)] = e.Record.Home.City
		}
	}
	apply := func(c record.Changes[User]) {
		store(c.Added)
		store(c.Changed)
		for _, e := range c.Removed {
			delete(cache, fmt.Sprint(e.Key))
		}
	}

	moved := false
	mathematicians := users.Query().Where(record.Has("tags", "maths"))
	for changes, err := range users.Watch(context.Background(), db, mathematicians) {
		if err != nil {
			log.Fatal(err)
		}
		apply(changes)
		fmt.Println(cache)
		if moved {
			break // a program would go on
		}
		moved = true
		err = db.Update(func(tx *stoat.Tx) error {
			return record.SetField(tx, users, 1, "home.city", "Turin")
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// map[[1]:London [3]:Ulm]
	// map[[1]:Turin [3]:Ulm]
}

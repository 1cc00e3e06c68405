package feed_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// A reader that shows a page of messages above and below one that it knows.
func ExampleQuery_After() {
	db, messages := openMessages()
	defer db.Close()
	const known = 2
	err := db.View(func(tx *stoat.Tx) error {
		older := messages.Query().Before(known).Newest(20)
		newer := messages.Query().After(known).Limit(20)
		for _, page := range []feed.Query[Message]{older, newer} {
			for e, err := range page.All(tx) {
				if err != nil {
					return err
				}
				fmt.Println(e.Seq, e.Value.Text)
			}
			fmt.Println("--")
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0 Hello
	// 1 Hi, alice
	// --
	// 3 How are you?
	// --
}

// Single entries of a query are found without reading those before.
func ExampleQuery_Nth() {
	db, messages := openMessages()
	defer db.Close()
	alice := messages.Query().Where(feed.In("author", "alice"))
	err := db.View(func(tx *stoat.Tx) error {
		first, err := alice.First(tx)
		if err != nil {
			return err
		}
		second, err := alice.Nth(tx, 1)
		if err != nil {
			return err
		}
		fmt.Println(first.Value.Text, second.Value.Text)

		_, err = alice.Nth(tx, 3)
		if errors.Is(err, stoat.ErrNotFound) {
			fmt.Println("there is no fourth one")
			return nil
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// Hello 1
	// there is no fourth one
}

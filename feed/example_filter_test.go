package feed_test

import (
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// Filters are values, so a program can compose them of what its user has chosen.
func ExampleFilter() {
	db, messages := openMessages()
	defer db.Close()
	by := func(author string) feed.Filter { return feed.In("author", author) }
	likes := feed.In("type", "like")
	err := db.View(func(tx *stoat.Tx) error {
		for _, filter := range []feed.Filter{
			by("bob").Or(likes),
			by("alice").AndNot(likes),
			by("alice").And(likes),
		} {
			q := messages.Query().Where(filter)
			n, err := q.Count(tx)
			if err != nil {
				return err
			}
			last, err := q.Last(tx)
			if err != nil {
				return err
			}
			fmt.Println(n, "entries, the last of them", last.Seq)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 entries, the last of them 2
	// 2 entries, the last of them 3
	// 1 entries, the last of them 2
}

// The addresses of a sublog come in their order; the counts tell which one is used most.
func ExampleAddress() {
	db, messages := openMessages()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		var busiest feed.Address
		for a, err := range messages.Addresses(tx, "author") {
			if err != nil {
				return err
			}
			if a.Count > busiest.Count {
				busiest = a
			}
		}
		fmt.Println(busiest.Name, busiest.Count)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: alice 3
}

// A program that no longer wants a sublog opens the feed without it, and then drops it once.
func ExampleFeed_DropSublog() {
	db, _ := openMessages()
	defer db.Close()
	messages, err := feed.Open[Message](db, "messages", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for _, sublog := range []string{"author", "type"} {
			if err := messages.DropSublog(tx, sublog); err != nil {
				return err
			}
		}
		n, err := messages.Len(tx)
		fmt.Println("still", n, "messages")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: still 4 messages
}

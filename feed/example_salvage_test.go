package feed_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// A feed that lost entries keeps the numbers of the others.
func ExampleReindex() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	db := salvagedMessages(parent)
	defer db.Close()

	messages, err := feed.Open[Message](db, "messages", nil)
	if errors.Is(err, feed.ErrInconsistent) {
		messages, err = feed.Reindex[Message](db, "messages", nil)
	}
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		for e, err := range messages.Query().WithRedacted().All(tx) {
			if err != nil {
				return err
			}
			fmt.Printf("%d %t %q\n", e.Seq, e.Redacted, e.Value.Text)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0 false "Hello"
	// 1 true ""
	// 2 false "How are you?"
}

// A tool mends any feed after a salvage, without its type.
func ExampleReindexStored() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	db := salvagedMessages(parent)
	defer db.Close()

	if err := feed.ReindexStored(db, "messages"); err != nil {
		log.Fatal(err)
	}
	_, err = feed.Open[Message](db, "messages", nil)
	fmt.Println(err)
	// Output: <nil>
}

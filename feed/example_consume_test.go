package feed_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// A consumer that cannot handle an entry stays there. Here it leaves out an entry of a type that
// the program does not know, and stops at any other failure.
func ExampleConsumeError() {
	db, messages := openMessages()
	defer db.Close()
	ctx, cancel := context.WithCancel(context.Background())
	errUnknown := errors.New("unknown type")
	handle := func(tx *stoat.Tx, e feed.Entry[Message]) error {
		if e.Value.Type != "post" {
			return errUnknown
		}
		if e.Seq == 3 {
			cancel() // a program would go on until it ends
		}
		return tx.Put(fmt.Appendf(nil, "page %d", e.Seq), []byte(e.Value.Text))
	}
	for ctx.Err() == nil {
		err := messages.Consume(ctx, db, "printer", handle)
		var stopped *feed.ConsumeError
		switch {
		case errors.Is(err, context.Canceled):
		case errors.As(err, &stopped) && stopped.Unwrap() == errUnknown:
			fmt.Println("left out:", stopped.Error())
			err = db.Update(func(tx *stoat.Tx) error {
				return messages.SetCursor(tx, stopped.Consumer, stopped.Seq+1)
			})
			if err != nil {
				log.Fatal(err)
			}
		default:
			log.Fatal(err)
		}
	}
	err := db.View(func(tx *stoat.Tx) error {
		for key, value := range tx.Scan(stoat.Prefix([]byte("page"))) {
			fmt.Printf("%s: %s\n", key, value)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// left out: consumer "printer" at entry 2: unknown type
	// page 0: Hello
	// page 1: Hi, alice
	// page 3: How are you?
}

// A consumer that made a mistake does its work again, from the oldest entry on.
func ExampleFeed_SetCursor() {
	db, messages := openMessages()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		if err := messages.SetCursor(tx, "search index", 4); err != nil {
			return err
		}
		oldest, err := messages.First(tx)
		if err != nil {
			return err
		}
		if err := messages.SetCursor(tx, "search index", oldest); err != nil {
			return err
		}
		next, err := messages.Cursor(tx, "search index")
		fmt.Println("next is", next)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: next is 0
}

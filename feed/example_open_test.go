package feed_test

import (
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// The type of a feed may gain and lose fields: older entries stay readable.
func ExampleOpen() {
	type Login struct {
		User string
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	logins, err := feed.Open[Login](db, "logins", nil) // creates it
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for _, user := range []string{"alice", "bob"} {
			seq, err := logins.Append(tx, &Login{User: user})
			if err != nil {
				return err
			}
			fmt.Println(seq, user)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}

	type LoginFrom struct {
		User, Address string
	}
	newer, err := feed.Open[LoginFrom](db, "logins", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		login, err := newer.Get(tx, 1)
		fmt.Printf("%+v\n", login)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0 alice
	// 1 bob
	// {User:bob Address:}
}

// Values of types other than structs and []byte are stored as JSON.
func ExampleOptions() {
	type Event map[string]any
	options := &feed.Options[Event]{
		Encoding: feed.EncodingJSON,
		Sublogs: map[string]func(*Event) []string{
			"fields": func(e *Event) (names []string) {
				for name := range *e {
					names = append(names, name)
				}
				return names
			},
		},
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	events, err := feed.Open(db, "events", options)
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for _, e := range []Event{{"user": "alice"}, {"user": "bob", "error": 404}} {
			if _, err := events.Append(tx, &e); err != nil {
				return err
			}
		}
		failed, err := events.Query().Where(feed.In("fields", "error")).Last(tx)
		fmt.Println(failed.Value["user"], failed.Value["error"])
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: bob 404
}

// A service opens its feeds once. Any number of goroutines may use them, in transactions of their
// own, which can hold other writes, too.
func ExampleFeed_Append() {
	type service struct {
		db       *stoat.DB
		messages *feed.Feed[Message]
	}
	var s service
	s.db, s.messages = openMessages()
	defer s.db.Close()

	var wg sync.WaitGroup
	for _, author := range []string{"alice", "bob"} {
		wg.Go(func() {
			err := s.db.Update(func(tx *stoat.Tx) error {
				seq, err := s.messages.Append(tx, &Message{author, "post", "Bye"})
				if err != nil {
					return err
				}
				return tx.Put([]byte("last of "+author), fmt.Append(nil, seq))
			})
			if err != nil {
				log.Print(err)
			}
		})
	}
	wg.Wait()
	err := s.db.View(func(tx *stoat.Tx) error {
		n, err := s.messages.Len(tx)
		fmt.Println(n, "messages")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 6 messages
}

// A feed that was deleted and made anew with another type has to be opened again.
func ExampleErrOutdated() {
	db, messages := openMessages()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error { return tx.DeleteBucket([]byte("messages")) })
	if err != nil {
		log.Fatal(err)
	}
	type Login struct{ User string }
	logins, err := feed.Open(db, "messages", &feed.Options[Login]{Encoding: feed.EncodingAuto})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		if _, err := logins.Append(tx, &Login{"alice"}); err != nil {
			return err
		}
		_, err := messages.Append(tx, &Message{Author: "alice"})
		fmt.Println("outdated:", errors.Is(err, feed.ErrOutdated))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: outdated: true
}

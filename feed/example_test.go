package feed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// Message is an entry of the examples.
type Message struct {
	Author string
	Type   string
	Text   string
}

// openMessages returns a feed with some messages, in a database in memory.
func openMessages() (*stoat.DB, *feed.Feed[Message]) {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	messages, err := feed.Open(db, "messages", &feed.Options[Message]{
		Sublogs: map[string]func(*Message) []string{
			"author": func(m *Message) []string { return []string{m.Author} },
			"type":   func(m *Message) []string { return []string{m.Type} },
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for _, m := range []Message{
			{"alice", "post", "Hello"},
			{"bob", "post", "Hi, alice"},
			{"alice", "like", "1"},
			{"alice", "post", "How are you?"},
		} {
			if _, err := messages.Append(tx, &m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	return db, messages
}

// salvagedMessages returns a database of which Salvage could not save the second of three messages.
func salvagedMessages(parent string) *stoat.DB {
	damaged, saved := filepath.Join(parent, "damaged"), filepath.Join(parent, "saved")
	db, err := stoat.Open(damaged, &stoat.Options{Compression: stoat.CompressionNone})
	if err != nil {
		log.Fatal(err)
	}
	messages, err := feed.Open[Message](db, "messages", nil)
	if err != nil {
		log.Fatal(err)
	}
	long := strings.Repeat("Hi, alice. ", 1000)
	err = db.Update(func(tx *stoat.Tx) error {
		for _, text := range []string{"Hello", long, "How are you?"} {
			if _, err := messages.Append(tx, &Message{Text: text}); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close(), damage(damaged, long)); err != nil {
		log.Fatal(err)
	}
	if _, err := stoat.Salvage(context.Background(), damaged, saved); err != nil {
		log.Fatal(err)
	}
	if db, err = stoat.Open(saved, nil); err != nil {
		log.Fatal(err)
	}
	return db
}

// damage changes a byte of a value in the files of a database that is closed.
func damage(dir, value string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if i := bytes.Index(content, []byte(value[:20])); i >= 0 {
			content[i] ^= 1
			err = os.WriteFile(name, content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ExampleFeed() {
	db, messages := openMessages()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		for e, err := range messages.Query().From(1).Limit(2).All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(e.Seq, e.Value.Author, e.Value.Text)
		}
		n, err := messages.Len(tx)
		fmt.Println(n, "messages")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 bob Hi, alice
	// 2 alice 1
	// 4 messages
}

func ExampleQuery_Where() {
	db, messages := openMessages()
	defer db.Close()
	posts := messages.Query().Where(feed.In("author", "alice").And(feed.In("type", "post")))
	err := db.View(func(tx *stoat.Tx) error {
		count, err := posts.Count(tx)
		if err != nil {
			return err
		}
		fmt.Println("alice has written", count, "posts, the newest first:")
		for e, err := range posts.Reverse().All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(e.Seq, e.Value.Text)
		}
		for a, err := range messages.Addresses(tx, "author") {
			if err != nil {
				return err
			}
			fmt.Println(a.Name, a.Count)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// alice has written 2 posts, the newest first:
	// 3 How are you?
	// 0 Hello
	// alice 3
	// bob 1
}

func ExampleQuery_Newest() {
	db, messages := openMessages()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		for e, err := range messages.Query().Newest(2).All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(e.Seq, e.Value.Text)
		}
		last, err := messages.Query().Where(feed.In("author", "bob")).Last(tx)
		fmt.Println("bob's last message:", last.Value.Text)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 1
	// 3 How are you?
	// bob's last message: Hi, alice
}

func ExampleQuery_Live() {
	db, messages := openMessages()
	defer db.Close()
	go func() {
		err := db.Update(func(tx *stoat.Tx) error {
			_, err := messages.Append(tx, &Message{"bob", "post", "Fine"})
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}()
	bob := messages.Query().Where(feed.In("author", "bob"))
	for e, err := range bob.Limit(2).Live(context.Background(), db) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Seq, e.Value.Text)
	}
	// Output:
	// 1 Hi, alice
	// 4 Fine
}

func ExampleFeed_Consume() {
	db, messages := openMessages()
	defer db.Close()
	ctx, cancel := context.WithCancel(context.Background())
	err := messages.Consume(ctx, db, "lengths", func(tx *stoat.Tx, e feed.Entry[Message]) error {
		if e.Seq == 3 {
			cancel() // a program would go on until it ends
		}
		length := fmt.Sprint(len(e.Value.Text))
		return tx.Put(fmt.Appendf(nil, "length of %d", e.Seq), []byte(length))
	})
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		for key, value := range tx.Scan(stoat.Range{}) {
			fmt.Printf("%s is %s\n", key, value)
		}
		next, err := messages.Cursor(tx, "lengths")
		fmt.Println("next is", next)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// length of 0 is 5
	// length of 1 is 9
	// length of 2 is 1
	// length of 3 is 12
	// next is 4
}

func ExampleFeed_Redact() {
	db, messages := openMessages()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		if err := messages.Redact(tx, 1); err != nil {
			return err
		}
		_, err := messages.Get(tx, 1)
		fmt.Println(errors.Is(err, feed.ErrRedacted), err)
		for e, err := range messages.Query().Through(2).WithRedacted().All(tx) {
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
	// true feed "messages": entry 1: entry is redacted
	// 0 false "Hello"
	// 1 true ""
	// 2 false "1"
}

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
		if err = feed.Reindex(db, "messages"); err == nil {
			messages, err = feed.Open[Message](db, "messages", nil)
		}
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

package feed_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// A log of a month, whose oldest entries go by themselves, a few at a time.
func ExampleRetention() {
	const day = 24 * time.Hour
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	visits, err := feed.Open(db, "visits", &feed.Options[Message]{
		Retention: feed.Retention{Age: 30 * day, Bytes: 1 << 30},
		Now:       func() time.Time { return now }, // a program leaves it out
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 365 {
		now = now.Add(day)
		err := db.Update(func(tx *stoat.Tx) error {
			_, err := visits.Append(tx, &Message{Author: "alice", Type: "visit"})
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	err = db.View(func(tx *stoat.Tx) error {
		_, err := visits.Get(tx, 7)
		fmt.Println("the first week is gone:", errors.Is(err, feed.ErrExpired))
		oldest, err := visits.Query().First(tx)
		fmt.Println("a month is kept:", now.Sub(oldest.At) >= 30*day && now.Sub(oldest.At) < 33*day)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// the first week is gone: true
	// a month is kept: true
}

// Retain removes entries at once, for a feed that is seldom appended to, or to make space.
func ExampleFeed_Retain() {
	db, messages := openMessages()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		if err := messages.Retain(tx, feed.Retention{Count: 1}); err != nil {
			return err
		}
		for e, err := range messages.Query().All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(e.Seq, e.Value.Text)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 3 How are you?
}

// The entries of a day, or from a time on.
func ExampleFeed_Since() {
	now := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	visits, err := feed.Open(db, "visits", &feed.Options[Message]{
		Now: func() time.Time { return now },
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for range 6 {
			if _, err := visits.Append(tx, &Message{Author: "alice"}); err != nil {
				return err
			}
			now = now.Add(8 * time.Hour)
		}
		day := time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)
		from, err := visits.Since(tx, day)
		if err != nil {
			return err
		}
		to, err := visits.Since(tx, day.AddDate(0, 0, 1))
		if err != nil {
			return err
		}
		for e, err := range visits.Query().From(from).Before(to).All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(e.Seq, e.At.UTC().Format(time.DateTime))
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 2026-05-02 01:00:00
	// 3 2026-05-02 09:00:00
	// 4 2026-05-02 17:00:00
}

package feed_test

import (
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// A tool shows a feed of a program that it does not know.
func ExampleOpenStored() {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	orders, err := feed.Open(db, "orders", &feed.Options[Order]{
		Sublogs: map[string]func(*Order) []string{
			"customer": func(o *Order) []string { return []string{o.Customer} },
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for _, o := range []Order{{"ada", 12, nil}, {"bob", 7, []string{"gift"}}, {"ada", 5, nil}} {
			if _, err := orders.Append(tx, &o); err != nil {
				return err
			}
		}
		if err := orders.Redact(tx, 0); err != nil {
			return err
		}
		return orders.SetCursor(tx, "mailer", 1)
	})
	if err != nil {
		log.Fatal(err)
	}

	err = db.View(func(tx *stoat.Tx) error { return show(tx, "orders") })
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// orders: entries 0 to 2, as struct, 39 bytes
	// field {Customer string}
	// field {Cents int32}
	// field {Notes list of string}
	// sublog {customer 0}
	// customer ada has 1
	// customer bob has 1
	// consumer mailer: 2 behind, 0 of them expired
	// entry 0 redacted true
	// entry 1 redacted false
	// Customer is bob
	// Cents is 7
	// Notes is [gift]
	// entry 2 redacted false
	// Customer is ada
	// Cents is 5
	// Notes is []
	// ada pays 5
}

// Order is the type that only the program knows.
type Order struct {
	Customer string
	Cents    int32
	Notes    []string
}

// show prints all about a feed.
func show(tx *stoat.Tx, name string) error {
	var s *feed.Stored
	s, err := feed.OpenStored(tx, name)
	if err != nil {
		return err
	}
	first, err := s.First(tx)
	if err != nil {
		return err
	}
	next, err := s.Len(tx)
	if err != nil {
		return err
	}
	size, err := s.Size(tx)
	if err != nil {
		return err
	}
	fmt.Printf("%s: entries %d to %d, as %s, %d bytes\n", s.Name(), first, next-1, s.Encoding(), size)
	fields, err := s.Fields(tx)
	if err != nil {
		return err
	}
	for _, f := range fields {
		fmt.Println("field", feed.StoredField(f))
	}
	if err := showReaders(tx, s); err != nil {
		return err
	}
	for e, err := range s.Query().WithRedacted().All(tx) {
		if err != nil {
			return err
		}
		fmt.Println("entry", e.Seq, "redacted", e.Redacted)
		if err := showValue(e.Value); err != nil {
			return err
		}
	}
	for e, err := range s.Query().Where(feed.In("customer", "ada")).All(tx) {
		if err != nil {
			return err
		}
		cents, err := e.Value.Field("Cents")
		if err != nil {
			return err
		}
		fmt.Println("ada pays", cents)
	}
	return nil
}

// showValue prints the fields of a value.
func showValue(v feed.StoredValue) error {
	for _, name := range v.Names() { // none if its schema is of a newer version: show v.Bytes()
		field, err := v.Field(name)
		if err != nil {
			return err
		}
		fmt.Println(name, "is", feed.FieldValue(field))
	}
	return nil
}

// showReaders prints what reads a feed.
func showReaders(tx *stoat.Tx, s *feed.Stored) error {
	sublogs, err := s.Sublogs(tx)
	if err != nil {
		return err
	}
	for _, sub := range sublogs {
		fmt.Println("sublog", feed.StoredSublog(sub))
		for a, err := range s.Addresses(tx, sub.Name) {
			if err != nil {
				return err
			}
			fmt.Println(sub.Name, a.Name, "has", a.Count)
		}
	}
	for c, err := range s.Consumers(tx) {
		if err != nil {
			return err
		}
		fmt.Printf("consumer %s: %d behind, %d of them expired\n", feed.Consumer(c).Name, c.Behind,
			c.Expired)
	}
	return nil
}

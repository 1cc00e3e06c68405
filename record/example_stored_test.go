package record_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

func ExampleOpenStored() {
	db, _ := exampleUsers()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		users, err := record.OpenStored(tx, "users") // without the type User
		if err != nil {
			return err
		}
		q := users.Query().Where(record.Eq("home.city", "Ulm")).OrderBy("age")
		for row, err := range q.Rows(tx) {
			if err != nil {
				return err
			}
			email, err := row.String("email")
			if err != nil {
				return err
			}
			tags, err := row.Value("tags")
			if err != nil {
				return err
			}
			fmt.Println(email, tags)
		}
		fmt.Println(strings.ReplaceAll(q.Explain(tx), " (", "\n("))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// bob@example.org []
	// joe@example.org [go]
	// eve@example.org [maths go]
	// Of 4 records of users, it takes those in a range of the index cityAge
	// (home.city = "Ulm"). They come sorted by age.
}

func ExampleStored() {
	db, _ := exampleUsers()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		var users *record.Stored
		users, err := record.OpenStored(tx, "users")
		if err != nil {
			return err
		}
		n, err := users.Count(tx)
		fmt.Println(n, users.Name(), "in", users.Codec())
		show := func(what string, all []record.StoredField) {
			for _, f := range all {
				fmt.Println(what, f.Name, f.Type, f.Auto)
			}
		}
		show("key:", users.Key())
		show("field:", users.Fields())
		for _, x := range users.Indexes() {
			fmt.Println("index:", x.Name, x.Fields, x.Unique)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 4 users in binary
	// key: id int64 false
	// field: id int64 false
	// field: email string false
	// field: age int32 false
	// field: tags list of string false
	// field: home.street string false
	// field: home.city string false
	// index: age [age] false
	// index: cityAge [home.city age] false
	// index: email [email] true
	// index: tags [tags] false
}

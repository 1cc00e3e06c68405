package record_test

import (
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

func ExampleQuery_Delete() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		n, err := users.Query().Where(record.Gt("age", 40)).Delete(tx)
		fmt.Println(n, "are deleted")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 are deleted
}

func ExampleQuery_Update() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		n, err := users.Query().Where(record.Eq("home.city", "Ulm")).Update(tx, func(u *User) error {
			u.Age++
			return nil
		})
		fmt.Println(n, "are a year older")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 3 are a year older
}

func ExampleQuery_GroupBy() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		for g, err := range users.Query().GroupBy("home.city").Of("age").All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(g.Values[0], g.Count, g.Avg("age"), g.Max("age"))
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// London 1 36 36
	// Ulm 3 37 50
}

func ExampleQuery_Distinct() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		for values, err := range users.Query().Distinct(tx, "home.city") {
			if err != nil {
				return err
			}
			fmt.Println(values[0])
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// London
	// Ulm
}

func ExampleCollection_InsertAll() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		n, err := users.InsertAll(tx, func(yield func(*User) bool) {
			for id := range int64(1000) {
				u := User{ID: 100 + id, Email: fmt.Sprintf("%d@example.org", id)}
				if !yield(&u) {
					return
				}
			}
		})
		fmt.Println(n, "are new")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1000 are new
}

package record_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// A service keeps its collections, which any number of goroutines may use.
func ExampleCollection() {
	type service struct {
		db    *stoat.DB
		users *record.Collection[User]
	}
	var s service
	s.db, s.users = exampleUsers()
	defer s.db.Close()

	err := s.db.Update(func(tx *stoat.Tx) error {
		known, err := s.users.Has(tx, 9)
		if err != nil || known {
			return err
		}
		if err := s.users.Insert(tx, &User{ID: 9, Email: "sam@example.org"}); err != nil {
			return err
		}
		if err := s.users.Delete(tx, 1); err != nil {
			return err
		}
		for u, err := range s.users.All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(u.ID, u.Email)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 bob@example.org
	// 3 eve@example.org
	// 4 joe@example.org
	// 9 sam@example.org
}

// A loop that reads many records into the memory of one.
func ExampleCollection_GetInto() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		var u User
		years := int32(0)
		for key, err := range users.Keys(tx) {
			if err != nil {
				return err
			}
			if err := users.GetInto(tx, key, &u); err != nil {
				return err
			}
			years += u.Age
		}
		fmt.Println(years, "years")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 147 years
}

// The orders of a customer are next to each other, by their key of two fields.
func ExampleCollection_Range() {
	type Order struct {
		Customer string `stoat:"customer,key"`
		Number   int64  `stoat:"number,key"`
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	orders, err := record.Open[Order](db, "orders", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for number := range int64(5) {
			for _, customer := range []string{"ada", "bob"} {
				if err := orders.Put(tx, &Order{customer, number}); err != nil {
					return err
				}
			}
		}
		for o, err := range orders.Range(tx, tuple.Tuple{"ada", 3}, tuple.Tuple{"bob", 1}) {
			if err != nil {
				return err
			}
			fmt.Println(o.Customer, o.Number)
		}
		var last record.Key = tuple.Tuple{"bob", 4}
		o, err := orders.Get(tx, last)
		fmt.Println("last:", o.Customer, o.Number)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// ada 3
	// ada 4
	// bob 0
	// last: bob 4
}

// The users of a city in a range of ages: the values are those of the fields of the index.
func ExampleView_Range() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		low, high := tuple.Tuple{"Ulm", 20}, tuple.Tuple{"Ulm", 50}
		for u, err := range users.By("cityAge").Range(tx, low, high) {
			if err != nil {
				return err
			}
			fmt.Println(u.Email, u.Age)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// bob@example.org 20
	// joe@example.org 41
}

// Clear costs the same however many records there are.
func ExampleCollection_Clear() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		if err := users.Clear(tx); err != nil {
			return err
		}
		n, err := users.Count(tx)
		if err != nil {
			return err
		}
		fmt.Println(n, users.Name())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 0 users
}

// Update stores what the function makes of a record, and nothing if it returns an error.
func ExampleCollection_Update() {
	db, users := exampleUsers()
	defer db.Close()
	move := func(tx *stoat.Tx, key record.Key, city string) error {
		return users.Update(tx, key, func(u *User) error {
			if u.Home.City == city {
				return errors.New("lives there already")
			}
			u.Home.City = city
			return nil
		})
	}
	err := db.Update(func(tx *stoat.Tx) error {
		fmt.Println(move(tx, 1, "Ulm"))
		fmt.Println(move(tx, 2, "Ulm"))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// <nil>
	// collection "users", key 2: lives there already
}

// A query and a view are values: a program keeps those that it uses often.
func ExampleView() {
	db, users := exampleUsers()
	defer db.Close()
	var (
		byAge  *record.View[User] = users.By("age")
		gopher record.Query[User] = users.Query().Where(record.Has("tags", "go"))
	)
	err := db.View(func(tx *stoat.Tx) error {
		for u, err := range byAge.All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(u.Email, u.Age)
			if u.Age > 30 {
				break
			}
		}
		n, err := gopher.Count(tx)
		fmt.Println(n, "with the tag go")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// bob@example.org 20
	// ada@example.org 36
	// 2 with the tag go
}

// A program that doubts a collection has its indexes made anew from the records.
func ExampleCollection_Reindex() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		if err := users.Reindex(tx); err != nil {
			return err
		}
		return users.Verify(tx)
	})
	fmt.Println(err)
	// Output: <nil>
}

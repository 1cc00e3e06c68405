package record_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// User is a record with a key, indexes, and a struct within it.
type User struct {
	ID    int64    `stoat:"id,key"`
	Email string   `stoat:"email,unique"`
	Age   int32    `stoat:"age,index"`
	Tags  []string `stoat:"tags,index"`
	Home  Address  `stoat:"home"`
}

// Address has fields that are home.street and home.city of a User.
type Address struct {
	Street string `stoat:"street"`
	City   string `stoat:"city"`
}

// exampleUsers returns a collection with four users, in a database in memory.
func exampleUsers() (*stoat.DB, *record.Collection[User]) {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	users, err := record.Open(db, "users", &record.Options[User]{
		Indexes: []record.Index{{Name: "cityAge", Fields: []string{"home.city", "age"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		return errors.Join(
			users.Put(tx, &User{1, "ada@example.org", 36, []string{"maths"}, Address{"", "London"}}),
			users.Put(tx, &User{2, "bob@example.org", 20, nil, Address{"", "Ulm"}}),
			users.Put(tx, &User{3, "eve@example.org", 50, []string{"maths", "go"}, Address{"", "Ulm"}}),
			users.Put(tx, &User{4, "joe@example.org", 41, []string{"go"}, Address{"", "Ulm"}}),
		)
	})
	if err != nil {
		log.Fatal(err)
	}
	return db, users
}

func ExampleOpen() {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	users, err := record.Open[User](db, "users", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		return users.Put(tx, &User{ID: 7, Email: "ada@example.org", Age: 36})
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		u, err := users.Get(tx, 7)
		if err != nil {
			return err
		}
		fmt.Println(u.Email, u.Age)
		_, err = users.Get(tx, "7")
		fmt.Println(err)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// ada@example.org 36
	// collection "users": field id has the type int64: the value "7" (string) does not fit
}

func ExampleCollection_By() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		u, err := users.By("email").Get(tx, "eve@example.org")
		if err != nil {
			return err
		}
		fmt.Println(u.ID)
		for u, err := range users.By("cityAge").With(tx, "Ulm") {
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
	// 3
	// bob@example.org 20
	// joe@example.org 41
	// eve@example.org 50
}

func ExampleCollection_Insert_duplicate() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		return users.Insert(tx, &User{ID: 9, Email: "ada@example.org"})
	})
	if errors.Is(err, record.ErrDuplicate) {
		fmt.Println(strings.ReplaceAll(err.Error(), ": ", ":\n"))
	}
	// Output:
	// collection "users", key 9:
	// the record with the key 1 already has email "ada@example.org":
	// duplicate value in a unique index
}

func ExampleQuery() {
	db, users := exampleUsers()
	defer db.Close()
	q := users.Query().Where(record.Eq("home.city", "Ulm"), record.Has("tags", "go")).OrderBy("age")
	err := db.View(func(tx *stoat.Tx) error {
		for u, err := range q.Desc().All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(u.Email, u.Age)
		}
		avg, err := q.Avg(tx, "age")
		fmt.Println("average", avg)
		fmt.Println(strings.ReplaceAll(q.Explain(tx), ". ", ".\n"))
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// eve@example.org 50
	// joe@example.org 41
	// average 45.5
	// Of 4 records of users, it takes those in a range of the index cityAge (home.city = "Ulm").
	// Of each it checks tags has "go".
	// They come sorted by age.
}

func ExampleCollection_Insert_auto() {
	type Task struct {
		ID   int64  `stoat:"id,key,auto"`
		Text string `stoat:"text"`
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	tasks, err := record.Open[Task](db, "tasks", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for _, text := range []string{"Buy milk", "Feed the stoat"} {
			t := Task{Text: text}
			if err := tasks.Insert(tx, &t); err != nil {
				return err
			}
			fmt.Println(t.ID, t.Text)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 Buy milk
	// 2 Feed the stoat
}

func ExampleView_Update() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		err := users.By("email").Update(tx, "bob@example.org", func(u *User) error {
			u.Age++
			return nil
		})
		if err != nil {
			return err
		}
		u, err := users.Get(tx, 2)
		if err != nil {
			return err
		}
		fmt.Println(u.Email, u.Age)
		return users.By("email").Delete(tx, "eve@example.org")
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: bob@example.org 21
}

func ExampleQuery_After() {
	db, users := exampleUsers()
	defer db.Close()
	page := users.Query().OrderBy("age").Limit(2)
	err := db.View(func(tx *stoat.Tx) error {
		var last *User // nil: the first page
		for n := 1; ; n++ {
			there := false
			for u, err := range page.After(last).All(tx) {
				if err != nil {
					return err
				}
				fmt.Println("page", n, u.Email, u.Age)
				last, there = u, true
			}
			if !there {
				return nil
			}
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// page 1 bob@example.org 20
	// page 1 ada@example.org 36
	// page 2 joe@example.org 41
	// page 2 eve@example.org 50
}

func ExampleQuery_Rows() {
	db, users := exampleUsers()
	defer db.Close()
	q := users.Query().Where(record.Gt("age", 40)).OrderBy("id").Fields("email", "age")
	err := db.View(func(tx *stoat.Tx) error {
		for row, err := range q.Rows(tx) {
			if err != nil {
				return err
			}
			email, err := row.String("email")
			if err != nil {
				return err
			}
			fmt.Println(email)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// eve@example.org
	// joe@example.org
}

func ExampleSetField() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		age, err := record.Field[int32](tx, users, 2, "age")
		if err != nil {
			return err
		}
		return record.SetField(tx, users, 2, "age", age+1)
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		u, err := users.By("age").Get(tx, 21)
		fmt.Println(u.Email, err)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: bob@example.org <nil>
}

func ExampleCollection_Watch() {
	db, users := exampleUsers()
	defer db.Close()
	ofUlm := users.Query().Where(record.Eq("home.city", "Ulm")).OrderBy("id")
	steps := 0
	for changes, err := range users.Watch(context.Background(), db, ofUlm) {
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range slices.Concat(changes.Added, changes.Changed) {
			fmt.Println("is", e.Record.Email)
		}
		for _, e := range changes.Removed {
			fmt.Println("was", e.Record.Email)
		}
		if steps++; steps == 2 {
			break
		}
		err = db.Update(func(tx *stoat.Tx) error { // anybody may do so
			return errors.Join(users.Delete(tx, 3),
				record.SetField(tx, users, 1, "home.city", "Ulm"))
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// is bob@example.org
	// is eve@example.org
	// is joe@example.org
	// is ada@example.org
	// was eve@example.org
}

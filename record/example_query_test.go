package record_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// The oldest user, and the second oldest.
func ExampleQuery_First() {
	db, users := exampleUsers()
	defer db.Close()
	oldest := users.Query().OrderBy("age").Reverse()
	err := db.View(func(tx *stoat.Tx) error {
		first, err := oldest.First(tx)
		if err != nil { // stoat.ErrNotFound if there are no users
			return err
		}
		second, err := oldest.Offset(1).First(tx)
		if err != nil {
			return err
		}
		fmt.Println(first.Email, second.Email)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: eve@example.org joe@example.org
}

// Filter is for what no predicate expresses. Only records that satisfy the predicates, for which
// there may be an index, get there.
func ExampleQuery_Filter() {
	db, users := exampleUsers()
	defer db.Close()
	q := users.Query().Where(record.Eq("home.city", "Ulm")).Filter(func(u *User) bool {
		return len(u.Tags) == 0
	})
	err := db.View(func(tx *stoat.Tx) error {
		n, err := q.Count(tx)
		fmt.Println(n, "without tags")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 1 without tags
}

func ExampleQuery_Sum() {
	db, users := exampleUsers()
	defer db.Close()
	ofUlm := users.Query().Where(record.Eq("home.city", "Ulm"))
	err := db.View(func(tx *stoat.Tx) error {
		youngest, err := ofUlm.Min(tx, "age")
		if err != nil {
			return err
		}
		oldest, err := ofUlm.Max(tx, "age")
		if err != nil {
			return err
		}
		exact, err := ofUlm.SumInt(tx, "age")
		if err != nil {
			return err
		}
		sum, err := ofUlm.Sum(tx, "age") // for fields of floats, too
		fmt.Println(youngest, oldest, exact, sum/3)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 20 50 111 37
}

// The keys of a result, for which an index is enough.
func ExampleQuery_Keys() {
	db, users := exampleUsers()
	defer db.Close()
	elder := users.Query().Where(record.Ge("age", 40)).OrderBy("age")
	err := db.View(func(tx *stoat.Tx) error {
		for key, err := range elder.Keys(tx) {
			if err != nil {
				return err
			}
			fmt.Println(key[0])
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 4
	// 3
}

// A query that somebody has typed is checked before any transaction begins.
func ExampleQuery_Err() {
	db, users := exampleUsers()
	defer db.Close()
	for _, field := range []string{"age", "colour"} {
		q := users.Query().OrderBy(field)
		fmt.Println(field, "is valid:", q.Err() == nil)
	}
	err := db.View(func(tx *stoat.Tx) error {
		_, err := users.Query().Where(record.Eq("email", "nobody@example.org")).First(tx)
		fmt.Println("no such user:", errors.Is(err, stoat.ErrNotFound))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// age is valid: true
	// colour is valid: false
	// no such user: true
}

func ExampleQuery_AfterMark() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.View(func(tx *stoat.Tx) error {
		q := users.Query().Where(record.Gt("age", 30)).AnyOrder().Limit(2)
		var mark []byte
		for page := 1; page == 1 || mark != nil; page++ {
			var last *User
			for u, err := range q.AfterMark(mark).All(tx) {
				if err != nil {
					return err
				}
				fmt.Println("page", page, "has", u.Email)
				last = u
			}
			var err error
			if mark, err = q.Mark(last); err != nil { // which a client may keep meanwhile
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// page 1 has ada@example.org
	// page 1 has joe@example.org
	// page 2 has eve@example.org
}

func ExampleQuery_Context() {
	db, users := exampleUsers()
	defer db.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // as when a client has gone
	err := db.View(func(tx *stoat.Tx) error {
		_, err := users.Query().Where(record.Has("tags", "go")).Context(ctx).Count(tx)
		return err
	})
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// true
}

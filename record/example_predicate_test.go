package record_test

import (
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// What each predicate finds among users of the ages 36, 20, 50 and 41.
func ExamplePredicate() {
	db, users := exampleUsers()
	defer db.Close()
	predicates := []record.Predicate{
		record.Lt("age", 36),
		record.Le("age", 36),
		record.Ge("age", 41),
		record.Between("age", 36, 41),
		record.Ne("home.city", "Ulm"),
		record.In("email", "bob@example.org", "joe@example.org"),
		record.HasPrefix("email", "e"),
		record.Or(record.Has("tags", "maths"), record.Lt("age", 30)),
		record.And(record.Has("tags", "maths"), record.Has("tags", "go")),
	}
	err := db.View(func(tx *stoat.Tx) error {
		for _, p := range predicates {
			var ids []int64
			for u, err := range users.Query().Where(p).OrderBy("id").All(tx) {
				if err != nil {
					return err
				}
				ids = append(ids, u.ID)
			}
			fmt.Println(ids, p.String())
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [2] age < 36
	// [1 2] age ≤ 36
	// [3 4] age ≥ 41
	// [1 4] age between 36 and 41
	// [1] home.city ≠ "Ulm"
	// [2 4] email in ["bob@example.org" "joe@example.org"]
	// [3] email begins with "e"
	// [1 2 3] (tags has "maths" or age < 30)
	// [3] (tags has "maths" and tags has "go")
}

// The fields of a form that somebody has filled in become a query.
func ExampleValue() {
	db, users := exampleUsers()
	defer db.Close()
	form := map[string]record.Value{"home.city": "Ulm", "age": 41}

	q := users.Query()
	for field, value := range form {
		q = q.Where(record.Eq(field, value))
	}
	err := db.View(func(tx *stoat.Tx) error {
		for u, err := range q.All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(u.Email)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: joe@example.org
}

package record_test

import (
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// A report of several numbers for each city.
func ExampleGroup() {
	db, users := exampleUsers()
	defer db.Close()
	line := func(g *record.Group) string {
		return fmt.Sprintf("%-6s %d users, %2.0f to %2.0f years old, %3.0f together",
			g.Values[0], g.Count, g.Min("age"), g.Max("age"), g.Sum("age"))
	}
	var byCity record.Grouping[User] = users.Query().GroupBy("home.city").Of("age")
	err := db.View(func(tx *stoat.Tx) error {
		for g, err := range byCity.All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(line(&g))
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// London 1 users, 36 to 36 years old,  36 together
	// Ulm    3 users, 20 to 50 years old, 111 together
}

package record_test

import (
	"fmt"
	"log"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

func ExampleCollection_Sweep() {
	type Login struct {
		Token string    `stoat:"token,key"`
		User  string    `stoat:"user,index"`
		Until time.Time `stoat:"until,expires"` // gone from then on; the zero time stays
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	logins, err := record.Open[Login](db, "logins", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for _, l := range []Login{
			{"a", "ada", time.Now().Add(time.Hour)}, {"b", "bob", time.Now().Add(-time.Hour)},
		} {
			if err := logins.Insert(tx, &l); err != nil {
				return err
			}
		}
		for l, err := range logins.All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(l.User)
		}
		n, err := logins.Sweep(tx) // of itself it would happen in later writes
		fmt.Println(n, "swept")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// ada
	// 1 swept
}

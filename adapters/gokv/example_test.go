package gokv_test

import (
	"fmt"
	"log"
	"os"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/gokv"
)

func Example() {
	dir, err := os.MkdirTemp("", "gokv-")
	check(err)
	defer os.RemoveAll(dir)

	db, err := stoat.Open(dir, nil)
	check(err)
	store := gokv.New(db, nil) // values are JSON
	defer store.Close()        // closes db, too

	type mustelid struct{ Name string }
	check(store.Set("erminea", mustelid{"stoat"}))
	var found mustelid
	_, err = store.Get("erminea", &found)
	check(err)
	fmt.Println(found.Name)
	// Output: stoat
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

package stoat_test

import (
	"encoding/json"
	"expvar"
	"fmt"

	"github.com/stoatdb/stoat"
)

// A program publishes the numbers of its database under a name of its choice. With the handlers of
// expvar, they are then under /debug/vars.
func ExampleDB_Stats() {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	expvar.Publish("stoat", expvar.Func(func() any { return db.Stats() }))

	if err := db.Put([]byte("stoat"), []byte("Mustela erminea")); err != nil {
		panic(err)
	}
	var seen struct{ Commits, CommittedBytes uint64 }
	if err := json.Unmarshal([]byte(expvar.Get("stoat").String()), &seen); err != nil {
		panic(err)
	}
	fmt.Printf("%+v\n", seen)

	// Output:
	// {Commits:1 CommittedBytes:21}
}

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

// What happened between two moments, as a monitor shows it. The sizes are of one moment.
func ExampleStats() {
	db := exampleDB()
	defer db.Close()
	report := func(before, now stoat.Stats) {
		fmt.Println(now.Commits-before.Commits, "commits of",
			now.CommittedBytes-before.CommittedBytes, "bytes,", now.NoSpace-before.NoSpace, "failed")
		fmt.Println(now.Entries, "entries in", now.Tables, "tables and memory")
	}
	before := db.Stats()
	for i := range 10 {
		if err := db.Put(fmt.Appendf(nil, "key %d", i), []byte("value")); err != nil {
			panic(err)
		}
	}
	report(before, db.Stats())

	// Output:
	// 10 commits of 110 bytes, 0 failed
	// 10 entries in 0 tables and memory
}

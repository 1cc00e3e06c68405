package stoat_test

import (
	"context"
	"fmt"

	"github.com/stoatdb/stoat"
)

// A database is filled at once, made small, and verified, before it is copied elsewhere.
func ExampleDB_Load() {
	ctx := context.Background()
	db, err := stoat.OpenMemory(&stoat.Options{Sync: stoat.SyncNever})
	if err != nil {
		panic(err)
	}
	defer db.Close()

	err = db.Load(ctx, func(yield func(key, value []byte) bool) {
		for i := range 10_000 { // in ascending order, which is fastest
			if !yield(fmt.Appendf(nil, "key %05d", i), []byte("value")) {
				return
			}
		}
	})
	if err != nil {
		panic(err)
	}
	if err := db.Put([]byte("key 00000"), []byte("changed")); err != nil {
		panic(err)
	}
	for _, step := range []func() error{
		db.Sync, // makes the Put durable, which SyncNever leaves to the system
		db.Flush,
		func() error { return db.Compact(ctx) }, // leaves one sorted run
		func() error { return db.CheckQuick(ctx) },
	} {
		if err := step(); err != nil {
			panic(err)
		}
	}
	s := db.Stats()
	fmt.Println(s.Commits, "commits,", s.Entries, "entries,", s.YoungRuns, "young runs")
	fmt.Println("everything is written once or twice:", s.WriteAmplification() < 3)
	fmt.Println("nothing is stored twice:", s.SpaceAmplification() < 1.1)

	// Output:
	// 2 commits, 10000 entries, 0 young runs
	// everything is written once or twice: true
	// nothing is stored twice: true
}

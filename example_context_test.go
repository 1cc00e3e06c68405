package stoat_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
)

// A request that waits no longer than its client does.
func ExampleDB_UpdateContext() {
	db := exampleDB()
	defer db.Close()
	slow, err := db.Begin(true)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	put := func(tx *stoat.Tx) error { return tx.Put([]byte("key"), []byte("value")) }
	err = db.UpdateContext(ctx, put)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))

	if err := slow.Rollback(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(db.UpdateContext(context.Background(), put))
	// Output:
	// true
	// <nil>
}

// A transaction that stays open for a while and is ended by hand.
func ExampleDB_BeginContext() {
	db := exampleDB()
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tx, err := db.BeginContext(ctx, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tx.Rollback()
	if err := tx.Put([]byte("key"), []byte("value")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tx.Commit())
	// Output: <nil>
}

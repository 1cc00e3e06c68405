package stoat_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/stoatdb/stoat"
)

// exampleFolder returns a database on disk, which has a log, so a loop may start after the commits
// that it reports. The function closes and removes it.
func exampleFolder() (db *stoat.DB, remove func()) {
	dir, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	if db, err = stoat.Open(dir, nil); err != nil {
		log.Fatal(err)
	}
	return db, func() {
		if err := errors.Join(db.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

func ExampleDB_Watch() {
	db, remove := exampleFolder()
	defer remove()

	from := db.Position()
	go func() {
		err := db.Update(func(tx *stoat.Tx) error {
			err := tx.Put([]byte("alice"), []byte("100"))
			return errors.Join(err, tx.Put([]byte("bob"), []byte("50")))
		})
		if err = errors.Join(err, db.Delete([]byte("bob"))); err != nil {
			log.Fatal(err)
		}
	}()
	for c, err := range db.Watch(context.Background(), stoat.Range{Limit: 3}, from) {
		switch {
		case err != nil:
			log.Fatal(err)
		case c.Kind == stoat.ChangePut:
			fmt.Printf("%s is %s\n", c.Key, c.Value)
		case c.Kind == stoat.ChangeDelete:
			fmt.Printf("%s is gone\n", c.Key)
		}
		if c.Last {
			fmt.Println("end of a commit")
		}
	}
	// Output:
	// alice is 100
	// bob is 50
	// end of a commit
	// bob is gone
	// end of a commit
}

// mirrorAccounts keeps a copy of the accounts up to date until ctx ends.
func mirrorAccounts(ctx context.Context, db *stoat.DB, accounts map[string]string) error {
	for {
		var from stoat.Position
		err := db.View(func(tx *stoat.Tx) error { // read everything
			from = tx.Position()
			clear(accounts)
			for key, value := range tx.Scan(stoat.Range{}) {
				accounts[string(key)] = string(value)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for c, err := range db.Watch(ctx, stoat.Range{}, from) { // then only what changes
			switch {
			case errors.Is(err, stoat.ErrLagged): // the loop ends: start over
			case err != nil:
				return err
			case c.Kind == stoat.ChangePut:
				accounts[string(c.Key)] = string(c.Value)
			case c.Kind == stoat.ChangeDelete:
				delete(accounts, string(c.Key))
			case c.Kind == stoat.ChangeDeleteRange:
				for key := range accounts {
					if key >= string(c.Key) && (c.End == nil || key < string(c.End)) {
						delete(accounts, key)
					}
				}
			}
		}
	}
}

func ExampleDB_Watch_mirror() {
	db := exampleDB()
	defer db.Close()
	if err := db.Put([]byte("alice"), []byte("100")); err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel() // a program would go on
	accounts := map[string]string{}
	err := mirrorAccounts(ctx, db, accounts)
	fmt.Println(accounts, err)
	// Output: map[alice:100] context canceled
}

// An audit log of a nested bucket.
func ExampleDB_WatchBucket() {
	db, remove := exampleFolder()
	defer remove()
	err := db.Update(func(tx *stoat.Tx) error {
		app, err := tx.CreateBucket([]byte("app"))
		if err != nil {
			return err
		}
		_, err = app.CreateBucket([]byte("users"))
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	from := db.Position()
	err = db.Update(func(tx *stoat.Tx) error {
		app, err := tx.Bucket([]byte("app"))
		if err != nil {
			return err
		}
		users, err := app.Bucket([]byte("users"))
		if err != nil {
			return err
		}
		return errors.Join(users.Put([]byte("alice"), nil), users.Delete([]byte("bob")),
			users.DeleteRange(stoat.Prefix([]byte("test "))))
	})
	if err != nil {
		log.Fatal(err)
	}

	kinds := map[stoat.ChangeKind]string{
		stoat.ChangePut: "put", stoat.ChangeDelete: "deleted", stoat.ChangeDeleteRange: "range deleted",
	}
	describe := func(c stoat.Change) string {
		return fmt.Sprintf("%s: %q %q", kinds[c.Kind], c.Key, c.End)
	}
	path := [][]byte{[]byte("app"), []byte("users")}
	for c, err := range db.WatchBucket(context.Background(), path, stoat.Range{}, from) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(describe(c))
		if c.Last {
			break // a program would go on
		}
	}
	// Output:
	// put: "alice" ""
	// deleted: "bob" ""
	// range deleted: "test " "test!"
}

// Reading everything and then following what changes leaves no gap, whoever writes in between.
func ExampleTx_Position() {
	db, remove := exampleFolder()
	defer remove()
	if err := db.Put([]byte("alice"), []byte("100")); err != nil {
		log.Fatal(err)
	}
	var from stoat.Position
	err := db.View(func(tx *stoat.Tx) error {
		from = tx.Position()
		for key, value := range tx.Scan(stoat.Range{}) {
			fmt.Printf("%s: %s\n", key, value)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Put([]byte("bob"), []byte("50")); err != nil {
		log.Fatal(err)
	}
	for c, err := range db.Watch(context.Background(), stoat.Range{Limit: 1}, from) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s, later: %v\n", c.Key, c.Value, c.Position > from)
	}
	// Output:
	// alice: 100
	// bob: 50, later: true
}

package stoat_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat"
)

// A program that takes options from its configuration.
func ExampleOptions() {
	syncs := map[string]stoat.SyncMode{"always": stoat.SyncAlways, "never": stoat.SyncNever}
	compressions := map[string]stoat.Compression{
		"":     stoat.CompressionAuto,
		"none": stoat.CompressionNone, // for values that are compressed already, such as pictures
		"zstd": stoat.CompressionZstd,
	}
	configuration := map[string]string{"sync": "never", "compression": "none"}

	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	db, err := stoat.Open(filepath.Join(parent, "pictures.db"), &stoat.Options{
		Sync:        syncs[configuration["sync"]],
		Compression: compressions[configuration["compression"]],
		MemoryLimit: 64 << 20,
		LockTimeout: 10 * time.Second, // an earlier process may be about to end
		Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for i := range 100 {
		if err := db.Put(fmt.Appendf(nil, "picture %d", i), []byte("…")); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(db.Sync()) // now they survive a crash of the system, too
	// Output: <nil>
}

// The handlers of a server share one DB.
func ExampleDB() {
	db := exampleDB()
	defer db.Close()
	type server struct{ db *stoat.DB }
	s := server{db}
	increment := func() error {
		return s.db.Update(func(tx *stoat.Tx) error {
			value, err := tx.Get([]byte("hits"))
			if err != nil && !errors.Is(err, stoat.ErrNotFound) {
				return err
			}
			return tx.Put([]byte("hits"), append(value[:len(value):len(value)], '|'))
		})
	}

	done := make(chan error)
	for range 8 {
		go func() { done <- increment() }()
	}
	for range 8 {
		if err := <-done; err != nil {
			log.Fatal(err)
		}
	}
	hits, err := db.Get([]byte("hits"))
	fmt.Printf("%s %v\n", hits, err)
	// Output: |||||||| <nil>
}

package stoat_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat"
)

// A backup over HTTP takes one call in the handler, and ends if the client disconnects.
func ExampleDB_BackupTo() {
	db := exampleDB()
	defer db.Close()
	if err := db.Put([]byte("stoat"), []byte("Mustela erminea")); err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/backup", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-tar")
		w.Header().Set("Content-Disposition", `attachment; filename="my.db.tar"`)
		if err := db.BackupTo(r.Context(), w); err != nil {
			log.Print(err)
			panic(http.ErrAbortHandler) // so that the client sees that it was cut off
		}
	})
	server := httptest.NewServer(nil)
	defer server.Close()

	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "restored.db")
	response, err := http.Get(server.URL + "/backup")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if err := stoat.RestoreFrom(context.Background(), response.Body, dir); err != nil {
		log.Fatal(err)
	}

	restored, err := stoat.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer restored.Close()
	value, err := restored.Get([]byte("stoat"))
	fmt.Printf("%s %v\n", value, err)
	// Output: Mustela erminea <nil>
}

// A copy of the moment before something risky, which takes no time and no space at first.
func ExampleDB_BackupLinked() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	db, err := stoat.Open(filepath.Join(parent, "db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.Put([]byte("stoat"), []byte("Mustela erminea")); err != nil {
		log.Fatal(err)
	}

	dir := filepath.Join(parent, "before the migration")
	if err := db.BackupLinked(context.Background(), dir); err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error { return tx.DeleteRange(stoat.Range{}) }) // oh no
	if err != nil {
		log.Fatal(err)
	}
	before, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer before.Close()
	value, err := before.Get([]byte("stoat"))
	fmt.Printf("%s %v\n", value, err)
	// Output: Mustela erminea <nil>
}

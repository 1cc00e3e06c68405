package studio_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/studio"
)

// A program that shows its own database, beside what else it serves.
func ExampleNew() {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	h := studio.New(db, nil)
	mux := http.NewServeMux()
	mux.Handle("/studio/", http.StripPrefix("/studio", h))
	server := httptest.NewServer(mux) // a program listens with http.Server, on 127.0.0.1
	defer server.Close()

	address := server.URL + "/studio/#token=" + h.NewToken() // for the browser
	page, err := http.Get(address)
	if err != nil {
		log.Fatal(err)
	}
	defer page.Body.Close()
	fmt.Println(page.Status, strings.Contains(address, "#token="))
	// Output: 200 OK true
}

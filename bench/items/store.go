package items

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/bench/engine"
)

// errNotFound is the error of reading or updating an item that does not exist.
var errNotFound = errors.New("item not found")

// store is an open instance of a document store. It is used by one goroutine at a time.
//
// Every method that writes does so in a transaction of its own, which is durable when it returns if
// the store was opened so. What a method returns is the caller's, and comes from the database each
// time: a store keeps no items.
type store interface {
	// repository opens the repository under the path, and makes it if there is none.
	repository(path string) (repository, error)
	// read returns the item under the path, which is that of an open repository, a slash, and the
	// item's id. An absent item is [errNotFound].
	read(path string) (item, error)
	// close makes everything durable.
	close() error
}

// repository is a collection of items, as long as its store is open.
type repository interface {
	// create stores new items in one transaction. An id that is there already is an error.
	create(items ...item) error
	// update replaces the title, the count and the tags of an item that must exist.
	update(it item) error
	// readMany returns the items with the ids, which are distinct, in any order. An absent one is
	// [errNotFound].
	readMany(ids []string) ([]item, error)
	// readAll returns all items, in any order.
	readAll() ([]item, error)
	// query returns the items that the query wants.
	query(q query) ([]item, error)
	// count returns how many items there are.
	count() (int, error)
	// keys returns the ids of all items, in any order.
	keys() ([]string, error)
}

// implementation is a document store in one setting, with the way to open it.
type implementation struct {
	engine.About
	// open opens the instance in a folder that exists, and makes it if there is none.
	open func(dir string, sync bool) (store, error)
}

// implementations returns every document store, in the order of the tables.
func implementations() []implementation {
	ours := []implementation{stoatImplementation(), recordImplementation()}
	return append(ours, sqliteImplementations()...)
}

// abouts returns the descriptions of all document stores.
func abouts() []engine.About {
	var all []engine.About
	for _, i := range implementations() {
		all = append(all, i.About)
	}
	return all
}

// find returns the document store of the name.
func find(name string) (implementation, error) {
	for _, i := range implementations() {
		if i.Name == name {
			return i, nil
		}
	}
	return implementation{}, fmt.Errorf("no engine %q", name)
}

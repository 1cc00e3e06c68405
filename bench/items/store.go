package items

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/bench/engine"
)

// notOpen returns the error for a path in a repository that is not open.
func notOpen(repository string) error { return fmt.Errorf("repository %s is not open", repository) }

// errNotFound is returned for reading or updating an absent item.
var errNotFound = errors.New("item not found")

// store is an open document store. It is used by one goroutine at a time.
//
// Every method that writes does so in its own transaction, which is durable when it returns if the
// store was opened with sync. The caller owns what a method returns. It comes from the database
// each time: a store keeps no items.
type store interface {
	// repository opens the repository at the path, and creates it if necessary.
	repository(path string) (repository, error)
	// read returns the item at the path: an open repository's path, a slash, and the item's id. An
	// absent item is [errNotFound].
	read(path string) (item, error)
	// close makes everything durable.
	close() error
}

// repository is a collection of items. It is valid while its store is open.
type repository interface {
	// create stores new items in one transaction. An existing id is an error.
	create(items ...item) error
	// update replaces the title, the count and the tags of an existing item.
	update(it item) error
	// readMany returns the items with the ids, which are distinct, in any order. An absent item is
	// [errNotFound].
	readMany(ids []string) ([]item, error)
	// readAll returns all items, in any order.
	readAll() ([]item, error)
	// query returns the items that match the query.
	query(q query) ([]item, error)
	// count returns the number of items.
	count() (int, error)
	// keys returns the ids of all items, in any order.
	keys() ([]string, error)
}

// implementation is a document store in one setting.
type implementation struct {
	engine.About
	// open opens the database in an existing folder, and creates it if necessary.
	open func(dir string, sync bool) (store, error)
}

// implementations returns every document store, in the order of the tables.
func implementations() []implementation {
	return append(stoatImplementations(), sqliteImplementations()...)
}

// abouts returns the descriptions of all document stores.
func abouts() []engine.About {
	var all []engine.About
	for _, i := range implementations() {
		all = append(all, i.About)
	}
	return all
}

// find returns the document store with the name.
func find(name string) (implementation, error) {
	for _, i := range implementations() {
		if i.Name == name {
			return i, nil
		}
	}
	return implementation{}, fmt.Errorf("no engine %q", name)
}

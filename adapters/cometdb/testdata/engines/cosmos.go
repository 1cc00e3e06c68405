package db

import "github.com/syndtr/goleveldb/leveldb/opt"

func init() {
	for kind, open := range kinds {
		creator := func(name, dir string, _ Options) (DB, error) { return open(name, dir) }
		registerDBCreator(kind, creator, false)
	}
}

// NewGoLevelDB opens a database on disk.
func NewGoLevelDB(name, dir string, _ Options) (*GoLevelDB, error) {
	return NewGoLevelDBWithOpts(name, dir, &opt.Options{})
}

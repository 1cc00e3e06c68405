package db

import "github.com/syndtr/goleveldb/leveldb/opt"

func init() {
	for kind, open := range kinds {
		registerDBCreator(kind, open)
	}
}

// NewGoLevelDB opens a database on disk.
func NewGoLevelDB(name, dir string) (*GoLevelDB, error) {
	return NewGoLevelDBWithOpts(name, dir, &opt.Options{})
}

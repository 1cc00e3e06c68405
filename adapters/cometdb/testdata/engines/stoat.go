// Package db is a copy of cometbft-db or cosmos-db in which these files stand in for the engines, so
// that the tests of that module run on Stoat.
package db

import (
	"bytes"
	"path/filepath"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/cometdb"
	"github.com/syndtr/goleveldb/leveldb/opt"
)

var _ DB = (*cometdb.Store[Iterator, Batch])(nil)

// The tests compare errors with these values, which other packages cannot name.
func init() { errKeyEmpty, errValueNil = stoat.ErrInvalidKey, cometdb.ErrValueNil }

// kinds open the databases on which all tests of backends run. The tests add one, of PrefixDB.
var kinds = map[BackendType]func(name, dir string) (DB, error){
	MemDBBackend: func(_, _ string) (DB, error) { return NewMemDB(), nil },
	GoLevelDBBackend: func(name, dir string) (DB, error) {
		return NewGoLevelDBWithOpts(name, dir, &opt.Options{})
	},
	"synced": func(name, dir string) (DB, error) {
		return open(name, dir, &stoat.Options{})
	},
	"encrypted": func(name, dir string) (DB, error) {
		return open(name, dir, &stoat.Options{Key: bytes.Repeat([]byte{7}, 32)})
	},
	"prefix": openPrefixed,
	"prefix in prefix": func(name, dir string) (DB, error) {
		db, err := openPrefixed(name, dir)
		if err != nil {
			return nil, err
		}
		return within(db, "q")
	},
}

func open(name, dir string, options *stoat.Options) (DB, error) {
	db, err := stoat.Open(filepath.Join(dir, name+".db"), options)
	if err != nil {
		return nil, err
	}
	return wrap(db), nil
}

func wrap(db *stoat.DB) DB {
	return cometdb.New(db,
		func(it *cometdb.Iterator) Iterator { return it },
		func(b *cometdb.Batch) Batch { return b })
}

func openPrefixed(name, dir string) (DB, error) {
	db, err := open(name, dir, &stoat.Options{Sync: stoat.SyncNever})
	if err != nil {
		return nil, err
	}
	return within(db, "p")
}

// within returns the part of a database that has a prefix, and gives it neighbours.
func within(db DB, prefix string) (DB, error) {
	for _, key := range []string{"a", prefix, prefix + ".", prefix + "0", "z"} {
		if err := db.Set([]byte(key), []byte("neighbour")); err != nil {
			return nil, err
		}
	}
	return NewPrefixDB(db, []byte(prefix+"/")), nil
}

// NewMemDB opens a database in memory.
func NewMemDB() DB {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		panic(err)
	}
	return wrap(db)
}

// GoLevelDB is a database on disk whose commits are not synced.
type GoLevelDB struct{ DB }

// NewGoLevelDBWithOpts opens a database that may be read-only.
func NewGoLevelDBWithOpts(name, dir string, o *opt.Options) (*GoLevelDB, error) {
	db, err := open(name, dir, &stoat.Options{Sync: stoat.SyncNever, ReadOnly: o.ReadOnly})
	if err != nil {
		return nil, err
	}
	return &GoLevelDB{db}, nil
}

// PebbleDB is what no kind opens: only a test of Pebble itself asks for it.
type PebbleDB struct{ DB }

package torture

import (
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// store is what plans run on: a database or the model.
type store interface {
	open() error
	close() error
	between() error // runs between transactions; may do anything invisible
	begin(writable bool) (txn, error)
	view(fn func(b txn) error) error
	update(fn func(b txn) error) error
	load(pairs []model.Entry) error
	keepUp(verb string) error // flush, compact, sync or check
	reopen() (*model.Bucket, error)
	backup() (*model.Bucket, error) // returns the contents of the backup
}

// txn is a transaction of a store.
type txn interface {
	space(path string) (space, error)
	dump() (*model.Bucket, error)
	end(commit bool) error
}

// space is a bucket in a transaction.
type space interface {
	get(key string) (string, error)
	has(key string) (bool, error)
	put(key, value string, ttl time.Duration) error // expires unless ttl is 0
	delete(key string) error
	deleteRange(r stoat.Range) error
	swap(key string, old *string, value string) (bool, error) // old is nil for an absent key
	remove(key string, old *string) (bool, error)
	scan(r stoat.Range) ([]model.Entry, error)
	keys(r stoat.Range) ([]string, error)
	buckets() ([]string, error)
	create(name string) error
	drop(name string) error
	move(old string, to space, name string) error
	ttl(key string) (time.Duration, bool, error)
	next() (uint64, error)
	sequence() (uint64, error)
	setSequence(n uint64) error
	cursor() cursor
}

// cursor is a cursor over a space.
type cursor interface {
	move(verb, key string) (e model.Entry, ok bool, err error)
	delete() error
}

package strategies

import (
	"fmt"
	"iter"
	"slices"

	"github.com/stoatdb/stoat/bench/engine"
)

// DB is an open key-value database with nested buckets. It is used by one goroutine at a time.
type DB interface {
	// View runs fn with the root bucket in a read transaction.
	View(fn func(root Bucket) error) error
	// Update runs fn with the root bucket in a write transaction, and commits it if fn returns nil.
	Update(fn func(root Bucket) error) error
	// Close makes everything durable.
	Close() error
}

// Bucket is a key space in a transaction. What it returns is valid until the transaction ends and
// must not be modified.
type Bucket interface {
	// Get returns the value of a key, or nil if the key is absent.
	Get(key []byte) ([]byte, error)
	// Put stores a pair. The key may be reused at once; the value must not change until the
	// transaction ends.
	Put(key, value []byte) error
	// Delete removes a key. An absent key is not an error.
	Delete(key []byte) error
	// Scan iterates over the pairs with keys in [start, end); an empty end is no limit.
	Scan(start, end []byte) iter.Seq2[[]byte, []byte]
	// Heads is Scan for callers that look only at the first n bytes of each value: the rest may be
	// left out.
	Heads(start, end []byte, n int) iter.Seq2[[]byte, []byte]
	// Bucket returns the bucket with the name in this one. An absent bucket is an error.
	Bucket(name []byte) (Bucket, error)
	// CreateBucket creates a bucket in this one.
	CreateBucket(name []byte) (Bucket, error)
}

// open opens the engine's database in the existing folder dir. If synced, each commit is durable
// before it returns.
func open(engine, dir string, synced bool) (DB, error) {
	switch engine {
	case "stoat":
		return openStoat(dir, synced)
	case "bbolt":
		return openBbolt(dir, synced)
	}
	return nil, fmt.Errorf("no engine %q", engine)
}

// engines returns the engines that have nested buckets.
func engines() []engine.About {
	return slices.DeleteFunc(engine.Abouts(), func(a engine.About) bool {
		return a.Name != "stoat" && a.Name != "bbolt"
	})
}

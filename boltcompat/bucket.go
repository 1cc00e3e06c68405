package boltcompat

import (
	"errors"

	"github.com/stoatdb/stoat"
)

// Pgid is the number of a page of bbolt.
type Pgid uint64

// Bucket is a collection of keys and nested buckets, of which no two have the same name. It belongs
// to its transaction.
type Bucket struct {
	// FillPercent has no effect.
	FillPercent float64

	tx    *Tx
	space stoat.KeySpace
	// children are the buckets within this one that a writable transaction has opened: it has one
	// Bucket for each, which knows all changes.
	children map[string]*Bucket
	nesting  nesting
	names    [][]byte // of the buckets within, once nesting is listed; never changed in place
}

// nesting is what a [Bucket] knows about the buckets within it.
type nesting uint8

const (
	unknown nesting = iota
	flat            // there is none
	nested          // there may be some
	listed          // all of them are in names
)

// Tx returns the transaction of the bucket.
func (b *Bucket) Tx() *Tx { return b.tx }

// Root returns 0: there are no pages.
func (b *Bucket) Root() Pgid { return 0 }

// Writable reports whether the transaction can write.
func (b *Bucket) Writable() bool { return b.tx.writable }

// Get returns the value of key, or nil if there is none or it is a bucket.
func (b *Bucket) Get(key []byte) []byte {
	assert(b.tx.db != nil, "tx closed")
	value, err := b.space.Get(key)
	switch {
	case err == nil:
		return value
	case absent(err):
		return nil
	}
	panic(failure{err})
}

// absent reports whether an error says that a key is not there.
func absent(err error) bool {
	return errors.Is(err, stoat.ErrNotFound) || errors.Is(err, stoat.ErrInvalidKey) ||
		errors.Is(err, stoat.ErrTooLarge) || errors.Is(err, stoat.ErrBucketNotFound)
}

// Put stores value under key; both are copied. The error is [ErrIncompatibleValue] if a bucket has
// that name.
func (b *Bucket) Put(key []byte, value []byte) error {
	if err := b.checkWrite(); err != nil {
		return err
	}
	switch {
	case len(key) == 0:
		return ErrKeyRequired
	case len(key) > MaxKeySize:
		return ErrKeyTooLarge
	case len(value) > MaxValueSize:
		return ErrValueTooLarge
	case b.holds(key):
		return ErrIncompatibleValue
	}
	b.tx.written += int64(len(key) + len(value))
	return translate(b.space.Put(key, value))
}

// Delete removes key, if it exists. The error is [ErrIncompatibleValue] if it is a bucket.
func (b *Bucket) Delete(key []byte) error {
	if err := b.checkWrite(); err != nil {
		return err
	}
	if b.holds(key) {
		return ErrIncompatibleValue
	}
	if err := b.space.Delete(key); err != nil && !absent(err) {
		return translate(err)
	}
	return nil
}

// checkWrite returns an error if the transaction cannot write.
func (b *Bucket) checkWrite() error {
	if b.tx.db == nil {
		return ErrTxClosed
	} else if !b.tx.writable {
		return ErrTxNotWritable
	}
	return nil
}

// Sequence returns the number that NextSequence last returned.
func (b *Bucket) Sequence() uint64 {
	assert(b.tx.db != nil, "tx closed")
	n, err := b.space.Sequence()
	if err != nil && !absent(err) {
		panic(failure{err})
	}
	return n
}

// SetSequence makes v+1 the number that NextSequence returns next.
func (b *Bucket) SetSequence(v uint64) error {
	if err := b.checkWrite(); err != nil {
		return err
	}
	return translate(b.space.SetSequence(v))
}

// NextSequence returns the next number of the bucket's sequence: 1, 2, 3, and so on.
func (b *Bucket) NextSequence() (uint64, error) {
	if err := b.checkWrite(); err != nil {
		return 0, err
	}
	n, err := b.space.NextSequence()
	return n, translate(err)
}

// Cursor returns a cursor over the keys and the nested buckets.
func (b *Bucket) Cursor() *Cursor {
	b.tx.stats.IncCursorCount(1)
	return &Cursor{bucket: b}
}

// ForEach calls fn with each key and its value, and with the name of each nested bucket and nil, in
// order, until it returns an error. Writes during the loop do not change what it sees.
func (b *Bucket) ForEach(fn func(k, v []byte) error) error {
	if b.tx.db == nil {
		return ErrTxClosed
	}
	if len(b.list()) == 0 {
		return b.forEachKey(fn)
	}
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if err := fn(k, v); err != nil {
			return err
		}
	}
	return nil
}

// forEachKey is ForEach in a bucket without nested ones.
func (b *Bucket) forEachKey(fn func(k, v []byte) error) error {
	b.tx.stats.IncCursorCount(1)
	if b.deleted() {
		return nil
	}
	for k, v := range b.space.Scan(stoat.Range{}) {
		if v == nil {
			v = []byte{}
		}
		if err := fn(k, v); err != nil {
			return err
		}
		assert(b.tx.db != nil, "tx closed")
	}
	b.tx.mustHaveRead()
	return nil
}

// ForEachBucket calls fn with the name of each nested bucket, in order, until it returns an error.
func (b *Bucket) ForEachBucket(fn func(k []byte) error) error {
	if b.tx.db == nil {
		return ErrTxClosed
	}
	for _, name := range b.list() {
		if err := fn(name); err != nil {
			return err
		}
	}
	return nil
}

// Inspect returns the tree of the buckets within this one. It reads all keys.
func (b *Bucket) Inspect() BucketStructure { return b.inspect("root") }

func (b *Bucket) inspect(name string) BucketStructure {
	s := BucketStructure{Name: name, KeyN: b.countKeys()}
	for _, name := range b.list() {
		s.Children = append(s.Children, b.Bucket(name).inspect(string(name)))
	}
	return s
}

// countKeys returns the number of keys.
func (b *Bucket) countKeys() int {
	assert(b.tx.db != nil, "tx closed")
	if b.deleted() {
		return 0
	}
	n := 0
	for range b.space.Keys(stoat.Range{}) {
		n++
	}
	b.tx.mustHaveRead()
	return n
}

// BucketStructure describes a bucket and those within it.
type BucketStructure struct {
	Name     string            `json:"name"`              // name of the bucket
	KeyN     int               `json:"keyN"`              // number of keys
	Children []BucketStructure `json:"buckets,omitempty"` // the buckets within it
}

package boltcompat

import (
	"errors"

	"github.com/stoatdb/stoat"
)

// Bucket returns the bucket within this one that has the name, or nil.
func (b *Bucket) Bucket(name []byte) *Bucket {
	assert(b.tx.db != nil, "tx closed")
	if child := b.children[string(name)]; child != nil {
		return child
	}
	in, err := b.space.Bucket(name)
	switch {
	case err == nil:
		return b.open(name, in)
	case absent(err):
		return nil
	}
	panic(failure{err})
}

// open returns a handle of a bucket within this one that was not opened before.
func (b *Bucket) open(name []byte, in *stoat.Bucket) *Bucket {
	child := &Bucket{tx: b.tx, space: in, FillPercent: DefaultFillPercent}
	if b.tx.writable {
		b.adopt(name, child)
	}
	return child
}

// CreateBucket creates a bucket within this one. The error is [ErrBucketExists] if there is one of
// this name, and [ErrIncompatibleValue] if there is such a key.
func (b *Bucket) CreateBucket(name []byte) (*Bucket, error) {
	if err := b.checkCreate(name); err != nil {
		return nil, err
	}
	in, err := b.space.CreateBucket(name)
	if err != nil {
		return nil, named(err)
	}
	b.changed()
	child := b.open(name, in)
	child.nesting = flat
	return child, nil
}

// CreateBucketIfNotExists returns the bucket within this one that has the name, which it creates if
// there is none.
func (b *Bucket) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	if b.tx.db != nil && b.tx.writable {
		if child := b.Bucket(name); child != nil {
			return child, nil
		}
	}
	return b.CreateBucket(name)
}

// checkCreate returns an error if no bucket of that name can be created.
func (b *Bucket) checkCreate(name []byte) error {
	if err := b.checkWrite(); err != nil {
		return err
	}
	if len(name) == 0 {
		return ErrBucketNameRequired
	}
	has, err := b.space.Has(name)
	if err != nil {
		return named(err)
	} else if has {
		return ErrIncompatibleValue
	}
	return nil
}

// named translates an error about a bucket's name.
func named(err error) error {
	if errors.Is(err, stoat.ErrTooLarge) {
		return ErrKeyTooLarge
	}
	return translate(err)
}

// DeleteBucket deletes a bucket within this one, with everything in it. The error is
// [ErrBucketNotFound] if there is none of this name, and [ErrIncompatibleValue] if it is a key.
func (b *Bucket) DeleteBucket(name []byte) error {
	if err := b.checkWrite(); err != nil {
		return err
	}
	err := b.space.DeleteBucket(name)
	if absent(err) {
		return b.notBucket(name)
	}
	b.forget(name)
	return translate(err)
}

// notBucket returns the error for a name that no bucket has.
func (b *Bucket) notBucket(name []byte) error {
	has, err := b.space.Has(name)
	switch {
	case has:
		return ErrIncompatibleValue
	case err == nil || absent(err):
		return ErrBucketNotFound
	}
	return translate(err)
}

// MoveBucket moves a bucket within this one into another of the same transaction. The error is
// [ErrBucketNotFound] if there is none of this name, [ErrBucketExists] if the destination has one,
// [ErrIncompatibleValue] if either has such a key, and [ErrSameBuckets] if the destination is where
// the bucket is.
func (b *Bucket) MoveBucket(name []byte, dst *Bucket) error {
	if err := dst.checkWrite(); err != nil {
		return err
	} else if err := b.checkWrite(); err != nil {
		return err
	}
	if b.tx != dst.tx {
		return ErrDifferentDB
	}
	child := b.Bucket(name)
	if child == nil {
		return b.notBucket(name)
	} else if b == dst {
		return ErrSameBuckets
	}
	if has, err := dst.space.Has(name); err != nil {
		return translate(err)
	} else if has {
		return ErrIncompatibleValue
	}
	if err := b.space.MoveBucket(name, dst.space, name); err != nil {
		return translate(err)
	}
	b.forget(name)
	dst.changed()
	dst.adopt(name, child)
	return nil
}

// adopt makes child the handle of a bucket that is within this one from now on.
func (b *Bucket) adopt(name []byte, child *Bucket) {
	if b.children == nil {
		b.children = make(map[string]*Bucket)
	}
	b.children[string(name)] = child
}

// forget drops the handle of a bucket that is no longer within this one.
func (b *Bucket) forget(name []byte) {
	delete(b.children, string(name))
	b.changed()
}

// changed notes that buckets came or went.
func (b *Bucket) changed() { b.nesting, b.names = nested, nil }

// holds reports whether this bucket holds another one with that name. A bucket without any others
// finds out once.
func (b *Bucket) holds(name []byte) bool {
	if b.nesting == unknown {
		b.nesting = flat
		if b.deleted() {
			return false
		}
		for range b.space.Buckets() {
			b.nesting = nested
			break
		}
		b.tx.mustHaveRead()
	}
	return b.nesting != flat && b.Bucket(name) != nil
}

// list returns the names of the buckets within this one, in order.
func (b *Bucket) list() [][]byte {
	assert(b.tx.db != nil, "tx closed")
	if b.deleted() {
		return nil
	}
	if b.nesting == unknown || b.nesting == nested {
		b.names = nil
		for name := range b.space.Buckets() {
			b.names = append(b.names, name)
		}
		b.tx.mustHaveRead()
		b.nesting = listed
	}
	return b.names
}

// deleted reports whether the transaction has deleted the bucket, or one that it is in. A loop over
// such a bucket would fail the transaction, which bbolt commits.
func (b *Bucket) deleted() bool {
	_, err := b.space.Has(nil) // there is no empty key, so nothing is read
	return errors.Is(err, stoat.ErrBucketNotFound)
}

// mustHaveRead panics if a loop over keys or buckets ended because of an error.
func (tx *Tx) mustHaveRead() {
	if err := tx.in.Err(); err != nil {
		panic(failure{err})
	}
}

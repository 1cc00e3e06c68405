package datastore

import (
	"bytes"
	"context"
	"errors"
	"time"

	ds "github.com/ipfs/go-datastore"

	"github.com/stoatdb/stoat"
)

// space implements what stores and transactions have in common, by functions that run others in a
// transaction of the database. It is as safe for concurrent use as they are.
type space struct {
	view   func(ctx context.Context, fn func(tx *stoat.Tx) error) error
	update func(ctx context.Context, fn func(tx *stoat.Tx) error) error
}

// read is view with a context, and returns the errors of the interface.
func (s *space) read(ctx context.Context, fn func(tx *stoat.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return foreign(s.view(ctx, fn))
}

// write is read for writing.
func (s *space) write(ctx context.Context, fn func(tx *stoat.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return foreign(s.update(ctx, fn))
}

// foreign returns the interface's error for a missing key, which callers compare, and any other as
// it is.
func foreign(err error) error {
	if errors.Is(err, stoat.ErrNotFound) {
		return ds.ErrNotFound
	}
	return err
}

// Get returns a copy of the value of key, or [ds.ErrNotFound].
func (s *space) Get(ctx context.Context, key ds.Key) (value []byte, err error) {
	err = s.read(ctx, func(tx *stoat.Tx) error {
		found, err := tx.Get(key.Bytes())
		value = bytes.Clone(found)
		return err
	})
	return value, err
}

// Has reports whether there is a value of key.
func (s *space) Has(ctx context.Context, key ds.Key) (has bool, err error) {
	err = s.read(ctx, func(tx *stoat.Tx) (err error) {
		has, err = tx.Has(key.Bytes())
		return err
	})
	return has, err
}

// GetSize returns the size of the value of key, or -1 and [ds.ErrNotFound].
func (s *space) GetSize(ctx context.Context, key ds.Key) (size int, err error) {
	size = -1
	err = s.read(ctx, func(tx *stoat.Tx) error {
		value, err := tx.Get(key.Bytes())
		if err == nil {
			size = len(value)
		}
		return err
	})
	return size, err
}

// Put stores a copy of value under key. It does not expire, even if an earlier value would have.
func (s *space) Put(ctx context.Context, key ds.Key, value []byte) error {
	return s.write(ctx, func(tx *stoat.Tx) error { return tx.Put(key.Bytes(), value) })
}

// Delete removes the value of key, if there is one.
func (s *space) Delete(ctx context.Context, key ds.Key) error {
	return s.write(ctx, func(tx *stoat.Tx) error { return tx.Delete(key.Bytes()) })
}

// PutWithTTL is Put for a value that is gone after ttl, which must be positive.
func (s *space) PutWithTTL(ctx context.Context, key ds.Key, value []byte, ttl time.Duration) error {
	return s.write(ctx, func(tx *stoat.Tx) error { return tx.PutTTL(key.Bytes(), value, ttl) })
}

// SetTTL has the value of key expire after ttl from now, which must be positive. The error is
// [ds.ErrNotFound] if there is no value.
func (s *space) SetTTL(ctx context.Context, key ds.Key, ttl time.Duration) error {
	return s.write(ctx, func(tx *stoat.Tx) error {
		value, err := tx.Get(key.Bytes())
		if err != nil {
			return err
		}
		return tx.PutTTL(key.Bytes(), value, ttl)
	})
}

// GetExpiration returns when the value of key expires, or the zero time if it does not. The error
// is [ds.ErrNotFound] if there is no value.
func (s *space) GetExpiration(ctx context.Context, key ds.Key) (at time.Time, err error) {
	err = s.read(ctx, func(tx *stoat.Tx) error {
		c := tx.Cursor()
		found, _ := c.Seek(key.Bytes())
		if !bytes.Equal(found, key.Bytes()) {
			return errors.Join(c.Err(), stoat.ErrNotFound)
		}
		at = c.Expires()
		return nil
	})
	return at, err
}

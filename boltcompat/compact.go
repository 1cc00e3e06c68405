package boltcompat

import (
	"time"

	"github.com/stoatdb/stoat"
)

// Compact copies everything in src to dst, in transactions of about txMaxSize bytes of keys and
// values, or in a single one if that is 0. A Stoat database compacts itself; the copy is useful to
// change the options.
func Compact(dst, src *DB, txMaxSize int64) error {
	return src.View(func(from *Tx) error {
		c := &copier{dst: dst, limit: txMaxSize}
		return translate(c.copy(from))
	})
}

// copier copies a transaction's view of a database into another database. It copies what only
// package stoat writes, too: keys beside the root's buckets, which may have the same names, and the
// times at which keys expire.
type copier struct {
	dst   *DB
	tx    *Tx   // open while copying
	limit int64 // of what tx puts; 0 means none
}

// copy copies everything.
func (c *copier) copy(from *Tx) (err error) {
	if c.tx, err = c.dst.Begin(true); err != nil {
		return err
	}
	defer func() { // also after a panic
		if c.tx.db != nil {
			_ = c.tx.Rollback() // it is open
		}
	}()
	if err := c.space(nil, from.in); err != nil {
		return err
	}
	if err := from.in.Err(); err != nil { // of a loop
		return err
	}
	return c.tx.Commit()
}

// space copies a key space to path, with all within it.
func (c *copier) space(path [][]byte, from stoat.KeySpace) error {
	if err := c.keys(path, from); err != nil {
		return err
	}
	for name := range from.Buckets() {
		in, err := from.Bucket(name)
		if err != nil {
			return err
		}
		if err := c.space(append(path[:len(path):len(path)], name), in); err != nil {
			return err
		}
	}
	return nil
}

// keys copies the sequence and the keys of a key space to path, which it creates if needed.
func (c *copier) keys(path [][]byte, from stoat.KeySpace) error {
	to, err := c.at(path)
	if err != nil {
		return err
	}
	n, err := from.Sequence()
	if err != nil {
		return err
	}
	if err := to.SetSequence(n); err != nil {
		return err
	}
	keys := from.Cursor()
	for k, v := keys.First(); k != nil; k, v = keys.Next() {
		again, err := c.spend(int64(len(k) + len(v)))
		if err != nil {
			return err
		}
		if again {
			if to, err = c.at(path); err != nil {
				return err
			}
		}
		if err := putUntil(to, k, v, keys.Expires()); err != nil {
			return err
		}
	}
	return keys.Err()
}

// putUntil stores a value that expires at a time, or never if that is zero.
func putUntil(to stoat.KeySpace, key, value []byte, at time.Time) error {
	if at.IsZero() {
		return to.Put(key, value)
	}
	return to.PutUntil(key, value, at)
}

// at returns the key space at path in the present transaction, created if needed.
func (c *copier) at(path [][]byte) (stoat.KeySpace, error) {
	var to stoat.KeySpace = c.tx.in
	for _, name := range path {
		b, err := to.CreateBucketIfNotExists(name)
		if err != nil {
			return nil, err
		}
		to = b
	}
	return to, nil
}

// spend begins another transaction if size more bytes would exceed the limit, and reports whether
// it did.
func (c *copier) spend(size int64) (again bool, err error) {
	if c.limit > 0 && c.tx.written+size > c.limit {
		if err := c.tx.Commit(); err != nil {
			return false, err
		}
		next, err := c.dst.Begin(true)
		if err != nil {
			return false, err
		}
		c.tx, again = next, true
	}
	c.tx.written += size
	return again, nil
}

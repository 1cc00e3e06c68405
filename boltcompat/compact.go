package boltcompat

// Compact copies everything in src to dst, in transactions of about txMaxSize bytes of keys and
// values, or in a single one if that is 0. A Stoat database compacts itself; the copy is useful to
// change the options.
func Compact(dst, src *DB, txMaxSize int64) error {
	return src.View(func(from *Tx) error {
		c := &copier{dst: dst, limit: txMaxSize}
		return c.copy(from)
	})
}

// copier copies a transaction's view of a database into another database.
type copier struct {
	dst   *DB
	tx    *Tx // open while copying
	limit int64
	size  int64 // of what tx has put
}

// copy copies all buckets.
func (c *copier) copy(from *Tx) (err error) {
	if c.tx, err = c.dst.Begin(true); err != nil {
		return err
	}
	defer func() { // also if a read from panics
		if c.tx.db != nil {
			_ = c.tx.Rollback() // it is open
		}
	}()
	if err := c.buckets(nil, &from.root); err != nil {
		return err
	}
	return c.tx.Commit()
}

// buckets copies the buckets within one that is at path.
func (c *copier) buckets(path [][]byte, from *Bucket) error {
	return from.ForEachBucket(func(name []byte) error {
		return c.bucket(append(path[:len(path):len(path)], name), from.Bucket(name))
	})
}

// bucket copies a bucket to path, with all within it.
func (c *copier) bucket(path [][]byte, from *Bucket) error {
	to, err := c.at(path)
	if err != nil {
		return err
	}
	if err := to.SetSequence(from.Sequence()); err != nil {
		return err
	}
	err = from.ForEach(func(k, v []byte) error {
		if v == nil {
			return nil
		}
		again, err := c.spend(int64(len(k) + len(v)))
		if err != nil {
			return err
		}
		if again {
			if to, err = c.at(path); err != nil {
				return err
			}
		}
		return to.Put(k, v)
	})
	if err != nil {
		return err
	}
	return c.buckets(path, from)
}

// at returns the bucket at path in the present transaction, created if needed.
func (c *copier) at(path [][]byte) (*Bucket, error) {
	b := &c.tx.root
	var err error
	for _, name := range path {
		if b, err = b.CreateBucketIfNotExists(name); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// spend begins another transaction if size more bytes would exceed the limit, and reports whether
// it did.
func (c *copier) spend(size int64) (again bool, err error) {
	if c.limit <= 0 || c.size+size <= c.limit {
		c.size += size
		return false, nil
	}
	if err := c.tx.Commit(); err != nil {
		return false, err
	}
	next, err := c.dst.Begin(true)
	if err != nil {
		return false, err
	}
	c.tx, c.size = next, size
	return true, nil
}

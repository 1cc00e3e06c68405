package boltcompat

import (
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
)

// Tx is a transaction: a snapshot of the database and, if writable, the writes on top of it. Its
// buckets and cursors, and the slices that these return, are valid until it ends; slices must not
// be modified. It is not safe for concurrent use.
type Tx struct {
	// WriteFlag has no effect.
	WriteFlag int

	db       *DB       // nil once the transaction has ended
	in       *stoat.Tx // nil until it has begun and once it has ended
	root     Bucket
	writable bool
	managed  bool  // by View or Update
	refused  error // what the function of View or Update returned
	handlers []func()
	stats    TxStats
	before   int64       // the size of the database at the start, if there is a limit
	written  int64       // the size of what was put
	size     int64       // what measure has returned, or 0
	copied   *transcript // of a read-only transaction, if it was needed
}

// start begins tx on Stoat's transaction in.
func (tx *Tx) start(in *stoat.Tx) {
	tx.in = in
	tx.root = Bucket{tx: tx, space: in, FillPercent: DefaultFillPercent}
	db := tx.db
	if db.counted && !tx.writable {
		db.txN.Add(1)
	}
	if tx.writable && db.MaxSize > 0 {
		tx.before = occupied(db.in.Stats())
	}
}

// run calls fn in a transaction that it must not end.
func (tx *Tx) run(fn func(*Tx) error) (err error) {
	tx.managed = true
	defer func() { tx.managed = false }()
	defer caught(&err)
	if tx.refused = fn(tx); tx.refused != nil {
		return tx.refused
	}
	return tx.room()
}

// outcome returns what View or Update returns if Stoat's returned err. The error of the program's
// function is not translated: it may be about another database.
func (tx *Tx) outcome(err error) error {
	if tx.refused != nil {
		return tx.refused
	}
	return translate(err)
}

// leave lets the database be closed without this transaction.
func (tx *Tx) leave() {
	db := tx.db
	if tx.in != nil && db.counted {
		db.txStats.add(&tx.stats)
	}
	if tx.copied != nil {
		tx.copied.remove()
	}
	tx.db, tx.in, tx.root, tx.copied = nil, nil, Bucket{tx: tx}, nil
	db.using.leave(tx.writable)
}

// abandon ends a transaction of View or Update if it has not ended, as after a panic.
func (tx *Tx) abandon() {
	if tx.db != nil {
		tx.leave()
	}
}

// finish ends a transaction whose commit returned err, and calls what waits for the commit.
func (tx *Tx) finish(err error) error {
	db := tx.db
	if err == nil && db.unsynced && !db.NoSync {
		err = translate(db.in.Sync())
	}
	if err == nil && db.StrictMode {
		if damage := db.check(); damage != nil {
			panic(fmt.Sprintf("check fail: %v", damage))
		}
	}
	if err == nil {
		tx.stats.IncWrite(1)
	}
	tx.leave()
	if err != nil {
		return err
	}
	for _, handler := range tx.handlers {
		handler()
	}
	return nil
}

// Commit makes the writes visible to later transactions and durable, and ends the transaction, also
// if it fails. It panics inside [DB.View] and [DB.Update].
func (tx *Tx) Commit() error {
	assert(!tx.managed, "managed tx commit not allowed")
	if tx.db == nil {
		return ErrTxClosed
	} else if !tx.writable {
		return ErrTxNotWritable
	}
	if err := tx.room(); err != nil {
		_ = tx.in.Rollback() // always nil
		return tx.finish(err)
	}
	start := time.Now()
	err := translate(tx.in.Commit())
	tx.stats.IncWriteTime(time.Since(start))
	return tx.finish(err)
}

// Rollback ends the transaction and discards its writes. It panics inside [DB.View] and
// [DB.Update].
func (tx *Tx) Rollback() error {
	assert(!tx.managed, "managed tx rollback not allowed")
	if tx.db == nil {
		return ErrTxClosed
	}
	_ = tx.in.Rollback() // always nil
	tx.leave()
	return nil
}

// OnCommit registers fn to be called after the transaction has committed.
func (tx *Tx) OnCommit(fn func()) { tx.handlers = append(tx.handlers, fn) }

// ID returns a number that grows with each commit, or -1 in a transaction that has ended.
func (tx *Tx) ID() int {
	if tx == nil || tx.in == nil {
		return -1
	}
	id := int(tx.in.Position())
	if tx.writable {
		id++
	}
	return id
}

// DB returns the database of the transaction, or nil once it has ended.
func (tx *Tx) DB() *DB { return tx.db }

// Writable reports whether the transaction can write.
func (tx *Tx) Writable() bool { return tx.writable }

// Stats returns what the transaction has done.
func (tx *Tx) Stats() TxStats { return tx.stats }

// Cursor returns a cursor over the names of the buckets, with nil values. Keys beside them, which
// only package stoat writes, come with theirs.
func (tx *Tx) Cursor() *Cursor { return tx.root.Cursor() }

// Inspect returns the tree of all buckets. It reads all keys.
func (tx *Tx) Inspect() BucketStructure { return tx.root.Inspect() }

// Bucket returns the bucket with that name, or nil.
func (tx *Tx) Bucket(name []byte) *Bucket { return tx.root.Bucket(name) }

// CreateBucket creates a bucket.
func (tx *Tx) CreateBucket(name []byte) (*Bucket, error) { return tx.root.CreateBucket(name) }

// CreateBucketIfNotExists returns the bucket with that name, which it creates if there is none.
func (tx *Tx) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	return tx.root.CreateBucketIfNotExists(name)
}

// DeleteBucket deletes a bucket with everything in it, at a cost that does not depend on that.
func (tx *Tx) DeleteBucket(name []byte) error { return tx.root.DeleteBucket(name) }

// MoveBucket moves the bucket child from src to dst; nil stands for the top.
func (tx *Tx) MoveBucket(child []byte, src *Bucket, dst *Bucket) error {
	if src == nil {
		src = &tx.root
	}
	if dst == nil {
		dst = &tx.root
	}
	return src.MoveBucket(child, dst)
}

// ForEach calls fn with each bucket, in the order of their names, until it returns an error.
func (tx *Tx) ForEach(fn func(name []byte, b *Bucket) error) error {
	return tx.root.ForEachBucket(func(name []byte) error { return fn(name, tx.root.Bucket(name)) })
}

// PageInfo describes a page of bbolt.
type PageInfo struct {
	ID            int
	Type          string
	Count         int
	OverflowCount int
}

// Page returns nil: a Stoat database has no pages.
func (tx *Tx) Page(int) (*PageInfo, error) {
	if tx.db == nil {
		return nil, ErrTxClosed
	}
	return nil, nil
}

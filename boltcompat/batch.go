package boltcompat

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// batch is a set of calls of [DB.Batch] that are to be made in one transaction.
type batch struct {
	db    *DB
	timer *time.Timer
	start sync.Once
	calls []call // guarded by DB.batching until the batch has started
}

// call is one call of [DB.Batch].
type call struct {
	fn   func(*Tx) error
	done chan<- error // gets the outcome; has room for it
}

// errAlone tells a call of [DB.Batch] that its function failed, and must be called alone to find
// out how.
var errAlone = errors.New("call the function alone")

// Batch is [DB.Update], but concurrent calls may share a transaction, which waits for more of them
// as [DB.MaxBatchSize] and [DB.MaxBatchDelay] say. So fn may be called more than once. Stoat's
// transactions share syncs even without Batch.
func (db *DB) Batch(fn func(*Tx) error) error {
	done := make(chan error, 1)
	db.batching.Lock()
	b := db.batch
	if b == nil || len(b.calls) >= db.MaxBatchSize {
		b = &batch{db: db}
		b.timer = time.AfterFunc(db.MaxBatchDelay, b.run)
		db.batch = b
	}
	b.calls = append(b.calls, call{fn, done})
	full := len(b.calls) >= db.MaxBatchSize
	db.batching.Unlock()
	if full {
		// Not in this goroutine: who recovers a panic of a handler there would leave others waiting.
		go b.run()
	}
	if err := <-done; err != errAlone {
		return err
	}
	return db.Update(fn)
}

// run makes the calls, if nobody else does.
func (b *batch) run() {
	b.start.Do(func() {
		b.db.batching.Lock()
		b.timer.Stop()
		if b.db.batch == b {
			b.db.batch = nil
		}
		b.db.batching.Unlock()
		for len(b.calls) > 0 && !b.try() {
		}
	})
}

// try makes all calls in one transaction, and tells them the outcome. If a call fails, try removes
// it and returns false.
func (b *batch) try() bool {
	failed := -1
	err := b.db.Update(func(tx *Tx) error {
		for i, c := range b.calls {
			if err := protected(c.fn, tx); err != nil {
				failed = i
				return err
			}
		}
		return nil
	})
	if failed >= 0 {
		last := len(b.calls) - 1
		b.calls[failed].done <- errAlone
		b.calls[failed], b.calls = b.calls[last], b.calls[:last]
		return false
	}
	for _, c := range b.calls {
		c.done <- err
	}
	return true
}

// protected calls fn and returns an error if it panics.
func protected(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return fn(tx)
}

package datastore

import (
	"context"
	"sync"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs"
)

// txn is a transaction of the database, which a mutex makes safe for concurrent use: the channel of
// a query's results is filled by a goroutine.
type txn struct {
	space
	mu sync.Mutex
	tx *stoat.Tx
}

// NewTransaction begins a transaction, which also has the methods of [ds.TTL] and is safe for
// concurrent use. It reads one state of the database and its own writes. The filters of its queries
// must not use it.
//
// A transaction that writes is the only one: other writers wait until it has ended, so it is never
// stale. It waits for its own turn until ctx is done. Until it has ended, a write by the store
// itself in the same goroutine would wait for ever, or until its context is done.
func (s *Store) NewTransaction(ctx context.Context, readOnly bool) (ds.Txn, error) {
	tx, err := s.db.BeginContext(ctx, !readOnly)
	if err != nil {
		return nil, err
	}
	t := &txn{tx: tx}
	t.space = space{t.do, t.do}
	return t, nil
}

// do runs fn in the transaction while nobody else does.
func (t *txn) do(_ context.Context, fn func(tx *stoat.Tx) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.guarded(fn)
}

// guarded runs fn in the transaction, and returns an error if the disk fails under a memory map,
// which would otherwise end the program: nothing but the methods of the database guards itself.
func (t *txn) guarded(fn func(tx *stoat.Tx) error) error {
	return vfs.CatchFaults(func() error { return fn(t.tx) })
}

// Query is [Store.Query] within the transaction. Later writes of the transaction do not change the
// results, and its end ends them with [stoat.ErrTxClosed].
func (t *txn) Query(ctx context.Context, q query.Query) (query.Results, error) {
	unlocked := space{view: func(_ context.Context, fn func(tx *stoat.Tx) error) error {
		return t.guarded(fn)
	}}
	return unlocked.query(ctx, q, &t.mu)
}

func (t *txn) Commit(ctx context.Context) error {
	return t.write(ctx, (*stoat.Tx).Commit)
}

func (t *txn) Discard(context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.tx.Rollback() // an error says that it has ended already
}

package datastore

import (
	"bytes"
	"context"
	"errors"

	ds "github.com/ipfs/go-datastore"

	"github.com/stoatdb/stoat"
)

// ErrCommitted reports the use of a batch that was committed: begin another.
var ErrCommitted = errors.New("the batch was committed: begin another")

// batch collects writes in memory until Commit makes them in one transaction. It is not safe for
// concurrent use.
type batch struct {
	store     *Store
	writes    []func(tx *stoat.Tx) error
	committed bool
}

// Batch returns an empty batch. Its writes are kept in memory until Commit, which makes all of them
// or, after an error or a crash, none; it can then be called again. Once it succeeds, the batch is
// of no more use, and returns [ErrCommitted]. A batch is not safe for concurrent use.
func (s *Store) Batch(context.Context) (ds.Batch, error) { return &batch{store: s}, nil }

func (b *batch) Put(_ context.Context, key ds.Key, value []byte) error {
	kept := bytes.Clone(value)
	return b.add(func(tx *stoat.Tx) error { return tx.Put(key.Bytes(), kept) })
}

func (b *batch) Delete(_ context.Context, key ds.Key) error {
	return b.add(func(tx *stoat.Tx) error { return tx.Delete(key.Bytes()) })
}

func (b *batch) add(write func(tx *stoat.Tx) error) error {
	if b.committed {
		return ErrCommitted
	}
	b.writes = append(b.writes, write)
	return nil
}

func (b *batch) Commit(ctx context.Context) error {
	if b.committed {
		return ErrCommitted
	}
	err := b.store.write(ctx, func(tx *stoat.Tx) error {
		for _, write := range b.writes {
			if err := write(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		b.committed, b.writes = true, nil
	}
	return err
}

package main

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/bench/machine"
)

// pairs yields n pairs.
func pairs(n int, key, value func() []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for range n {
			if !yield(key(), value()) {
				return
			}
		}
	}
}

// opening opens a database of 10,000,000 keys.
func (b *bench) opening() error {
	n := b.n(10_000_000)
	db, err := stoat.Open(b.dir, nil)
	if err != nil {
		return err
	}
	if err := db.Load(context.Background(), pairs(n, countingKeys(), randomValues(16))); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	var before, after runtime.MemStats
	var opens []time.Duration
	for range 9 {
		runtime.ReadMemStats(&before)
		took, err := timed(func() (err error) { db, err = stoat.Open(b.dir, nil); return err })
		runtime.ReadMemStats(&after)
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			return err
		}
		opens = append(opens, took)
	}
	slices.Sort(opens)
	b.print(fmt.Sprintf("Open of %d keys", n), opens[len(opens)/2])
	allocated := after.TotalAlloc - before.TotalAlloc
	b.print("memory that it allocates", fmt.Sprintf("%d KiB", allocated>>10))
	return nil
}

// loading loads pairs in bulk and in transactions.
func (b *bench) loading() error {
	n := b.n(3_000_000)
	bulk := func(db *stoat.DB, key func() []byte) error {
		return db.Load(context.Background(), pairs(n, key, randomValues(100)))
	}
	batches := func(db *stoat.DB, key func() []byte) error {
		return fill(db, n, key, randomValues(100))
	}
	for _, l := range []struct {
		what string
		load func(db *stoat.DB, key func() []byte) error
		key  func() []byte
	}{
		{"Load, ascending keys, per pair", bulk, countingKeys()},
		{"Update of 1,000 each, ascending keys, per pair", batches, countingKeys()},
		{"Load, random keys, per pair", bulk, randomKeys()},
		{"Update of 1,000 each, random keys, per pair", batches, randomKeys()},
	} {
		err := b.with(nil, func(db *stoat.DB) error {
			took, err := timed(func() error { return l.load(db, l.key) })
			b.print(l.what, took/time.Duration(n))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rest measures the processor time of an idle database.
func (b *bench) rest() error {
	return b.with(nil, func(db *stoat.DB) error {
		if err := fill(db, b.n(1_000_000), randomKeys(), randomValues(100)); err != nil {
			return err
		}
		if err := db.Compact(context.Background()); err != nil {
			return err
		}
		settle(b.scale)
		before, err := machine.Now()
		if err != nil {
			return err
		}
		settle(b.scale)
		after, err := machine.Now()
		b.print("processor time of ten idle seconds", after.CPU-before.CPU)
		return err
	})
}

// settle waits for ten seconds, scaled.
func settle(scale int) { <-time.After(10 * time.Second / time.Duration(scale)) }

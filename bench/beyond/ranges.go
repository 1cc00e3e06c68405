package main

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat"
)

// ranges deletes a million keys as one range, and nine of each ten of a million keys.
func (b *bench) ranges() error {
	n := b.n(1_000_000)
	err := b.with(nil, func(db *stoat.DB) error {
		if err := fill(db, n, countingKeys(), randomValues(16)); err != nil {
			return err
		}
		return b.oneRange(db, n)
	})
	if err != nil {
		return err
	}
	return b.with(nil, func(db *stoat.DB) error {
		if err := fill(db, n, countingKeys(), randomValues(16)); err != nil {
			return err
		}
		return b.manyRanges(db, n)
	})
}

func key(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }

// keysFrom counts the first ten keys from a key on.
func keysFrom(db *stoat.DB, i int) (n int, err error) {
	err = db.View(func(tx *stoat.Tx) error {
		for range tx.Keys(stoat.Range{Start: key(i), Limit: 10}) {
			n++
		}
		return nil
	})
	return n, err
}

func (b *bench) oneRange(db *stoat.DB, n int) error {
	all, err := timed(func() error {
		return db.Update(func(tx *stoat.Tx) error {
			took, err := timed(func() error { return tx.DeleteRange(stoat.Range{}) })
			b.print(fmt.Sprintf("DeleteRange of %d keys, the call", n), took)
			return err
		})
	})
	if err != nil {
		return err
	}
	b.print("with its synced commit", all)
	left, err := keysFrom(db, 0)
	if err != nil || left > 0 {
		return fmt.Errorf("%d keys left: %w", left, err)
	}
	return nil
}

func (b *bench) manyRanges(db *stoat.DB, n int) error {
	took, err := timed(func() error {
		return db.Update(func(tx *stoat.Tx) error {
			for i := 0; i+10 <= n; i += 10 {
				if err := tx.DeleteRange(stoat.Range{Start: key(i), End: key(i + 9)}); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	b.print(fmt.Sprintf("%d ranges of nine keys, in one transaction", n/10), took)
	if err := b.scans(db, n, "a scan of ten keys between them, in memory"); err != nil {
		return err
	}
	if err := db.Flush(); err != nil {
		return err
	}
	if err := b.scans(db, n, "the same, flushed"); err != nil {
		return err
	}
	if took, err = timed(func() error { return db.Compact(context.Background()) }); err != nil {
		return err
	}
	b.print("Compact", took)
	return b.scans(db, n, "the same, compacted")
}

// scans prints the median of scans, and checks that they find the last key of each ten.
func (b *bench) scans(db *stoat.DB, n int, what string) error {
	at := 0
	took, err := median(1001, func() error {
		at = (at + 7919*10) % n
		found, err := keysFrom(db, at)
		if want := min(10, (n-at)/10); err == nil && found != want {
			err = fmt.Errorf("%d keys from %d on instead of %d", found, at, want)
		}
		return err
	})
	b.print(what, took)
	return err
}

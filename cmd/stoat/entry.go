package main

import (
	"context"
	"time"

	"github.com/stoatdb/stoat"
)

// entry is a key with what is stored under it. Its slices are valid as long as the transaction.
type entry struct {
	key, value []byte
	expires    time.Time // zero: never
}

// eachEntry calls fn with the entries of a range, until that or an interrupt returns an error.
func eachEntry(
	ctx context.Context, b bucket, r stoat.Range, fn func(e *entry) error,
) error {
	var e entry
	for key, value := range b.Scan(r) {
		if err := interrupted(ctx); err != nil {
			return err
		}
		e = entry{key: key, value: value}
		if err := fn(&e); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"bytes"
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
	ctx context.Context, b stoat.KeySpace, r stoat.Range, fn func(e *entry) error,
) error {
	var e entry
	c := b.Cursor()
	step := c.Next
	if r.Reverse {
		step = c.Prev
	}
	n := 0
	for e.key, e.value = firstOf(c, r); e.key != nil; e.key, e.value = step() {
		if outside(e.key, r) || r.Limit > 0 && n == r.Limit {
			break
		}
		if err := interrupted(ctx); err != nil {
			return err
		}
		n++
		e.expires = expiresAt(c)
		if err := fn(&e); err != nil {
			return err
		}
	}
	return c.Err()
}

// firstOf moves the cursor to where a loop over the range begins.
func firstOf(c *stoat.Cursor, r stoat.Range) (key, value []byte) {
	switch {
	case r.Reverse && len(r.End) > 0:
		c.Seek(r.End)
		return c.Prev()
	case r.Reverse:
		return c.Last()
	case len(r.Start) > 0:
		return c.Seek(r.Start)
	}
	return c.First()
}

// outside reports whether a loop over the range ends before the key.
func outside(key []byte, r stoat.Range) bool {
	if r.Reverse {
		return bytes.Compare(key, r.Start) < 0
	}
	return len(r.End) > 0 && bytes.Compare(key, r.End) >= 0
}

package feed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
)

// checkSalvaged returns an error if the database was salvaged, and the feed does not agree with
// itself. It is checked once for a salvage, as far as that can be kept.
func (f *Feed[T]) checkSalvaged(db *stoat.DB) error {
	checked := false
	err := db.View(func(tx *stoat.Tx) (err error) {
		checked, err = f.checkIn(tx)
		return err
	})
	if !checked || err != nil {
		return err
	}
	err = db.Update(func(tx *stoat.Tx) error {
		root, err := tx.Bucket([]byte(f.name))
		if err != nil {
			return err
		}
		return keepChecked(tx, root)
	})
	if errors.Is(err, stoat.ErrReadOnly) {
		return nil // it is checked each time
	}
	return err
}

// checkIn is checkSalvaged in a transaction. It reports whether there was something to check.
func (f *Feed[T]) checkIn(tx *stoat.Tx) (checked bool, err error) {
	number, err := tx.Salvaged()
	if number == 0 || err != nil {
		return false, err
	}
	root, err := tx.Bucket([]byte(f.name))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return false, refuseLost(tx)
	}
	if err != nil {
		return false, err
	}
	kept, err := root.Get([]byte(salvageKey))
	if err == nil && bytes.Equal(kept, binary.AppendUvarint(nil, number)) {
		return false, nil
	}
	if err != nil && !errors.Is(err, stoat.ErrNotFound) {
		return false, err
	}
	s, err := sessionOf(tx, f.name)
	if err == nil {
		err = f.verify(s)
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w; call feed.Reindex, or run stoat record reindex",
			ErrInconsistent, err)
	}
	return true, nil
}

// keepChecked keeps that a feed agrees with itself since the salvage, if there was one.
func keepChecked(tx *stoat.Tx, root *stoat.Bucket) error {
	number, err := tx.Salvaged()
	if number == 0 || err != nil {
		return err
	}
	return root.Put([]byte(salvageKey), binary.AppendUvarint(nil, number))
}

// refuseLost returns an error if the feed that is to be made may be one whose name is lost.
func refuseLost(tx *stoat.Tx) error {
	for name := range tx.Buckets() {
		if bytes.HasPrefix(name, []byte("lost-")) {
			return fmt.Errorf("it may be the bucket %q, whose name a salvage has lost: remove the "+
				"buckets of such names, or give them other ones, before it is made", name)
		}
	}
	return tx.Err()
}

package feed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
)

// toMend says what to do about a feed whose parts disagree.
const toMend = "call feed.Reindex, or run stoat record reindex"

// checkSalvaged returns an error if the database was salvaged and the parts of the feed disagree.
// It checks once for each salvage, if it can record that.
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
		return markChecked(tx, root)
	})
	if errors.Is(err, stoat.ErrReadOnly) {
		return nil // every Open checks it
	}
	return err
}

// checkIn is checkSalvaged in a transaction. It reports whether it checked the feed.
func (f *Feed[T]) checkIn(tx *stoat.Tx) (checked bool, err error) {
	number, err := tx.Salvaged()
	if number == 0 || err != nil {
		return false, err
	}
	root, err := tx.Bucket([]byte(f.name))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return false, refuseLost(tx, "it")
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
		return false, fmt.Errorf("%w: %w; %s", ErrInconsistent, err, toMend)
	}
	return true, nil
}

// markChecked records that the feed was consistent after the salvage, if there was one.
func markChecked(tx *stoat.Tx, root *stoat.Bucket) error {
	number, err := tx.Salvaged()
	if number == 0 || err != nil {
		return err
	}
	return root.Put([]byte(salvageKey), binary.AppendUvarint(nil, number))
}

// refuseLost returns an error if what is to be created may exist, having lost its name.
func refuseLost(tx *stoat.Tx, what string) error {
	for name := range tx.Buckets() {
		if bytes.HasPrefix(name, []byte("lost-")) {
			return fmt.Errorf("%s may be the bucket %q, whose name a salvage lost: move such buckets to "+
				"where they belong, or remove them", what, name)
		}
	}
	return tx.Err()
}

package torture

import (
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// dump reads all that a transaction sees.
func dump(tx *stoat.Tx) (*model.Bucket, error) {
	all := &model.Bucket{}
	if err := fill(all, tx); err != nil {
		return nil, err
	}
	return all, tx.Err()
}

func fill(into *model.Bucket, from stoat.KeySpace) error {
	n, err := from.Sequence()
	if err != nil {
		return err
	}
	into.SetSequence(n)
	last := ""
	for key, value := range from.Scan(stoat.Range{}) {
		if string(key) <= last {
			return fmt.Errorf("scan: key %.40q follows %.40q", key, last)
		}
		last = string(key)
		into.Put(last, string(value))
	}
	for name := range from.Buckets() {
		if into.Bucket(string(name)) != nil {
			return fmt.Errorf("bucket %q is listed twice", name)
		}
		child, err := from.Bucket(name)
		if err != nil {
			return fmt.Errorf("bucket %q is listed: %w", name, err)
		}
		if err := fill(into.CreateBucket(string(name)), child); err != nil {
			return err
		}
	}
	return nil
}

// dumpDB reads everything committed.
func dumpDB(db *stoat.DB) (all *model.Bucket, err error) {
	err = db.View(func(tx *stoat.Tx) (err error) {
		all, err = dump(tx)
		return err
	})
	return all, err
}

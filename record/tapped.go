package record

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/tap"
)

// announce tells the layer above that a record is about to change.
func (c *collection) announce(s *session, key, old []byte) error {
	if c.tap == nil {
		return nil
	}
	return c.tap.Before(s.tx, key, old)
}

// storeEncoded stores an encoded record for the layer above in place of old, or deletes it if value
// is nil.
func (c *collection) storeEncoded(tx *stoat.Tx, key, old, value []byte) error {
	s, err := c.writable(tx)
	if err != nil || old == nil && value == nil {
		return c.wrap(err)
	}
	if value == nil {
		return c.wrapKey(key, c.place(s, key, old, nil, reflect.Value{}))
	}
	r := c.newRecord()
	if err := c.decode(value, r); err != nil {
		return c.wrapKey(key, fmt.Errorf("%w: %w", tap.ErrUnfit, err))
	}
	if err = c.place(s, key, old, value, r); errors.Is(err, stoat.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", tap.ErrUnfit, err) // found before anything was written
	}
	return c.wrapKey(key, err)
}

// clearOneByOne deletes all records, so that the layer above is told of each.
func (c *collection) clearOneByOne(s *session) error {
	for key, old := range s.data.Scan(stoat.Range{}) {
		if err := c.remove(s, key, old); err != nil {
			return err
		}
	}
	return s.tx.Err()
}

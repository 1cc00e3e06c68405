package replica

import (
	"bytes"
	"cmp"

	"github.com/stoatdb/stoat"
)

// project makes the records of a collection show their states.
func (t *txn) project(c *collection) error {
	show := func(key []byte) error {
		s, err := t.loadStored(c, bytes.Clone(key))
		if err == nil {
			err = s.show()
		}
		return err
	}
	prefix := keyed(nil, "", c.number)
	for key := range t.states.Scan(stoat.Prefix(prefix)) {
		if err := show(key[len(prefix):]); err != nil {
			return err
		}
	}
	records, err := t.recordsOf(c)
	if err != nil || records == nil {
		return cmp.Or(err, t.tx.Err())
	}
	for key := range records.Keys(stoat.Range{}) { // those whose states are gone
		has, err := t.states.Has(append(bytes.Clone(prefix), key...))
		if err == nil && !has {
			err = show(key)
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}

package replica

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// pending is what a transaction has changed in the collections of a space.
type pending struct {
	touched []*touch
	index   map[string]*touch // by collection and key; nil while there are few
	phase   phase
}

// fewTouches is how many records are searched one by one.
const fewTouches = 8

// find returns the record of a key, if the transaction has changed it. The buffer is for the key of
// the index.
func (p *pending) find(c *collection, key []byte, buffer *[]byte) *touch {
	if p.index != nil {
		*buffer = append(keyed((*buffer)[:0], "", c.number), key...)
		return p.index[string(*buffer)]
	}
	for _, r := range p.touched {
		if r.c.number == c.number && bytes.Equal(r.key, key) {
			return r
		}
	}
	return nil
}

// add adds a record.
func (p *pending) add(r *touch) {
	p.touched = append(p.touched, r)
	switch {
	case p.index != nil:
		p.note(r)
	case len(p.touched) > fewTouches:
		p.index = map[string]*touch{}
		for _, r := range p.touched {
			p.note(r)
		}
	}
}

func (p *pending) note(r *touch) {
	p.index[string(append(keyed(nil, "", r.c.number), r.key...))] = r
}

// phase says how far the commit of a transaction is.
type phase uint8

const (
	phaseOpen    phase = iota
	phaseAsked         // the functions that others gave to BeforeCommit are about to run
	phaseWritten       // the entry is made
)

// touch is a record that changed.
type touch struct {
	c    *collection
	key  []byte
	old  []byte // as the transaction found it; nil: there was none
	keep []string
}

// onlySpace is the key under which a transaction keeps the space that it writes to.
type onlySpace struct{}

// errLate is returned for a write after the entry of the transaction was made.
var errLate = errors.New("a function given to BeforeCommit wrote to a collection of a space " +
	"after others of them ran: write in the transaction itself")

// before notes that a record is about to change; see tap.Tap.
func (c *collection) before(tx *stoat.Tx, key, old []byte) error {
	_, err := c.touch(tx, key, old)
	return err
}

// touch returns the record among those that the transaction changes.
func (c *collection) touch(tx *stoat.Tx, key, old []byte) (*touch, error) {
	t, err := c.space.in(tx)
	if err != nil {
		return nil, err
	}
	if err := c.space.confine(tx); err != nil {
		return nil, err
	}
	if t.pending == nil {
		t.pending = &pending{}
		if err := tx.BeforeCommit(t.commit); err != nil {
			return nil, err
		}
	}
	if t.pending.phase == phaseWritten {
		return nil, errLate
	}
	if known := t.pending.find(c, key, &t.key); known != nil {
		return known, nil
	}
	if len(key) > entry.KeyMax {
		return nil, fmt.Errorf("a key of %d bytes, and spaces allow %d: %w", len(key), entry.KeyMax,
			stoat.ErrTooLarge)
	}
	record := &touch{c: c, key: bytes.Clone(key), old: bytes.Clone(old)}
	t.pending.add(record)
	return record, nil
}

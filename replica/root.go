package replica

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Root returns a hash of the whole state of the space, in a canonical form: replicas that have the
// same entries have the same root. It reads all records, in the order of their keys.
func (s *Space) Root(tx *stoat.Tx) ([32]byte, error) {
	root, err := s.root(tx)
	return root, wrap(s.name, err)
}

func (s *Space) root(tx *stoat.Tx) (root [32]byte, err error) {
	t, err := s.in(tx)
	if err != nil {
		return root, err
	}
	sum := sha256.New()
	sum.Write(append([]byte("stoat.replica.state.v1"), s.id[:]...))
	prefix := []byte(prefixCollection)
	for key, number := range t.meta.Scan(stoat.Prefix(prefix)) {
		name := string(key[len(prefix):])
		if len(number) != 4 {
			return root, fmt.Errorf("the number of collection %q: %w", name, stoat.ErrCorrupt)
		}
		first := true
		err := t.eachState(name, binary.BigEndian.Uint32(number), func(s *state) error {
			if first {
				sum.Write(append([]byte{1}, wire.AppendBytes(nil, name)...))
				first = false
			}
			o := &order{t: t}
			p := s.record.Append(wire.AppendBytes([]byte{1}, s.key), o)
			sum.Write(p)
			return o.err
		})
		if err != nil {
			return root, fmt.Errorf("collection %q: %w", name, err)
		}
		if !first {
			sum.Write([]byte{0})
		}
	}
	sum.Write([]byte{0})
	sum.Sum(root[:0])
	return root, tx.Err()
}

// eachState calls fn with the state of each record of a collection, in the order of keys.
func (t *txn) eachState(name string, number uint32, fn func(*state) error) error {
	c, err := t.reader(name, number)
	if err != nil {
		return err
	}
	prefix := keyed(nil, "", number)
	for key := range t.states.Scan(stoat.Prefix(prefix)) {
		s, err := t.loadStored(c, bytes.Clone(key[len(prefix):]))
		if err == nil {
			err = fn(s)
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}

package raftstore

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/stoatdb/stoat"
)

// stableKey returns the key under which a key of raft is stored.
func stableKey(key []byte) []byte { return append([]byte{0}, key...) }

// Set stores a value of the stable state.
func (s *Store) Set(key, value []byte) error {
	return s.update(&s.state, func(b *stoat.Bucket) error { return b.Put(stableKey(key), value) })
}

// Get returns the value of a key, empty if there is none.
func (s *Store) Get(key []byte) (value []byte, err error) {
	err = s.view(&s.state, func(b *stoat.Bucket) error {
		stored, err := b.Get(stableKey(key))
		value = bytes.Clone(stored)
		return err
	})
	if errors.Is(err, stoat.ErrNotFound) {
		return []byte{}, nil
	}
	return value, err
}

// SetUint64 stores a number of the stable state.
func (s *Store) SetUint64(key []byte, n uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, n))
}

// GetUint64 returns the number of a key, 0 if there is none.
func (s *Store) GetUint64(key []byte) (uint64, error) {
	value, err := s.Get(key)
	if err != nil || len(value) == 0 {
		return 0, err
	}
	return parseNumber(key, value)
}

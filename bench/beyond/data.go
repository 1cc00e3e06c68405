package main

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/stoatdb/stoat"
)

// batch is the number of puts in one transaction of a load.
const batch = 1000

// randomKeys returns a source of 8-byte keys, the same each time.
func randomKeys() func() []byte {
	random := rand.New(rand.NewPCG(1, 2))
	key := make([]byte, 8)
	return func() []byte {
		binary.BigEndian.PutUint64(key, random.Uint64())
		return key
	}
}

// countingKeys returns a source of ascending 8-byte keys.
func countingKeys() func() []byte {
	next, key := uint64(0), make([]byte, 8)
	return func() []byte {
		binary.BigEndian.PutUint64(key, next)
		next++
		return key
	}
}

// randomValues returns a source of incompressible values of a size.
func randomValues(size int) func() []byte {
	random := rand.New(rand.NewPCG(3, 4))
	value := make([]byte, size+8)
	return func() []byte {
		for i := 0; i < size; i += 8 {
			binary.LittleEndian.PutUint64(value[i:], random.Uint64())
		}
		return value[:size]
	}
}

// fill puts n pairs in transactions of batch pairs.
func fill(db *stoat.DB, n int, key, value func() []byte) error {
	for done := 0; done < n; done += batch {
		err := db.Update(func(tx *stoat.Tx) error { return puts(tx, min(batch, n-done), key, value) })
		if err != nil {
			return err
		}
	}
	return nil
}

// puts puts n pairs.
func puts(tx *stoat.Tx, n int, key, value func() []byte) error {
	for range n {
		if err := tx.Put(key(), value()); err != nil {
			return err
		}
	}
	return nil
}

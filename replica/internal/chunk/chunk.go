// Package chunk cuts the canonical state of a collection into chunks, and hashes the chunks to a
// Merkle root; docs/replica-format.md defines both, byte by byte.
//
// A chunk is a list of records with their states, in the order of keys. Where it ends depends on
// the record at its end only, so states that differ in a few records share most of their chunks.
// The chunks of a collection are the leaves of a tree as in RFC 6962: a chunk is proved to belong
// to a root by one hash for each level. So a replica can take the chunks of a state in any order,
// from anybody, and verify each by itself.
//
// The package knows nothing of what a state says. Values are not safe for concurrent use, except a
// [Tree], which is immutable; functions are.
package chunk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Hash is a SHA-256 sum.
type Hash = [32]byte

// Where chunks are cut. A chunk has some 64 KiB, unless a record takes more.
const (
	sizeLeast = 16 << 10  // no chunk but the last ends before
	sizeSpan  = 48 << 10  // the mean of what follows
	sizeMost  = 256 << 10 // every chunk ends here
)

// Limits of what a decoder takes.
const (
	StateMax = 32 << 20          // bytes of the state of a record
	KeyMax   = 1 << 15           // bytes of a key
	SizeMax  = sizeMost + 33<<20 // bytes of a chunk
	domain   = "stoat.replica.chunk.v1"
	inner    = "stoat.replica.node.v1"
	salted   = "stoat.replica.salt.v1"
	whole    = "stoat.replica.state.v2"
	countMax = 1 << 32 // chunks of a collection
)

// ErrTooLarge reports a record whose state has more than StateMax bytes.
var ErrTooLarge = errors.New("the state of a record has more than 32 MiB: remove some of what it " +
	"has, or spread it over several records")

// Cutter cuts a state into chunks.
type Cutter struct {
	// Emit is called with each chunk and its first key, which are valid until it returns.
	Emit  func(first, chunk []byte) error
	chunk []byte
	first []byte
}

// Add adds a record, whose key must be greater than those before.
func (c *Cutter) Add(key, state []byte) error {
	if len(state) > StateMax || len(key) > KeyMax {
		return fmt.Errorf("record %x: %w", key[:min(len(key), 64)], ErrTooLarge)
	}
	if len(c.chunk) == 0 {
		c.first = append(c.first[:0], key...)
	}
	before := len(c.chunk)
	c.chunk = wire.AppendBytes(wire.AppendBytes(c.chunk, key), state)
	if ends(key, len(c.chunk)-before, len(c.chunk)) {
		return c.Close()
	}
	return nil
}

// Close ends the last chunk.
func (c *Cutter) Close() error {
	if len(c.chunk) == 0 {
		return nil
	}
	err := c.Emit(c.first, c.chunk)
	c.chunk = c.chunk[:0]
	return err
}

// ends reports whether a chunk of a size ends with a record of a key and a size.
func ends(key []byte, record, size int) bool {
	if size < sizeLeast || size >= sizeMost {
		return size >= sizeMost
	}
	sum := sha256.Sum256(key)
	return binary.BigEndian.Uint64(sum[:])%sizeSpan < uint64(record)
}

// Record is a record of a chunk.
type Record struct{ Key, State []byte }

// Parse decodes a chunk. The records refer to p. Where the chunk ends is not checked.
func Parse(p []byte) ([]Record, error) {
	r := wire.NewReader(p)
	var all []Record
	for r.Len() > 0 {
		next := Record{r.Bytes(1, KeyMax), r.Bytes(1, StateMax)}
		if r.Err() == nil && len(all) > 0 && bytes.Compare(next.Key, all[len(all)-1].Key) <= 0 {
			r.Fail("the records of a chunk are not sorted")
		}
		all = append(all, next)
	}
	if len(all) == 0 {
		r.Fail("a chunk is empty")
	}
	return all, r.End()
}

// Compare compares the key of the record with another one.
func (r Record) Compare(key []byte) int { return bytes.Compare(r.Key, key) }

package engine

import "crypto/rand"

// NewIdentity returns the identity of a new database: a random number that all its files carry.
func NewIdentity() (id [16]byte, err error) {
	_, err = rand.Read(id[:])
	return id, err
}

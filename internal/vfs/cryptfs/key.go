package cryptfs

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// KeyBytes is the length of a user's key.
const KeyBytes = 32

const (
	idBytes   = 8
	saltBytes = 32

	idInfo   = "stoat key id"
	fileInfo = "stoat file"
)

// Key is a user's key, from which those of files are derived. Immutable.
type Key struct {
	id     [idBytes]byte
	secret []byte
}

// NewKey returns a key of KeyBytes bytes. It keeps no reference to them.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) != KeyBytes {
		return nil, fmt.Errorf("a key has %d bytes, want %d", len(secret), KeyBytes)
	}
	id, err := hkdf.Key(sha256.New, secret, nil, idInfo, idBytes)
	if err != nil {
		return nil, err
	}
	return &Key{[idBytes]byte(id), bytes.Clone(secret)}, nil
}

// fileKeys are the keys of one file. Safe for concurrent use.
type fileKeys struct {
	aead  cipher.AEAD  // for contents
	block cipher.Block // for the headers of chunks
}

// derive returns the keys of a file, by the fixed part of its header and its salt.
func (k *Key) derive(fixed, salt []byte) (keys fileKeys, err error) {
	secret, err := hkdf.Key(sha256.New, k.secret, salt, fileInfo+string(fixed), 2*KeyBytes)
	if err != nil {
		return keys, err
	}
	content, err := aes.NewCipher(secret[:KeyBytes])
	if err != nil {
		return keys, err
	}
	if keys.aead, err = cipher.NewGCM(content); err != nil {
		return keys, err
	}
	keys.block, err = aes.NewCipher(secret[KeyBytes:])
	return keys, err
}

// What a nonce is for, in its last four bytes.
const (
	nonceMiddle = iota // a page that is not the last
	nonceLast          // the last page
	nonceChunk
	nonceHeader
)

// nonce returns the nonce of the page with a number, or of the chunk at an offset.
func nonce(at uint64, use byte) (n [12]byte) {
	for i := range 8 {
		n[i] = byte(at >> (8 * i))
	}
	n[8] = use
	return n
}

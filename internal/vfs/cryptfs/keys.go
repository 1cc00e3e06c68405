package cryptfs

import (
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

// Keys are what files are encrypted with: new ones with the current key, and old ones with that or
// an earlier key. Immutable.
type Keys struct {
	all []masterKey // the current one first
}

// masterKey is a user's key.
type masterKey struct {
	id     [idBytes]byte
	secret []byte
}

// NewKeys returns keys, of KeyBytes bytes each. It keeps no reference to them.
func NewKeys(current []byte, old ...[]byte) (*Keys, error) {
	k := new(Keys)
	for _, secret := range append([][]byte{current}, old...) {
		m, err := newMasterKey(secret)
		if err != nil {
			return nil, err
		}
		k.all = append(k.all, m)
	}
	return k, nil
}

func newMasterKey(secret []byte) (masterKey, error) {
	if len(secret) != KeyBytes {
		return masterKey{}, fmt.Errorf("a key has %d bytes, want %d", len(secret), KeyBytes)
	}
	id, err := hkdf.Key(sha256.New, secret, nil, idInfo, idBytes)
	if err != nil {
		return masterKey{}, err
	}
	return masterKey{[idBytes]byte(id), append([]byte(nil), secret...)}, nil
}

// find returns the key with the given id; ok is false if there is none.
func (k *Keys) find(id [idBytes]byte) (m masterKey, ok bool) {
	for _, m := range k.all {
		if m.id == id {
			return m, true
		}
	}
	return masterKey{}, false
}

// fileKeys are the keys of one file. Safe for concurrent use.
type fileKeys struct {
	aead  cipher.AEAD  // for contents
	block cipher.Block // for the headers of chunks
}

// derive returns the keys of a file, by the fixed part of its header and its salt.
func (m masterKey) derive(fixed, salt []byte) (k fileKeys, err error) {
	secret, err := hkdf.Key(sha256.New, m.secret, salt, fileInfo+string(fixed), 2*KeyBytes)
	if err != nil {
		return k, err
	}
	content, err := aes.NewCipher(secret[:KeyBytes])
	if err != nil {
		return k, err
	}
	if k.aead, err = cipher.NewGCM(content); err != nil {
		return k, err
	}
	k.block, err = aes.NewCipher(secret[KeyBytes:])
	return k, err
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

package cryptfs

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// KeyBytes is the length of a user's key, and of a data key.
const KeyBytes = 32

const (
	idBytes   = 8
	saltBytes = 32

	keyInfo  = "stoat-key-id"
	dataInfo = "stoat-data-id"
	wrapInfo = "stoat-wrap"
)

// Key is a user's key. It encrypts nothing but data keys. Immutable.
type Key struct {
	id     [idBytes]byte
	secret []byte
	gcm    func(secret []byte) (cipher.AEAD, error) // makes all ciphers below the key
}

// NewKey returns a key of KeyBytes bytes. It keeps no reference to them.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) != KeyBytes {
		return nil, fmt.Errorf("a key has %d bytes, want %d", len(secret), KeyBytes)
	}
	id, err := hkdf.Key(sha256.New, secret, nil, keyInfo, idBytes)
	if err != nil {
		return nil, err
	}
	return &Key{[idBytes]byte(id), bytes.Clone(secret), newGCM}, nil
}

// wrapper returns what encrypts a data key in the file whose fixed part and salt are given.
func (k *Key) wrapper(fixed, salt []byte) (cipher.AEAD, error) {
	secret, err := hkdf.Key(sha256.New, k.secret, salt, wrapInfo+string(fixed), KeyBytes)
	if err != nil {
		return nil, err
	}
	return k.gcm(secret)
}

func newGCM(secret []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

package cryptfs

import "crypto/cipher"

// NewWatchedKey returns a key that calls seal whenever it, or a key below it, encrypts something.
func NewWatchedKey(secret []byte, seal func(secret, nonce []byte)) (*Key, error) {
	k, err := NewKey(secret)
	if err != nil {
		return nil, err
	}
	k.gcm = func(secret []byte) (cipher.AEAD, error) {
		aead, err := newGCM(secret)
		return watched{aead, secret, seal}, err
	}
	return k, nil
}

// watched is a cipher that tells what it encrypts with.
type watched struct {
	cipher.AEAD
	secret []byte
	seal   func(secret, nonce []byte)
}

func (w watched) Seal(dst, nonce, plaintext, additional []byte) []byte {
	w.seal(w.secret, nonce)
	return w.AEAD.Seal(dst, nonce, plaintext, additional)
}

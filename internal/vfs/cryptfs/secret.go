package cryptfs

import "github.com/stoatdb/stoat/internal/corrupt"

// Secret is a data key that is not of a folder: package cryptstore derives the keys of objects from
// it.
type Secret [KeyBytes]byte

// NewSecret returns a random data key.
func NewSecret() (s Secret, err error) {
	p, err := random(KeyBytes)
	copy(s[:], p)
	return s, err
}

// Wrap returns what a file KEY-000001 has of a data key with this secret.
func (k *Key) Wrap(s Secret) ([]byte, error) {
	data, err := k.newDataKey(s[:])
	if err != nil {
		return nil, err
	}
	return k.wrap(data)
}

// Unwrap returns the secret in what Wrap returned. The name is for errors, which match
// corrupt.ErrKey if it was wrapped with another key.
func (k *Key) Unwrap(name string, content []byte) (Secret, error) {
	data, err := k.unwrapped(name, content)
	if err != nil {
		return Secret{}, err
	}
	return Secret(data.secret), nil
}

// unwrapped returns the data key in a complete wrapping.
func (k *Key) unwrapped(name string, content []byte) (*dataKey, error) {
	w := parseWrapping(name, content)
	if w.raw == nil && w.unreadable == nil {
		return nil, corrupt.New(name, 0, "the key file is cut off")
	}
	return w.open(k)
}

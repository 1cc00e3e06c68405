package boltcompat

import "encoding/hex"

// Check verifies the whole database, as [stoat.DB.Check] does, and returns a closed channel with
// what it found. The options have no effect.
func (tx *Tx) Check(...CheckOption) <-chan error {
	assert(tx.db != nil, "tx closed")
	found := findings(tx.db.check())
	ch := make(chan error, len(found))
	for _, err := range found {
		ch <- translate(err)
	}
	close(ch)
	return ch
}

// findings returns the errors that err joins.
func findings(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// CheckOption is an option of [Tx.Check].
type CheckOption func(*checkConfig)

// checkConfig is what options of [Tx.Check] would set.
type checkConfig struct{}

// WithKVStringer returns an option without an effect: findings name files and offsets.
func WithKVStringer(KVStringer) CheckOption { return func(*checkConfig) {} }

// WithPageId returns an option without an effect: there are no pages.
func WithPageId(uint64) CheckOption { return func(*checkConfig) {} }

// KVStringer turns keys and values into text.
type KVStringer interface {
	// KeyToString returns the text of a key.
	KeyToString([]byte) string
	// ValueToString returns the text of a value.
	ValueToString([]byte) string
}

// HexKVStringer returns a [KVStringer] of hexadecimal digits.
func HexKVStringer() KVStringer { return hexStringer{} }

// hexStringer is the [KVStringer] of hexadecimal digits.
type hexStringer struct{}

// KeyToString returns the digits of a key.
func (hexStringer) KeyToString(key []byte) string { return hex.EncodeToString(key) }

// ValueToString returns the digits of a value.
func (hexStringer) ValueToString(value []byte) string { return hex.EncodeToString(value) }

// Package tap lets a layer above package record see what changes in a collection, and make changes
// itself that it does not want to see.
//
// A [Tap] is attached to a collection in the transaction that opens it, by [Attach]; package record
// finds it by [Of]. So the public API of package record says nothing about it. A Tap is immutable
// after the collection is open, and its functions are called in the transaction that changes the
// collection.
package tap

import (
	"errors"

	"github.com/stoatdb/stoat"
)

// ErrUnfit reports a record that a collection cannot hold.
var ErrUnfit = errors.New("the collection cannot hold the record")

// Tap is a layer's access to a collection.
type Tap struct {
	// Before is called before a record changes, with its key and its encoding, which is nil if the
	// record is new. Neither may be retained. After an error, the record does not change.
	Before func(tx *stoat.Tx, key, old []byte) error
	// Store stores an encoded record in place of old, or deletes it if value is nil, with its
	// indexes and without calling Before. Old is what the transaction has under the key, nil for
	// nothing, so that it is looked up once. If the type of the collection cannot hold the record,
	// or an index not its values, nothing changes and the error is ErrUnfit. Package record sets it.
	Store func(tx *stoat.Tx, key, old, value []byte) error
}

// name is the key under which a transaction keeps the tap of a collection to be opened.
type name string

// Attach makes the next opening of the collection in this transaction use the tap.
func Attach(tx *stoat.Tx, collection string, t *Tap) {
	*stoat.Local(tx, name(collection), func() **Tap { return new(*Tap) }) = t
}

// Of returns the tap that is attached to a collection, or nil, and detaches it.
func Of(tx *stoat.Tx, collection string) *Tap {
	slot := stoat.Local(tx, name(collection), func() **Tap { return new(*Tap) })
	t := *slot
	*slot = nil
	return t
}

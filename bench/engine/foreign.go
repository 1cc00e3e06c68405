//go:build cgo && (lmdb || rocksdb)

package engine

/*
#include "foreign.h"
*/
import "C"

import "unsafe"

// foreign returns the address of bytes that C may read or write during a call.
func foreign(b []byte) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))), C.size_t(len(b))
}

// foreignKeys are concatenated keys in a form that C can take. They are reused.
type foreignKeys struct {
	bytes []byte
	sizes []C.size_t
}

// set replaces the keys. It returns their address, the address of their lengths, and their number.
func (k *foreignKeys) set(keys [][]byte) (*C.char, *C.size_t, C.size_t) {
	k.bytes, k.sizes = k.bytes[:0], k.sizes[:0]
	for _, key := range keys {
		k.bytes = append(k.bytes, key...)
		k.sizes = append(k.sizes, C.size_t(len(key)))
	}
	start, _ := foreign(k.bytes)
	return start, unsafe.SliceData(k.sizes), C.size_t(len(keys))
}

// foreignStep returns what Iterate does with each entry.
func foreignStep(look Look) C.foreign_step {
	if look == TouchValues {
		return C.TOUCH
	}
	return C.LOOK
}

// foreignCopy returns what CopyAll does with each entry.
func foreignCopy(part Part) C.foreign_step {
	if part == KeysOnly {
		return C.COPY_KEY
	}
	return C.COPY
}

// ours returns the walk as a Go value.
func ours(w C.foreign_walk) Walk {
	return Walk{Entries: int(w.entries), Bytes: int(w.bytes), Sum: int(w.sum)}
}

// Package objstore is the contract of a store of objects, on which databases in object storage
// stand.
//
// A [Store] is a place for objects, with the few operations that object storage of any provider
// has. The only one that decides anything is [Store.Create]: of several clients that create one
// name, one succeeds. Everything that must have one order gets it from that; no clock, no lease and
// no object that changes is involved.
//
// The stores are in packages of their own: memstore keeps objects in memory, folderstore in a
// folder. Package remotetest tests a store. [Probe] tests one in place, in seconds.
//
// Functions of this package are safe for concurrent use. It retries nothing, caches nothing and
// deletes nothing of others.
package objstore

import (
	"context"
	"io"
	"time"
)

// Store is a place for objects that are written once, whole, and never change. [CheckName] says
// which names it takes.
//
// A store is linearizable: each operation happens at one moment between its call and its return. So
// Get and List find what Create and Put have stored before they were called, by whichever client,
// and do not find what Delete has removed. A store that cannot promise that is unfit for a
// database.
//
// Only one name may be a folder or an object: while an object a exists, a/b must not.
//
// Any error of a request that is refused for want of rights may match ErrDenied: whoever waits for
// a database to open is told at once then. What passes by itself, such as a clock that is to be set
// or credentials that are about to be renewed, is no such error.
//
// Implementations are safe for concurrent use. They stop early when the context ends, and keep no
// reference to an argument after they return.
type Store interface {
	// Create stores an object durably, unless one has the name. A caller that must know whether it
	// has won stores bytes that no other client stores: after a lost answer, a store may compare
	// the bytes to find out whose object is there. The error says what is known:
	//
	//   - nil: the object is stored.
	//   - ErrExists: the name was taken, and this call has no effect, now or later. An earlier
	//     Create of the caller's that ended with ErrUnknown may have taken it; its bytes tell.
	//   - ErrUnknown: the object may have been stored, or may be at any later moment. To find no
	//     object afterwards proves nothing. Only the same bytes may be created under the name again.
	//   - any other: this call has no effect, now or later.
	Create(ctx context.Context, name string, body []byte) error

	// Put stores an object durably, the first size bytes of body, under a name that only ever
	// stands for these bytes. So it may be repeated, by anyone, at any time: if the name is taken,
	// either object stays. After any error, the object may have been stored, or may be later. A body
	// may be paced: what is sent is read once, and in order; what else is read, [Unpaced] has.
	Put(ctx context.Context, name string, body io.ReaderAt, size int64) error

	// Get returns n bytes of an object from off on, or fewer if it ends before; none if off is at
	// or beyond the end. A negative off counts from the end, and stops at the beginning. A negative
	// n means all bytes to the end. If there is no such object, the error is ErrNotExist. The
	// caller owns the result.
	Get(ctx context.Context, name string, off, n int64) ([]byte, error)

	// List returns the objects whose names start with prefix and are greater than after, in the
	// order of their names as byte strings: the first limit of them, and fewer only if there are no
	// more. A limit must be positive.
	List(ctx context.Context, prefix, after string, limit int) ([]Object, error)

	// Delete removes objects; a name that stands for none is fine. After an error, any of them may
	// have been removed, or may be later.
	Delete(ctx context.Context, names []string) error
}

// Paced is a body whose reads wait, so that it is sent slowly.
type Paced interface {
	io.ReaderAt
	Unpaced() io.ReaderAt // the same bytes, without waiting
}

// Unpaced returns the bytes of a body for what is not sent, such as a checksum.
func Unpaced(body io.ReaderAt) io.ReaderAt {
	if paced, ok := body.(Paced); ok {
		return paced.Unpaced()
	}
	return body
}

// Object is an entry of a listing.
type Object struct {
	Name string
	Size int64 // in bytes
	// Modified is when the object was stored, or stored again, by the clock of the store; zero if the
	// store does not tell. It says how old an object is that was written by a wrong clock.
	Modified time.Time
}

// Range returns which bytes of an object [Store.Get] returns: those from start up to end. It is for
// implementations.
func Range(size, off, n int64) (start, end int64) {
	if off < 0 {
		off = max(0, size+off)
	}
	start = min(off, size)
	if n < 0 || n > size-start {
		return start, size
	}
	return start, start + n
}

// Encrypting is a store that encrypts objects before they leave the process.
type Encrypting interface {
	Store
	Encrypts() bool // whether it does
}

// Encrypts reports whether a store encrypts.
func Encrypts(s Store) bool {
	e, ok := s.(Encrypting)
	return ok && e.Encrypts()
}

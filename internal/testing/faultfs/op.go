package faultfs

import "fmt"

// Kind is what an operation does: the method of vfs.FS, vfs.Folder, vfs.File or vfs.Lock that is
// called.
type Kind int

// The kinds of operations. Close is that of a file or a lock.
const (
	Create Kind = iota + 1
	Open
	Remove
	Link
	List
	MkdirAll
	OpenFolder
	SyncDir
	Lock
	Announce
	ReadAt
	WriteAt
	Sync
	Size
	Truncate
	Preallocate
	Map
	Close
)

// names are the kinds as words. They are immutable.
var names = [...]string{
	Create: "create", Open: "open", Remove: "remove", Link: "link", List: "list", MkdirAll: "mkdir",
	OpenFolder: "open folder", SyncDir: "sync directory", Lock: "lock", Announce: "announce",
	ReadAt: "read", WriteAt: "write", Sync: "sync", Size: "size", Truncate: "truncate",
	Preallocate: "preallocate", Map: "map", Close: "close",
}

// String returns the kind as a word.
func (k Kind) String() string {
	if k < Create || int(k) >= len(names) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return names[k]
}

// Mutates reports whether operations of the kind can change what a crash leaves.
func (k Kind) Mutates() bool {
	switch k {
	case Create, Remove, Link, MkdirAll, SyncDir, Lock, Announce, WriteAt, Sync, Truncate, Preallocate:
		return true
	}
	return false
}

// Op is an operation about to be done.
type Op struct {
	Kind   Kind
	Name   string // of the file or directory, as it was passed; the new one of a link
	Offset int64  // of the bytes read or written; the size to truncate to, preallocate or map
	Bytes  int    // how many are to be read or written
	Index  int64  // how many operations there were before
}

// String describes the operation.
func (o Op) String() string {
	switch o.Kind {
	case ReadAt, WriteAt:
		return fmt.Sprintf("%d: %s %s, %d bytes at %d", o.Index, o.Kind, o.Name, o.Bytes, o.Offset)
	case Truncate, Preallocate, Map:
		return fmt.Sprintf("%d: %s %s, %d bytes", o.Index, o.Kind, o.Name, o.Offset)
	}
	return fmt.Sprintf("%d: %s %s", o.Index, o.Kind, o.Name)
}

// Hook is called before each operation, by the goroutine that wants it. An error fails the
// operation, which then is not done, except that files and locks are closed all the same, and that
// a [ShortWrite] is done in part. A hook must be safe for concurrent use. It may use the file
// system below.
type Hook func(op Op) error

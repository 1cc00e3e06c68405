// Package vfs is the only package that touches the operating system.
//
// An [FS] is a small file system: flat directories of files that are created once, written by
// [File.WriteAt], synced, and then only read or removed. A [Folder] is one of those directories,
// reached by a handle and not by its path. [OS] is the real one; the packages memfs and faultfs
// below it hold one in memory that can crash and one that fails on request. Nothing is ever written
// through a memory map, so that a full disk is an error and never a signal.
//
// An FS is safe for concurrent use, and so is a File, as far as the calls concern different byte
// ranges. Names are paths in the platform's form; List returns base names.
package vfs

import (
	"errors"
	"io"
)

// Errors of this package, found with errors.Is.
var (
	// ErrLocked reports that another process, or another handle in this one, holds the lock.
	ErrLocked = errors.New("database is locked")
	// ErrNoSpace reports that the device or the quota is full.
	ErrNoSpace = errors.New("no space left on device")
	// ErrUnwritable reports that the file system is mounted read-only, or the device write-protected.
	ErrUnwritable = errors.New("read-only file system")
	// ErrNoMap reports that this file cannot be mapped here; read it with ReadAt instead.
	ErrNoMap = errors.New("memory map not supported")
	// ErrReplaced reports that a name stands for another file or folder than the one that was opened
	// by it, or, if it was a file's, for none.
	ErrReplaced = errors.New("replaced while it was open")
)

// ReadOnly is the part of [Files] that finds and opens existing files.
type ReadOnly interface {
	// Open opens an existing file for reading only.
	Open(name string) (File, error)
	// List returns the base names in dir, sorted.
	List(dir string) ([]string, error)
}

// Files is files by their names: all of a file system, or those of one [Folder]. Missing names are
// reported as fs.ErrNotExist, taken ones as fs.ErrExist.
type Files interface {
	ReadOnly
	// Create makes a new, empty file (mode 0600) that can be read and written.
	Create(name string) (File, error)
	// Remove deletes a file. Handles and maps of it stay usable where the platform allows.
	Remove(name string) error
	// IsRegular reports whether name is a regular file: no folder, no symbolic link, no device.
	IsRegular(name string) (bool, error)
	// SyncDir makes the creations and removals in dir so far durable.
	SyncDir(dir string) error
	// Lock takes the exclusive lock that an existing file stands for, changing no byte of it. It
	// does not wait: if the lock is taken, the error is ErrLocked with the owner's process id, as
	// far as the owner has announced it.
	Lock(name string) (Lock, error)
}

// FS is a file system.
type FS interface {
	Files
	// MkdirAll makes dir and its parents (mode 0700) durably; it is nil if dir exists.
	MkdirAll(dir string) error
	// OpenFolder opens an existing directory, which must be closed. No name is fs.ErrInvalid.
	OpenFolder(dir string) (Folder, error)
}

// Folder is an open directory, and the files in it. Where the platform can, it reaches them by the
// handle of the directory, whatever becomes of its path. Elsewhere it keeps the directory from
// being renamed, or uses its absolute path.
//
// Names are paths all the same: the path that the directory was opened by, joined with a base name.
// Any other is fs.ErrInvalid. Open files stay usable after Close. Safe for concurrent use.
type Folder interface {
	Files
	io.Closer
	// Named returns ErrReplaced if the path that the directory was opened by leads to something else
	// now, fs.ErrNotExist if it leads to nothing, and otherwise nil, also if that cannot be told.
	Named() error
	// Is reports whether another folder is the same directory; false if that cannot be told.
	Is(other Folder) bool
	// Link gives the file name the second name as in another folder, as durable as if it was
	// created there. If that is taken, the error is fs.ErrExist. After any other, copy the file
	// instead.
	Link(name string, to Folder, as string) error
	// Same reports whether name here and as in another folder stand for one file; false if one is
	// missing, or if that cannot be told.
	Same(name string, other Folder, as string) bool
}

// Lock is an exclusive lock on a directory, held until Close or the end of the process.
type Lock interface {
	io.Closer
	// Announce writes this process's id into the lock file, for the message others get.
	Announce() error
	// Named is [File.Named] of the lock file: ErrReplaced means that others may take the lock.
	Named() error
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes everything written so far durable, through whichever handle, with the size needed
	// to read it back. It works on files opened for reading too. After a failed Sync the state of
	// the file is unknown; it must not be retried.
	Sync() error
	// StartSync asks the system to begin to bring n bytes from offset on to the disk, so that Sync
	// has less to do later. It does not wait and promises nothing; what goes wrong shows in Sync.
	StartSync(offset, n int64)
	// Size returns the current length in bytes.
	Size() (int64, error)
	// Truncate sets the length. What it adds reads as zeros.
	Truncate(size int64) error
	// Preallocate makes the file at least size bytes long, with zeros, and reserves blocks where it
	// can, so that writing there finds no full disk and changes no metadata. The bytes added must
	// not be written meanwhile. It never shrinks a file. After an error the file may have grown in
	// part.
	Preallocate(size int64) error
	// Map returns the first size bytes, read-only, until unmap is called; they stay valid after
	// Close and Remove. A file must neither be written nor shrunk in that range while it is mapped,
	// and it is an error if it is shorter. The error is ErrNoMap where maps are not supported.
	Map(size int64) (data []byte, unmap func() error, err error)
	// Named returns ErrReplaced if the name that the file was opened by stands for another file now,
	// or for none, and otherwise nil, also if that cannot be told.
	Named() error
}

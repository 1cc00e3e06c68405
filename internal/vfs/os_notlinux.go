//go:build !linux && !windows

package vfs

import "os"

// datasync relies on the standard library, which on Darwin makes the drive itself flush
// (F_FULLFSYNC).
func datasync(f *os.File) error { return f.Sync() }

// extend only grows the file; blocks are found when it is written.
func extend(f *os.File, _, size int64) error { return f.Truncate(size) }

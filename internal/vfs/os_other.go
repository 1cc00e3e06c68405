//go:build !linux && !darwin && !windows

package vfs

import "os"

func datasync(f *os.File) error { return f.Sync() }

// extend cannot reserve blocks, for want of a system call or of Go's access to it.
func extend(f *os.File, old, size int64) error { return writeZeros(f, old, size) }

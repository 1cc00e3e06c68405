//go:build !linux && !darwin && !windows

package vfs

import "os"

func datasync(f *os.File) error { return f.Sync() }

// extend cannot reserve blocks, because the system, or Go on it, has no call for that.
func extend(f *os.File, old, size int64) error { return writeZeros(f, old, size) }

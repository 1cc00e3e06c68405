//go:build !linux && !darwin

package vfs

// MemorySize returns 0: it is not known here how much memory the machine has.
func MemorySize() int64 { return 0 }

package vfs

import (
	"math"

	"golang.org/x/sys/unix"
)

// MemorySize returns the bytes of memory that the machine has, or 0 if that is unknown.
func MemorySize() int64 {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(min(total, math.MaxInt64))
}

//go:build darwin || dragonfly || freebsd || linux

package vfs

import (
	"math/bits"

	"golang.org/x/sys/unix"
)

func roomOf(dir string) (bytes uint64, known bool) {
	var disk unix.Statfs_t
	if unix.Statfs(dir, &disk) != nil || int64(disk.Bavail) < 0 {
		return 0, false
	}
	more, bytes := bits.Mul64(uint64(disk.Bavail), uint64(disk.Bsize))
	return bytes, more == 0
}

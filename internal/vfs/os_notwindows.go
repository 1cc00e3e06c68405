//go:build !windows

package vfs

import (
	"errors"
	"syscall"
)

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func isUnwritable(err error) bool { return errors.Is(err, syscall.EROFS) }

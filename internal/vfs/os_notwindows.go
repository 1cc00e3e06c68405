//go:build !windows

package vfs

import (
	"errors"
	"os"
	"syscall"
)

func openFile(name string, flag int) (*os.File, error) { return os.OpenFile(name, flag, 0o600) }

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

//go:build !windows

package vfs

import "syscall"

const (
	errFull       = syscall.ENOSPC
	errUnwritable = syscall.EROFS
)

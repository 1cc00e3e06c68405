package vfs

import "golang.org/x/sys/windows"

const (
	errFull       = windows.ERROR_DISK_FULL
	errUnwritable = windows.ERROR_WRITE_PROTECT
)

package vfs

import "golang.org/x/sys/windows"

const errFull = windows.ERROR_DISK_FULL

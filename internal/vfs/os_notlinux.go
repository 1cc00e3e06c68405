//go:build !linux

package vfs

import "os"

// startSync does nothing: only Linux can be asked for it.
func startSync(*os.File, int64, int64) {}

// Resident reports whether all pages of data, part of a map, are in memory, as far as that can be
// told: only on Linux.
func Resident([]byte) bool { return true }

// WillNeed asks the system to begin to read the pages of data, part of a map: only on Linux.
func WillNeed([]byte) {}

// Populate waits until the pages of data, part of a map, are in memory: only on Linux.
func Populate([]byte) {}

// Provide waits until the system has provided the memory of data: only on Linux.
func Provide([]byte) {}

//go:build !cgo

package items

import (
	_ "modernc.org/sqlite" // registers the driver

	sqlite3 "modernc.org/sqlite/lib"
)

// The driver of SQLite without cgo: the C library translated into Go.
const (
	sqliteModule = "modernc.org/sqlite"
	sqliteDriver = "sqlite"
)

// sqliteVersion returns the version of the library that was translated.
func sqliteVersion() string { return sqlite3.SQLITE_VERSION }

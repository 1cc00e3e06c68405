//go:build cgo

package items

import "github.com/mattn/go-sqlite3"

// The driver of SQLite: the C library itself.
const (
	sqliteModule = "github.com/mattn/go-sqlite3"
	sqliteDriver = "sqlite3"
)

// sqliteVersion returns the version of the library that the driver has.
func sqliteVersion() string {
	version, _, _ := sqlite3.Version()
	return version
}

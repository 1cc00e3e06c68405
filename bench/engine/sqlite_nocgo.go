//go:build !cgo

package engine

import (
	"net/url"

	_ "modernc.org/sqlite" // registers the driver

	sqlite3 "modernc.org/sqlite/lib"
)

// The SQLite driver: its module, and its name in database/sql. Without cgo, it is the C library
// translated to Go.
const (
	SQLiteModule = "modernc.org/sqlite"
	SQLiteDriver = "sqlite"
)

// sqliteSettings returns the part of a source that sets pragmas.
func sqliteSettings(pragmas [][2]string) url.Values {
	settings := make(url.Values)
	for _, p := range pragmas {
		settings.Add("_pragma", p[0]+"("+p[1]+")")
	}
	return settings
}

// SQLiteVersion returns the version of the library that was translated.
func SQLiteVersion() string { return sqlite3.SQLITE_VERSION }

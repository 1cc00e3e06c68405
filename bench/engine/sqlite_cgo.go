//go:build cgo

package engine

import (
	"net/url"

	"github.com/mattn/go-sqlite3"
)

// The SQLite driver: its module, and its name in database/sql. It is the C library itself.
const (
	SQLiteModule = "github.com/mattn/go-sqlite3"
	SQLiteDriver = "sqlite3"
)

// sqliteSettings returns the part of a source that sets pragmas.
func sqliteSettings(pragmas [][2]string) url.Values {
	settings := make(url.Values)
	for _, p := range pragmas {
		settings.Set("_"+p[0], p[1])
	}
	return settings
}

// SQLiteVersion returns the version of the library in the driver.
func SQLiteVersion() string {
	version, _, _ := sqlite3.Version()
	return version
}

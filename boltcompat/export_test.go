package boltcompat

import "context"

// Settle compacts a database, as package stoat does in the background.
func Settle(db *DB) error { return db.in.Compact(context.Background()) }

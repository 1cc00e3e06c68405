package stoat

import (
	"context"
	"errors"
	"slices"
)

// Check reads everything reachable in the files of the database, from the files and not from
// memory, and returns nil if they are sound. Otherwise the error joins up to a hundred findings,
// each of which matches [ErrCorrupt] and names the file and the offset, and says how many more
// there are.
//
// Check verifies the checksums of all blocks, of the log, and of all large values that tables point
// to; that values can be decoded, and keys are in order and can be found; and that tables, value
// files and buckets match the manifest. It reports database files that nothing needs, unless
// something is being written; it ignores other files in the directory.
//
// Check verifies the state at the moment of the call while reads and writes continue, and takes as
// long as reading all files. It needs little memory and does not evict cached blocks. When ctx is
// done it stops soon and returns ctx.Err. CheckedBytes in [Stats] tells its progress.
func (db *DB) Check(ctx context.Context) error { return db.check(ctx, true) }

// CheckQuick is [DB.Check] without the slow parts: it verifies the manifest, that all files exist
// and have the right sizes, and the headers, footers and indexes of tables.
func (db *DB) CheckQuick(ctx context.Context) error { return db.check(ctx, false) }

func (db *DB) check(ctx context.Context, all bool) error {
	var keys []error
	if db.sealed != nil { // first, since the rest goes on if the database is closed meanwhile
		keys = db.sealed.CheckKeys()
	}
	err := db.engine.Check(ctx, all)
	if len(keys) == 0 || err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	var found []error
	if err != nil {
		found = append(found, err)
	}
	if joined, many := err.(interface{ Unwrap() []error }); many {
		found = slices.Clone(joined.Unwrap())
	}
	return errors.Join(append(found, keys...)...)
}

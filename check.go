package stoat

import "context"

// Check reads all that can be reached in the files of the database, from the files and not from
// memory, and returns what is wrong with them: nil if nothing is. Otherwise the error joins one for
// each finding, a hundred at most, that matches [ErrCorrupt] and names the file and the offset; of
// more it says how many.
//
// It verifies the checksums of all blocks, of all large values that tables point to, and of the
// log; that values can be decoded and keys are in order and can be found; and that tables, value
// files and buckets are what the manifest says. Files of the database that nothing needs are
// reported when nothing is being written; others in the folder are no concern. It checks the state
// at the moment of the call, while others go on reading and writing, and takes the time that it
// takes to read all files. It needs little memory, and leaves in memory what other reads use. When
// ctx ends, it stops soon and returns ctx.Err. CheckedBytes in [Stats] says how far it has come.
func (db *DB) Check(ctx context.Context) error { return db.engine.Check(ctx, true) }

// CheckQuick is [DB.Check] without what takes long: it verifies the manifest, that all files are
// there, their sizes, and the headers, footers and indexes of tables.
func (db *DB) CheckQuick(ctx context.Context) error { return db.engine.Check(ctx, false) }

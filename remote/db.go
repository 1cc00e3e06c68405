package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote/internal/ship"
)

// DB is an open database that ships itself. It is safe for concurrent use.
type DB struct {
	*stoat.DB
	shipper *ship.Shipper
	store   *meter
	far     *lazyFar
	wait    time.Duration
	part    int64 // how much a compaction writes at a time; 0 is the default
	closing sync.Once
}

// Ship returns when everything committed before the call is in the store.
func (db *DB) Ship(ctx context.Context) error { return db.shipper.Wait(ctx) }

// Confirm returns nil if this process was still the writer at a moment during the call. So nobody
// had committed anything before the call that this process does not know, and what was read just
// before the call was the newest. It makes one request, and one more for each log object that is on
// its way, and tries until ctx ends. If another process has opened the database for writing, the
// error is [ErrFenced].
func (db *DB) Confirm(ctx context.Context) error { return db.shipper.Confirm(ctx) }

// Collect deletes what nobody needs who restores a commit of the retention, or a pinned one
// ([Pin]), and returns how many objects it has deleted. A database does so by itself now and then,
// if there is something to delete.
func (db *DB) Collect(ctx context.Context) (deleted int, err error) {
	return db.shipper.Collect(ctx)
}

// Close ships what is committed and closes the local database. If the store does not answer in
// [Options.CloseTimeout], the error is [ErrUnshipped]: then the folder has everything, and the next
// Open ships the rest. Use this and not Close of the embedded DB.
func (db *DB) Close() (err error) {
	db.closing.Do(func() { err = db.close() })
	return err
}

func (db *DB) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), db.wait)
	defer cancel()
	if db.shipper.Wait(ctx) != nil { // what is missing, Stop reports
		db.far.hurry() // a store that does not answer would hold up what reads files
	}
	db.shipper.Closing()
	err := db.DB.Close()
	if err != nil {
		cancel() // what is in doubt here must not be shipped
	}
	return errors.Join(err, db.shipper.Stop(ctx), db.far.stop())
}

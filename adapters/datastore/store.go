package datastore

import (
	"context"
	"sync"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"

	"github.com/stoatdb/stoat"
)

// Store is a datastore in the root bucket of a database. It is safe for concurrent use. The methods
// that its features need beyond Get, Put and their kin are here. Once the store is closed, all of
// them return [stoat.ErrClosed] except Close itself, DiskUsage, which still knows the size, and
// Batch, whose Commit returns it.
//
// The zero [ds.Key], which no function of go-datastore makes, is [stoat.ErrInvalidKey].
type Store struct {
	space
	db *stoat.DB
}

var (
	_ ds.Batching            = (*Store)(nil)
	_ ds.TxnDatastore        = (*Store)(nil)
	_ ds.TTLDatastore        = (*Store)(nil)
	_ ds.PersistentDatastore = (*Store)(nil)
	_ ds.GCDatastore         = (*Store)(nil)
	_ ds.CheckedDatastore    = (*Store)(nil)
	_ ds.ScrubbedDatastore   = (*Store)(nil)
)

// New returns the store in the root bucket of db. Closing the store closes db. Other buckets of db
// stay free for other uses.
func New(db *stoat.DB) *Store {
	view := func(_ context.Context, fn func(tx *stoat.Tx) error) error { return db.View(fn) }
	return &Store{space{view, db.UpdateContext}, db}
}

// Query returns the entries that match q as they are now. Results that are not read to their end
// must be closed: until then, they keep the state of the database that they read. They end with the
// error of ctx when ctx is done.
func (s *Store) Query(ctx context.Context, q query.Query) (query.Results, error) {
	return s.query(ctx, q, new(sync.Mutex))
}

// Sync makes all writes that have returned durable, whatever their keys.
func (s *Store) Sync(context.Context, ds.Key) error { return s.db.Sync() }

// Close makes all writes durable and closes the database. Closing again does nothing.
func (s *Store) Close() error { return s.db.Close() }

// DiskUsage returns roughly how many bytes the database takes on disk.
func (s *Store) DiskUsage(context.Context) (uint64, error) {
	stats := s.db.Stats()
	// What is in memory is in the log too, and as large there.
	return stats.TableBytes + stats.ValueFileBytes + uint64(stats.MemtableBytes), nil
}

// CollectGarbage compacts the database until nothing in it is old, as [stoat.DB.Compact] does. The
// database reclaims space by itself; this does it now, and may rewrite all data.
func (s *Store) CollectGarbage(ctx context.Context) error { return s.db.Compact(ctx) }

// Check reads everything on disk and reports all damage, as [stoat.DB.Check] does.
func (s *Store) Check(ctx context.Context) error { return s.db.Check(ctx) }

// Scrub is Check: it finds all damage, and repairs none. [stoat.Salvage] saves what is readable.
func (s *Store) Scrub(ctx context.Context) error { return s.db.Check(ctx) }

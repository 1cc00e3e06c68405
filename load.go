package stoat

import (
	"context"
	"errors"
	"iter"
	"runtime/debug"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Load stores all pairs in the root bucket, in one transaction that may be larger than memory. It
// writes directly to tables, bypassing the log, which is the fastest way to import many pairs; keys
// in ascending order are the fastest of all. If a key occurs more than once, the last pair wins.
// Load copies the slices of each pair.
//
// All pairs become visible and durable together when Load returns nil. After an error, or when ctx
// is done, none of them remain. Load waits for its turn like Update; reads continue.
func (db *DB) Load(ctx context.Context, pairs iter.Seq2[[]byte, []byte]) error {
	return db.LoadBucket(ctx, nil, pairs)
}

// LoadBucket is [DB.Load] into the bucket at the end of path, which names nested buckets from the
// root down; an empty path is the root. Missing buckets are created in the same transaction.
func (db *DB) LoadBucket(
	ctx context.Context, path [][]byte, pairs iter.Seq2[[]byte, []byte],
) (err error) {
	l, err := db.engine.BeginLoad(ctx)
	if err != nil {
		return err
	}
	open := true
	defer recoverFault(debug.SetPanicOnFault(true), &err)
	defer func() {
		if open {
			err = errors.Join(err, l.Rollback())
		}
	}()
	prefix, err := db.loadInto(l, path)
	if err == nil {
		err = load(ctx, l, prefix, pairs)
	}
	if err != nil {
		return err
	}
	open = false
	return l.Commit()
}

// loadInto returns the internal key prefix of the bucket at the end of path. It creates missing
// buckets in the loader's transaction.
func (db *DB) loadInto(l *engine.Loader, path [][]byte) (prefix []byte, err error) {
	s := newSession()
	in := s.begin(db, nil, l.Writer()).space
	defer s.end() // the loader ends the transaction itself
	for _, name := range path {
		b, err := in.CreateBucketIfNotExists(name)
		if err != nil {
			return nil, err
		}
		in = &b.space
	}
	return keyspace.AppendPrefix(nil, in.id), s.err
}

func load(
	ctx context.Context, l *engine.Loader, prefix []byte, pairs iter.Seq2[[]byte, []byte],
) error {
	const looks = 1024 // how many pairs pass between two checks of ctx
	internal, n := prefix, 0
	for key, value := range pairs {
		if n++; n%looks == 1 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := errors.Join(checkKey(key), checkValue(value)); err != nil {
			return err
		}
		internal = append(internal[:len(prefix)], key...)
		if err := l.Put(internal, value); err != nil {
			return err
		}
	}
	return ctx.Err()
}

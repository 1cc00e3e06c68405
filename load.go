package stoat

import (
	"context"
	"errors"
	"iter"
	"runtime/debug"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Load stores all pairs in the root bucket, in one transaction that may be larger than memory. It
// writes straight to tables, past the log, which is the fastest way to bring many pairs in; keys in
// ascending order are the fastest of all. Of equal keys, the last counts. The slices of a pair are
// copied.
//
// All pairs become visible, durably, at once when Load returns nil. If ctx ends, or there is any
// other error, nothing of them stays. A Load waits for its turn like an Update; reads go on
// meanwhile.
func (db *DB) Load(ctx context.Context, pairs iter.Seq2[[]byte, []byte]) error {
	return db.LoadBucket(ctx, nil, pairs)
}

// LoadBucket is [DB.Load] for the bucket at the end of path: names of buckets, each within the one
// before; without any, the root. Those that are missing are created, in the same transaction.
func (db *DB) LoadBucket(
	ctx context.Context, path [][]byte, pairs iter.Seq2[[]byte, []byte],
) (err error) {
	l, err := db.engine.BeginLoad(ctx)
	if err != nil {
		return err
	}
	open := true
	faults := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(faults)
		if open {
			err = errors.Join(err, l.Rollback())
		}
		if r := recover(); r != nil {
			if err = vfs.FaultError(r); err == nil {
				panic(r)
			}
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

// loadInto returns what the internal keys of the bucket at the end of path begin with. It creates
// the bucket in the transaction of the loader if need be.
func (db *DB) loadInto(l *engine.Loader, path [][]byte) (prefix []byte, err error) {
	s := newSession()
	in := s.begin(db, nil, l.Writer()).space
	defer s.end() // the transaction itself is the loader's to end
	for _, name := range path {
		b, err := in.CreateBucketIfNotExists(name)
		if err != nil {
			return nil, err
		}
		in = &b.space
	}
	return keyspace.AppendPrefix(nil, in.id), s.err
}

// load puts all pairs under internal keys with that prefix.
func load(
	ctx context.Context, l *engine.Loader, prefix []byte, pairs iter.Seq2[[]byte, []byte],
) error {
	const looks = 1024 // how many pairs pass between two looks at ctx
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

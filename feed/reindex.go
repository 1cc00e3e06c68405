package feed

import (
	"fmt"

	"github.com/stoatdb/stoat"
)

// Reindex is [Open] for a feed that Open refuses with [ErrInconsistent], because a salvage lost
// part of it: it first makes the parts agree. Entries lost between others become redacted, and
// those lost before all others expired, so each remaining entry keeps its number. Consumers keep
// their cursors; the error of one that cannot be read says how to set it. Sublogs are built again,
// without the redacted entries.
//
// If the salvage lost the schema of remaining entries, which says what their fields are, Reindex
// derives it from T, which must be the type that they were appended with. The rest of the feed
// proves whether it is; if not, or if more than one such schema is lost, the error says which
// entries these are, and nothing changes. In the same way it derives from T and the options which
// encoding the entries have, if no schema is lost.
//
// It works in one transaction, which can be larger than memory, before it builds sublogs.
func Reindex[T any](db *stoat.DB, name string, options *Options[T]) (*Feed[T], error) {
	if options == nil {
		options = &Options[T]{}
	}
	f, err := newFeed(name, options)
	if err == nil {
		err = db.Update(f.reindex)
	}
	if err == nil {
		err = f.open(db)
	}
	if err != nil {
		return nil, fmt.Errorf("reindex feed %q: %w", name, err)
	}
	return f, nil
}

// reindex rebuilds the stored feed.
func (f *Feed[T]) reindex(tx *stoat.Tx) error {
	if err := f.restoreFormat(tx); err != nil {
		return err
	}
	b, err := newRebuild(tx, f.name)
	if err == nil {
		err = f.checkFormat(b.session())
	}
	if err != nil {
		return err
	}
	if c, ok := f.codec.(*structCodec[T]); ok {
		b.own = c.layout
	}
	return b.run()
}

// restoreFormat stores the format if it is lost and is that of the program's type, which the state
// proves: its edition is a digest of the format and the schemas.
func (f *Feed[T]) restoreFormat(tx *stoat.Tx) error {
	root, err := tx.Bucket([]byte(f.name))
	if err != nil {
		return err
	}
	if kept, err := root.Has([]byte(formatKey)); kept || err != nil {
		return err
	}
	var known state
	p, err := root.Get([]byte(stateKey))
	if err == nil {
		err = known.parse(p)
	}
	if err != nil {
		return noFormat(err)
	}
	schemas, err := root.Bucket([]byte(schemasBucket))
	if err != nil {
		return noFormat(err)
	}
	present, err := lineageOf(tx, f.codec.name(), schemas)
	if err != nil || present.check(known.edition) != nil {
		return err // newRebuild refuses what has no format
	}
	return root.Put([]byte(formatKey), []byte(f.codec.name()))
}

// ReindexStored is [Reindex] for programs without the Go type: it cannot restore the schema of
// entries. It does not open the feed, of which the next [Open] builds the sublogs.
func ReindexStored(db *stoat.DB, name string) error {
	err := db.Update(func(tx *stoat.Tx) error {
		b, err := newRebuild(tx, name)
		if err != nil {
			return err
		}
		return b.run()
	})
	if err != nil {
		return fmt.Errorf("reindex feed %q: %w", name, err)
	}
	return nil
}

package feed

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/stoatdb/stoat"
)

// errUnfinished says that sublogs lack entries.
var errUnfinished = errors.New("sublogs lack entries")

// Open returns the feed of that name, and creates it if need be, as a bucket of the root bucket.
// Nil options are the defaults. It runs transactions of its own, so it must not be called in one
// that can write. Sublogs that are new are made first, in several commits, each of which reads up
// to 65,536 entries. A feed that is complete is not written to, and can be opened in a database
// that is read-only.
//
// If the database was made by [stoat.Salvage] of one that had lost something, Open reads the whole
// feed, once, and the error is [ErrInconsistent] if it does not agree with itself: see [Reindex].
//
// The type may have changed since the entries were stored: what it has new is zero in them, and
// what it has no more is left out.
func Open[T any](db *stoat.DB, name string, options *Options[T]) (*Feed[T], error) {
	if options == nil {
		options = &Options[T]{}
	}
	f, err := newFeed(name, options)
	if err == nil {
		err = f.open(db)
	}
	if err != nil {
		return nil, fmt.Errorf("feed %q: %w", name, err)
	}
	return f, nil
}

func newFeed[T any](name string, options *Options[T]) (*Feed[T], error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	c, err := newCodec[T](options.Encoding)
	if err != nil {
		return nil, err
	}
	f := &Feed[T]{
		name: name, codec: c, sublogs: options.sorted(), retention: options.Retention,
		batch: options.Batch, now: options.Now,
	}
	_, f.raw = c.(rawCodec[T])
	if f.batch == 0 {
		f.batch = consumeBatch
	}
	if f.now == nil {
		f.now = time.Now
	}
	return f, nil
}

// open makes the feed complete.
func (f *Feed[T]) open(db *stoat.DB) error {
	if err := f.checkSalvaged(db); err != nil {
		return err
	}
	err := db.View(f.complete)
	if errors.Is(err, stoat.ErrBucketNotFound) || errors.Is(err, errUnprepared) {
		if err = db.Update(f.create); err == nil {
			err = db.View(f.complete)
		}
	}
	for errors.Is(err, errUnfinished) {
		err = db.Update(func(tx *stoat.Tx) error {
			s, err := f.writable(tx)
			if err != nil {
				return err
			}
			return f.catchUp(s, f.behind(s)+chunkSize)
		})
		if err == nil {
			err = db.View(f.complete)
		}
	}
	return err
}

// create makes what is missing but for the contents of the sublogs.
func (f *Feed[T]) create(tx *stoat.Tx) error {
	root, err := tx.Bucket([]byte(f.name))
	switch {
	case errors.Is(err, stoat.ErrBucketNotFound):
		err = f.createBuckets(tx)
	case err == nil:
		var ours bool
		if ours, err = root.Has([]byte(formatKey)); err == nil && !ours {
			err = errors.New("there is a bucket of this name that is no feed: use another name")
		}
	}
	if err != nil {
		return err
	}
	s, err := sessionOf(tx, f.name)
	if err == nil {
		err = s.change()
	}
	if err != nil {
		return err
	}
	if err := f.prepare(s); err != nil {
		return err
	}
	s.edition = f.known.Load().newest()
	return f.catchUp(s, f.behind(s)+chunkSize)
}

// createBuckets makes an empty feed.
func (f *Feed[T]) createBuckets(tx *stoat.Tx) error {
	root, err := tx.CreateBucket([]byte(f.name))
	if err != nil {
		return err
	}
	for _, name := range []string{
		entriesBucket, sublogsBucket, redactedBucket, consumersBucket, schemasBucket,
	} {
		if _, err := root.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	if err := root.Put([]byte(formatKey), []byte(f.codec.name())); err != nil {
		return err
	}
	if err := keepChecked(tx, root); err != nil {
		return err
	}
	return root.Put([]byte(stateKey), new(state).append(nil)) // the edition follows
}

// prepare makes the schema, and learns what is stored.
func (f *Feed[T]) prepare(s *session) error {
	if err := f.fits(s); err != nil {
		return err
	}
	schemas, err := s.schemas()
	if err != nil {
		return err
	}
	if err := f.codec.prepare(s.tx, schemas); err != nil {
		return err
	}
	known, err := s.lineage()
	if err != nil {
		return err
	}
	f.known.Store(&known)
	return nil
}

// complete returns errUnprepared or errUnfinished if something is missing.
func (f *Feed[T]) complete(tx *stoat.Tx) error {
	s, err := sessionOf(tx, f.name)
	if err != nil {
		return err
	}
	if err := f.prepare(s); err != nil {
		return err
	}
	if s.edition != f.known.Load().newest() {
		return errUnprepared
	}
	if f.behind(s) < s.next {
		return errUnfinished
	}
	for _, sub := range f.sublogs {
		if s.sublog(sub.name) == nil {
			return errUnprepared
		}
	}
	return nil
}

// fits returns an error if the entries are encoded in another way.
func (f *Feed[T]) fits(s *session) error {
	format, err := s.root.Get([]byte(formatKey))
	if err != nil {
		return err
	}
	if want := f.codec.name(); string(format) != want {
		return fmt.Errorf("entries are stored as %q, and %s would be as %q: use the type and the "+
			"encoding that it was created with, or a new feed", format, reflect.TypeFor[T](), want)
	}
	return nil
}

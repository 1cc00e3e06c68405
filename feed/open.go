package feed

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/stoatdb/stoat"
)

// errUnfinished reports that sublogs lack entries.
var errUnfinished = errors.New("sublogs lack entries")

// Open opens the feed with the given name, a bucket of the root bucket, and creates it if it does
// not exist. A nil options means the defaults. Open runs its own transactions, so it must not be
// called inside a writable one. It builds new sublogs first, in several commits of up to 65,536
// entries each. A complete feed is not written to and can be opened in a read-only database.
//
// If the database was made by a [stoat.Salvage] that lost data, Open reads the whole feed once, and
// returns [ErrInconsistent] if its parts disagree: see [Reindex].
//
// The type may have changed since entries were stored: new fields are zero in old entries, and
// fields that no longer exist are ignored.
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

// open checks the feed and completes it.
func (f *Feed[T]) open(db *stoat.DB) error {
	if err := f.checkSalvaged(db); err != nil {
		return err
	}
	err := db.View(f.checkComplete)
	if errors.Is(err, stoat.ErrBucketNotFound) || errors.Is(err, errUnprepared) {
		if err = db.Update(f.create); err == nil {
			err = db.View(f.checkComplete)
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
			err = db.View(f.checkComplete)
		}
	}
	return err
}

// create creates what is missing, and fills sublogs as far as one commit may.
func (f *Feed[T]) create(tx *stoat.Tx) error {
	root, err := tx.Bucket([]byte(f.name))
	switch {
	case errors.Is(err, stoat.ErrBucketNotFound):
		err = f.createBuckets(tx)
	case err == nil:
		var ours bool
		if ours, err = root.Has([]byte(formatKey)); err == nil && !ours {
			err = errors.New("a bucket of this name exists that is not a feed: choose another name")
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
	if err := s.checkEdition(); err != nil { // the number of a lost schema would be used again
		return fmt.Errorf("%w; %s", err, toMend)
	}
	if err := f.prepare(s); err != nil {
		return err
	}
	s.edition = f.known.Load().newest()
	return f.catchUp(s, f.behind(s)+chunkSize)
}

// createBuckets creates an empty feed.
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
	if err := markChecked(tx, root); err != nil {
		return err
	}
	empty := state{edition: nextEdition(0, []byte(f.codec.name()))}
	return root.Put([]byte(stateKey), empty.append(nil))
}

// prepare stores the schema, if it is new, and reads what is stored.
func (f *Feed[T]) prepare(s *session) error {
	if err := f.checkFormat(s); err != nil {
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

// checkComplete returns errUnprepared or errUnfinished if something is missing.
func (f *Feed[T]) checkComplete(tx *stoat.Tx) error {
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

// checkFormat returns an error if the entries have another encoding.
func (f *Feed[T]) checkFormat(s *session) error {
	format, err := s.root.Get([]byte(formatKey))
	if err != nil {
		return err
	}
	if want := f.codec.name(); string(format) != want {
		return fmt.Errorf("entries are stored as %q, but %s would be stored as %q: use the original "+
			"type and encoding, or a new feed", format, reflect.TypeFor[T](), want)
	}
	return nil
}

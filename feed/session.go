package feed

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
)

// The names of what is in the bucket of a feed. They are on disk.
const (
	formatKey       = "format"
	stateKey        = "state"
	entriesBucket   = "entries"
	sublogsBucket   = "sublogs"
	redactedBucket  = "redacted"
	consumersBucket = "consumers"
	schemasBucket   = "schemas"
	salvageKey      = "salvage" // the salvage after which it was checked, uvarint
)

// sessionKey is the key under which a transaction keeps the session of a feed.
type sessionKey struct{ name string }

// session is the state of a feed in a transaction, shared by all Feeds with its name. The counters
// and the newest numbers of the sublogs are stored only before the commit.
type session struct {
	tx     *stoat.Tx
	name   string
	loaded bool

	root, entries *stoat.Bucket
	postings      *stoat.Bucket     // contains the sublogs' buckets; nil until used, like redacted
	redacted      *lists            // the redacted entries
	opened        map[string]*lists // the sublogs used so far

	moved map[string]uint64 // consumers that SetCursor has moved

	state
	hooked    bool      // beforeCommit will be called
	retention Retention // of the Feed that appended last, for beforeCommit
	now       time.Time // the time of that Append
	scratch   []byte
}

// sessionOf returns the session of the feed in tx.
func sessionOf(tx *stoat.Tx, name string) (*session, error) {
	s := stoat.Local(tx, sessionKey{name}, func() *session { return &session{tx: tx, name: name} })
	if s.loaded {
		return s, nil
	}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("feed %q: %w", name, err)
	}
	return s, nil
}

func (s *session) load() error {
	root, err := s.tx.Bucket([]byte(s.name))
	if err != nil {
		return err
	}
	s.root = root
	if s.entries, err = root.Bucket([]byte(entriesBucket)); err != nil {
		return err
	}
	p, err := root.Get([]byte(stateKey))
	if err != nil {
		return err
	}
	if err := s.state.parse(p); err != nil {
		return err
	}
	s.loaded = true
	return nil
}

// schemas returns the bucket of schemas.
func (s *session) schemas() (*stoat.Bucket, error) { return s.root.Bucket([]byte(schemasBucket)) }

// sublogBuckets returns the bucket that contains the buckets of the sublogs.
func (s *session) sublogBuckets() (*stoat.Bucket, error) {
	if s.postings == nil {
		b, err := s.root.Bucket([]byte(sublogsBucket))
		if err != nil {
			return nil, err
		}
		s.postings = b
	}
	return s.postings, nil
}

// redactions returns the posting lists of the redacted entries.
func (s *session) redactions() (*lists, error) {
	if s.redacted == nil {
		b, err := s.root.Bucket([]byte(redactedBucket))
		if err != nil {
			return nil, err
		}
		s.redacted = &lists{bucket: b}
	}
	return s.redacted, nil
}

// createLists returns the posting lists of a sublog, whose bucket it creates if it does not exist.
func (s *session) createLists(name string) (*lists, error) {
	if l := s.opened[name]; l != nil {
		return l, nil
	}
	sublogs, err := s.sublogBuckets()
	if err == nil {
		_, err = sublogs.CreateBucketIfNotExists([]byte(name))
	}
	if err != nil {
		return nil, fmt.Errorf("sublog %q: %w", name, err)
	}
	return s.lists(name)
}

// lists returns the posting lists of a sublog.
func (s *session) lists(name string) (*lists, error) {
	if l := s.opened[name]; l != nil {
		return l, nil
	}
	sublogs, err := s.sublogBuckets()
	if err != nil {
		return nil, err
	}
	b, err := sublogs.Bucket([]byte(name))
	if err != nil {
		return nil, fmt.Errorf("sublog %q: %w", name, err)
	}
	l := &lists{bucket: b}
	if s.opened == nil {
		s.opened = make(map[string]*lists)
	}
	s.opened[name] = l
	return l, nil
}

// change makes sure that the state is stored before the commit. Call it before changing anything.
func (s *session) change() error {
	if s.hooked {
		return nil
	}
	if err := s.tx.BeforeCommit(s.beforeCommit); err != nil {
		return err
	}
	s.hooked = true
	return nil
}

// beforeCommit stores what was kept in memory, unless the feed has been deleted since.
func (s *session) beforeCommit() error {
	s.hooked = false
	err := s.store()
	if err == nil {
		return nil
	}
	if _, gone := s.root.Has([]byte(stateKey)); errors.Is(gone, stoat.ErrBucketNotFound) {
		return nil
	}
	return fmt.Errorf("feed %q: %w", s.name, err)
}

// store applies retention if it is due, and writes what was kept in memory.
func (s *session) store() error {
	if s.next >= s.checked+max(1, (s.next-s.first)/retainEvery) {
		if err := s.retain(s.retention, s.now); err != nil {
			return err
		}
		s.checked = s.next
	}
	for _, sub := range s.sublogs {
		if l := s.opened[sub.name]; l != nil {
			if err := l.flush(); err != nil {
				return err
			}
		}
	}
	if s.redacted != nil {
		if err := s.redacted.flush(); err != nil {
			return err
		}
	}
	return s.root.Put([]byte(stateKey), s.state.append(nil))
}

// stored returns an entry that is kept.
func (s *session) stored(seq uint64) (stored, error) {
	p, err := s.entries.Get(entryKey(seq))
	switch {
	case errors.Is(err, stoat.ErrNotFound):
		return stored{}, damaged("feed %q: entry %d is missing", s.name, seq)
	case err != nil:
		return stored{}, err
	}
	return parseEntry(seq, p)
}

// exists returns an error unless the entry is kept.
func (s *session) exists(seq uint64) error {
	switch {
	case seq < s.first:
		return fmt.Errorf("feed %q: entry %d: %w", s.name, seq, ErrExpired)
	case seq >= s.next:
		return fmt.Errorf("feed %q: entry %d of %d: %w", s.name, seq, s.next, stoat.ErrNotFound)
	}
	return nil
}

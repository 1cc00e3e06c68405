package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stoatdb/stoat/internal/commands/intake"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// cacheBytes limits Badger's caches of blocks and indexes.
const cacheBytes = 32 << 20

// badgerSource is a Badger database: the newest version of each key. It is not safe for concurrent
// use.
//
// A position is the last key.
type badgerSource struct {
	path  string // absolute
	files intake.Source
	bytes int64
	db    *badger.DB
	metas int64 // entries with user metadata, which Stoat cannot store
}

func openBadger(name string) (source, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	s := &badgerSource{path: path}
	if err := s.look(); err != nil {
		return nil, err
	}
	o := badger.DefaultOptions(path).WithReadOnly(true).WithLogger(nil).
		WithBlockCacheSize(cacheBytes).WithIndexCacheSize(cacheBytes)
	if s.db, err = badger.Open(o); err != nil {
		return nil, fmt.Errorf("cannot open %s as a Badger database: %w; if it was not "+
			"closed, have its program open and close it", name, err)
	}
	return s, nil
}

// look finds out what the folder contains before anything is opened.
func (s *badgerSource) look() error {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return err
	}
	newest := time.Time{}
	count := 0
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".sst", ".vlog", ".mem":
		default:
			if e.Name() != badger.ManifestFilename {
				continue
			}
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		s.bytes += info.Size()
		count++
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	if count == 0 {
		return fmt.Errorf("%s has no Badger files: %w", s.path, fs.ErrNotExist)
	}
	s.files = intake.Source{Kind: "badger", Path: s.path, Identity: fmt.Sprintf(
		"%d bytes in %d files of %s", s.bytes, count, newest.UTC().Format(time.RFC3339Nano))}
	return nil
}

func (s *badgerSource) identity() intake.Source { return s.files }

// size returns the length of keys and values, as far as Badger knows: while it is open, its files
// are longer than their contents.
func (s *badgerSource) size() int64 {
	tables, values := s.db.Size()
	return tables + values
}

func (s *badgerSource) close() error { return s.db.Close() }

func (s *badgerSource) findings() []string {
	if s.metas == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s in this run had user metadata, which was not imported",
		progress.Counted(s.metas, "value"))}
}

func (s *badgerSource) read(ctx context.Context, job *intake.Job, add func(n int64)) error {
	at := job.Position().Key
	return s.db.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(badger.DefaultIteratorOptions)
		defer it.Close()
		it.Seek(at)
		if it.Valid() && string(it.Item().Key()) == string(at) {
			it.Next()
		}
		for ; it.Valid(); it.Next() {
			if err := interrupted(ctx); err != nil {
				return err
			}
			n, err := s.entry(job, it.Item())
			if err != nil {
				return fmt.Errorf("key %q: %w", it.Item().Key(), err)
			}
			add(int64(n))
			if err := job.Advance(intake.Position{Key: it.Item().Key()}); err != nil {
				return err
			}
		}
		return nil
	})
}

// entry imports one key, and returns the length of it and its value.
func (s *badgerSource) entry(job *intake.Job, item *badger.Item) (n int, err error) {
	to, err := job.Within(nil)
	if err != nil {
		return 0, err
	}
	if item.UserMeta() != 0 {
		s.metas++
	}
	err = item.Value(func(value []byte) error {
		n = len(item.Key()) + len(value)
		if item.ExpiresAt() == 0 {
			return to.Put(item.Key(), value)
		}
		at := expiry(item.ExpiresAt())
		if !at.After(time.Now()) {
			return errExpired // the iterator still saw it
		}
		return to.PutUntil(item.Key(), value, at)
	})
	if errors.Is(err, errExpired) {
		return n, nil
	}
	if err == nil {
		job.Wrote(n)
	}
	return n, err
}

// errExpired is returned for an entry that has expired meanwhile.
var errExpired = errors.New("expired")

// expiry returns the time that many seconds after 1970, or a time thousands of years ahead.
func expiry(seconds uint64) time.Time {
	return time.Unix(int64(min(seconds, math.MaxInt32*64)), 0)
}

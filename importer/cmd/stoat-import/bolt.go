package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/commands/bucketpath"
	"github.com/stoatdb/stoat/internal/commands/intake"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockWait is how long to wait for another process that has the file open.
const lockWait = time.Second

// boltSource is a bbolt database: nested buckets, in the order of their names and keys. It is not
// safe for concurrent use.
//
// A position is the path of a bucket and the last key or name in it; without a key, it is the
// bucket's beginning.
type boltSource struct {
	path string // absolute
	info fs.FileInfo
	db   *bbolt.DB

	// The arguments of read.
	ctx context.Context
	job *intake.Job
	add func(n int64)
}

func openBolt(name string) (source, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: lockWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%s is open in another process: stop that first", name)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open %s as a bbolt database: %w", name, err)
	}
	return &boltSource{path: path, info: info, db: db}, nil
}

func (s *boltSource) identity() intake.Source {
	return intake.Source{Kind: "bolt", Path: s.path, Identity: intake.Identity(s.info)}
}

func (s *boltSource) size() int64        { return s.info.Size() }
func (s *boltSource) findings() []string { return nil }
func (s *boltSource) close() error       { return s.db.Close() }

func (s *boltSource) read(
	ctx context.Context, job *intake.Job, add func(n int64),
) (err error) {
	s.ctx, s.job, s.add = ctx, job, add
	at := job.Position()
	// The library does not check what it reads: damage causes a panic, or a fault in mapped memory.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("%s is damaged (\"bbolt check\" may say how): %v", s.path, recovered)
		}
	}()
	return s.db.View(func(tx *bbolt.Tx) error {
		return s.bucket(tx.Cursor(), tx.Bucket, nil, &at)
	})
}

// bucket imports the bucket at path with its cursor, from the position on if that is not nil.
// within returns a nested bucket.
func (s *boltSource) bucket(
	c *bbolt.Cursor, within func(name []byte) *bbolt.Bucket, path [][]byte, from *intake.Position,
) error {
	key, value := first(c, len(path), from)
	for ; key != nil; key, value = c.Next() {
		var err error
		if value != nil {
			err = s.entry(path, key, value)
		} else {
			inner := append(slices.Clip(path), key)
			if from != nil && (len(from.Path) < len(inner) || !bytes.Equal(from.Path[len(path)], key)) {
				from = nil
			}
			err = s.inner(within(key), inner, from)
		}
		if err != nil {
			return err
		}
		from = nil
	}
	return nil
}

// first moves the cursor of a bucket that is depth levels below the root to where reading starts:
// to the bucket that leads to the position, or after the position's key.
func first(c *bbolt.Cursor, level int, from *intake.Position) (key, value []byte) {
	switch {
	case from == nil || level == len(from.Path) && len(from.Key) == 0:
		return c.First()
	case level < len(from.Path):
		return c.Seek(from.Path[level])
	}
	key, value = c.Seek(from.Key)
	if bytes.Equal(key, from.Key) {
		return c.Next()
	}
	return key, value
}

// inner imports a bucket within another one.
func (s *boltSource) inner(b *bbolt.Bucket, path [][]byte, from *intake.Position) error {
	if b == nil {
		return fmt.Errorf("%s is damaged: cannot open bucket %s", s.path, pathText(path))
	}
	if from == nil {
		if err := s.enter(b, path); err != nil {
			return err
		}
	}
	return s.bucket(b.Cursor(), b.Bucket, path, from)
}

// enter creates the bucket at path with b's sequence, unless it has a higher one.
func (s *boltSource) enter(b *bbolt.Bucket, path [][]byte) error {
	if err := interrupted(s.ctx); err != nil {
		return err
	}
	to, err := s.job.Within(path)
	sequence := uint64(0)
	if err == nil {
		sequence, err = to.Sequence()
	}
	if err == nil && b.Sequence() > sequence {
		err = to.SetSequence(b.Sequence())
	}
	if err != nil {
		return fmt.Errorf("bucket %s: %w", pathText(path), err)
	}
	return s.job.Advance(intake.Position{Path: path})
}

// entry imports a key of the bucket at path.
func (s *boltSource) entry(path [][]byte, key, value []byte) error {
	if err := interrupted(s.ctx); err != nil {
		return err
	}
	to, err := s.job.Within(path)
	if err == nil {
		err = to.Put(key, value)
	}
	if err != nil {
		return fmt.Errorf("bucket %s, key %q: %w", pathText(path), key, err)
	}
	n := len(key) + len(value)
	s.job.Wrote(n)
	s.add(int64(n))
	return s.job.Advance(intake.Position{Path: path, Key: key})
}

// pathText returns the path of a bucket for messages.
func pathText(path [][]byte) string {
	names := make([]string, len(path))
	for i, name := range path {
		names[i] = string(name)
	}
	return bucketpath.Format(names)
}

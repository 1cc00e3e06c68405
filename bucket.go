package stoat

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Bucket is a named key space within another bucket, or within the root bucket, which is the [Tx]
// itself. Buckets nest to any depth. Each has its own keys, nested buckets and sequence; a key and
// a bucket may have the same name. A bucket costs no more than a key.
//
// A Bucket belongs to its transaction and is not safe for concurrent use either. Once the
// transaction drops it, or a bucket that contains it, its methods return [ErrBucketNotFound].
type Bucket struct {
	space
}

// Bucket returns the bucket with that name within this one, or [ErrBucketNotFound].
func (s *space) Bucket(name []byte) (*Bucket, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	id, ok, err := s.bucketID(name)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("bucket %q: %w", name, ErrBucketNotFound)
	}
	return s.child(id), nil
}

// CreateBucket creates a bucket within this one; the error is [ErrBucketExists] if the name is
// taken. A name has 1 to 65,535 bytes.
func (s *space) CreateBucket(name []byte) (*Bucket, error) {
	if err := s.checkWrite(); err != nil {
		return nil, err
	}
	_, ok, err := s.bucketID(name)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return nil, fmt.Errorf("bucket %q: %w", name, ErrBucketExists)
	}
	return s.createBucket(name)
}

// CreateBucketIfNotExists returns the bucket with that name within this one, creating it if it does
// not exist.
func (s *space) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	if err := s.checkWrite(); err != nil {
		return nil, err
	}
	id, ok, err := s.bucketID(name)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return s.child(id), nil
	}
	return s.createBucket(name)
}

// DeleteBucket drops the bucket with that name and everything in it; the error is
// [ErrBucketNotFound] if it does not exist. The cost does not depend on the contents, whose disk
// space is freed in the background. A bucket created later under the same name is empty.
func (s *space) DeleteBucket(name []byte) error {
	if err := s.checkWrite(); err != nil {
		return err
	}
	id, ok, err := s.bucketID(name)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("bucket %q: %w", name, ErrBucketNotFound)
	}
	tx := s.session
	if err := tx.delete(s.catalogKey(name)); err != nil {
		return err
	}
	tx.scratch = keyspace.AppendDropped(tx.scratch[:0], id)
	if err := tx.put(tx.scratch, nil); err != nil {
		return err
	}
	if tx.dropped == nil {
		tx.dropped = make(map[uint64]struct{})
	}
	tx.dropped[id] = struct{}{}
	return nil
}

func (s *space) bucketID(name []byte) (id uint64, ok bool, err error) {
	if err := checkKey(name); err != nil {
		return 0, false, err
	}
	value, ok, err := s.session.get(s.catalogKey(name))
	if err == nil && ok {
		id, err = parseNumber(value)
	}
	if err != nil {
		return 0, false, fmt.Errorf("look up bucket %q: %w", name, err)
	}
	return id, ok, nil
}

// createBucket creates a bucket that does not exist yet.
func (s *space) createBucket(name []byte) (*Bucket, error) {
	tx := s.session
	tx.scratch = keyspace.AppendNextID(tx.scratch[:0])
	id, err := tx.number(tx.scratch, keyspace.RootID+1)
	if err != nil {
		return nil, fmt.Errorf("create bucket %q: %w", name, err)
	}
	if err := tx.putNumber(tx.scratch, id+1); err != nil {
		return nil, err
	}
	if err := tx.putNumber(s.catalogKey(name), id); err != nil {
		return nil, err
	}
	return s.child(id), nil
}

// child returns a handle of the bucket id, which is within this one.
func (s *space) child(id uint64) *Bucket {
	b := &Bucket{space{session: s.session, born: s.born, id: id}}
	if s.id != keyspace.RootID {
		b.parent = s
	}
	b.setPrefix()
	return b
}

// catalogKey returns the internal key of the catalog entry of a bucket within this one, valid until
// the scratch buffer is next used.
func (s *space) catalogKey(name []byte) []byte {
	k := keyspace.AppendCatalog(s.session.scratch[:0], s.id)
	s.session.scratch = append(k, name...)
	return s.session.scratch
}

package stoat

import (
	"errors"
	"fmt"
)

// RenameBucket renames the bucket old within this one to name. It is [Tx.MoveBucket] without a
// change of parent.
func (s *space) RenameBucket(old, name []byte) error { return s.moveBucket(old, s, name) }

// MoveBucket moves the bucket old within this one, with all its contents, into the bucket to of the
// same transaction, under the given name. The cost does not depend on the contents, and handles of
// the bucket and of its nested buckets remain valid.
//
// The error is [ErrBucketNotFound] if old does not exist, and [ErrBucketExists] if another bucket
// has the new name. A bucket cannot be moved into itself or into one of its nested buckets. To a
// [DB.WatchBucket] of the old path, the bucket is deleted.
func (s *space) MoveBucket(old []byte, to KeySpace, name []byte) error {
	return s.moveBucket(old, to.itself(), name)
}

func (s *space) moveBucket(old []byte, to *space, name []byte) error {
	if err := errors.Join(s.checkWrite(), to.checkWrite()); err != nil {
		return err
	}
	if s.session != to.session {
		return errors.New("a bucket cannot be moved into a bucket of another transaction")
	}
	id, ok, err := s.bucketID(old)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("bucket %q: %w", old, ErrBucketNotFound)
	case to.isWithin(id):
		return fmt.Errorf("bucket %q cannot be moved into itself or a bucket nested in it", old)
	}
	there, ok, err := to.bucketID(name)
	switch {
	case err != nil:
		return err
	case ok && there == id:
		return nil
	case ok:
		return fmt.Errorf("bucket %q: %w", name, ErrBucketExists)
	}
	if err := s.session.delete(s.catalogKey(old)); err != nil {
		return err
	}
	if err := s.session.putNumber(to.catalogKey(name), id); err != nil {
		return err
	}
	s.session.adopt(id, to)
	return nil
}

// isWithin reports whether this is the bucket id or is nested in it.
func (s *space) isWithin(id uint64) bool {
	for b := s; b != nil; b = s.session.holder(b) {
		if b.id == id {
			return true
		}
	}
	return false
}

// holder returns the bucket that contains b, or nil for the root and, possibly, its direct
// children. Only the ids of the buckets that contain a bucket are sure to be set.
func (s *session) holder(b *space) *space {
	if to, ok := s.adopted[b.id]; ok {
		return to
	}
	return b.parent
}

// adopt records that the bucket id was moved to another parent: older handles know only the former
// one.
func (s *session) adopt(id uint64, to *space) {
	if s.adopted == nil {
		s.adopted = make(map[uint64]*space)
	}
	s.adopted[id] = to
}

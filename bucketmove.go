package stoat

import (
	"errors"
	"fmt"
)

// RenameBucket gives the bucket of the name old within this one the name name. It is
// [Tx.MoveBucket] that stays where it is.
func (s *space) RenameBucket(old, name []byte) error { return s.moveBucket(old, s, name) }

// MoveBucket moves the bucket of the name old within this one, with all that is in it, into the
// bucket to of the same transaction, where it has the name name. The cost does not grow with the
// contents, and handles of it, and of the buckets within it, go on to be valid.
//
// The error is [ErrBucketNotFound] if there is no such bucket, and [ErrBucketExists] if the name is
// taken by another one. A bucket cannot be moved into itself, or into one that it holds. For those
// who watch the bucket it is deleted: no bucket is where it was.
func (s *space) MoveBucket(old []byte, to KeySpace, name []byte) error {
	return s.moveBucket(old, to.itself(), name)
}

func (s *space) moveBucket(old []byte, to *space, name []byte) error {
	if err := errors.Join(s.checkWrite(), to.checkWrite()); err != nil {
		return err
	}
	if s.session != to.session {
		return errors.New("a bucket cannot be moved into one of another transaction")
	}
	id, ok, err := s.bucketID(old)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("bucket %q: %w", old, ErrBucketNotFound)
	case to.isWithin(id):
		return fmt.Errorf("bucket %q cannot be moved into itself or a bucket that it holds", old)
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

// isWithin reports whether this is the bucket id, or lies in it.
func (s *space) isWithin(id uint64) bool {
	for b := s; b != nil; b = b.holder() {
		if b.id == id {
			return true
		}
	}
	return false
}

// holder returns the bucket that holds this one, or nil for the root, and perhaps for what is right
// below it.
func (s *space) holder() *space {
	if to, ok := s.session.adopted[s.id]; ok {
		return to
	}
	return s.parent
}

// adopt notes that the bucket id was moved into another one: handles that were made before know
// only where it was.
func (s *session) adopt(id uint64, to *space) {
	if s.adopted == nil {
		s.adopted = make(map[uint64]*space)
	}
	s.adopted[id] = to
}

package stoat

import (
	"iter"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// KeySpace is the interface that a transaction, as the root bucket, and a [Bucket] share. No other
// types implement it. The methods are documented in full at the types, such as [Bucket.Get].
type KeySpace interface {
	// Get returns the value of key, or [ErrNotFound].
	Get(key []byte) ([]byte, error)
	// Has reports whether there is such a key.
	Has(key []byte) (bool, error)
	// Size returns the length of the value of key, or [ErrNotFound].
	Size(key []byte) (int, error)
	// TTL returns how long key stays, and whether it expires at all.
	TTL(key []byte) (ttl time.Duration, expires bool, err error)
	// Put stores a value that does not expire.
	Put(key, value []byte) error
	// PutTTL stores a value that expires after ttl.
	PutTTL(key, value []byte, ttl time.Duration) error
	// PutUntil stores a value that expires at a given time.
	PutUntil(key, value []byte, at time.Time) error
	// Delete removes a key; it is not an error if the key does not exist.
	Delete(key []byte) error
	// DeleteRange removes the keys of a range.
	DeleteRange(r Range) error
	// CompareAndSwap stores new if the value of key is old; a nil old means that the key is absent.
	CompareAndSwap(key, old, new []byte) (swapped bool, err error)
	// CompareAndDelete removes key if its value is old.
	CompareAndDelete(key, old []byte) (deleted bool, err error)

	// Scan returns an iterator over keys and values.
	Scan(r Range) iter.Seq2[[]byte, []byte]
	// Heads returns an iterator over keys and the first n bytes of values.
	Heads(r Range, n int) iter.Seq2[[]byte, []byte]
	// Keys returns an iterator over keys; it reads no values.
	Keys(r Range) iter.Seq[[]byte]
	// Cursor returns a cursor over the keys.
	Cursor() *Cursor

	// Bucket returns the bucket with that name within this one, or [ErrBucketNotFound].
	Bucket(name []byte) (*Bucket, error)
	// CreateBucket creates a bucket, or returns [ErrBucketExists].
	CreateBucket(name []byte) (*Bucket, error)
	// CreateBucketIfNotExists returns a bucket, creating it if it does not exist.
	CreateBucketIfNotExists(name []byte) (*Bucket, error)
	// DeleteBucket drops a bucket with everything in it.
	DeleteBucket(name []byte) error
	// RenameBucket renames a bucket.
	RenameBucket(old, name []byte) error
	// MoveBucket moves a bucket into another one.
	MoveBucket(old []byte, to KeySpace, name []byte) error
	// Buckets returns an iterator over the names of the buckets within this one.
	Buckets() iter.Seq[[]byte]
	// BucketsIn returns an iterator over those of the names that are in a range.
	BucketsIn(r Range) iter.Seq[[]byte]

	// NextSequence returns the next number of the sequence.
	NextSequence() (uint64, error)
	// Sequence returns the last number of the sequence.
	Sequence() (uint64, error)
	// SetSequence makes n the last number of the sequence.
	SetSequence(n uint64) error
	// Stats returns how much is in the bucket.
	Stats() (BucketStats, error)

	// itself returns the space that the methods work on.
	itself() *space
}

var (
	_ KeySpace = (*Tx)(nil)
	_ KeySpace = (*Bucket)(nil)
)

// space is a bucket, or the root, as seen by a transaction: what Tx and Bucket have in common. It
// records the generation of its session, which makes it recognizable as stale once the session
// serves another transaction. It is not safe for concurrent use.
type space struct {
	session *session
	born    uint64 // the generation of the session when it was made
	id      uint64
	parent  *space // nil in the root and its direct children; see holder

	prefix      [keyspace.MaxPrefixBytes]byte // of the bucket's internal keys
	prefixBytes uint8
}

func (s *space) setPrefix() {
	s.prefixBytes = uint8(len(keyspace.AppendPrefix(s.prefix[:0], s.id)))
}

func (s *space) ended() bool { return s.born != s.session.generation }

// over returns an error if the transaction can no longer be used.
func (s *space) over() error {
	if s.ended() {
		return ErrTxClosed
	}
	if w := s.session.w; w != nil && w.Closed() {
		return ErrClosed
	}
	return nil
}

// check returns an error unless the bucket can be read.
func (s *space) check() error {
	if err := s.over(); err != nil {
		return err
	}
	if s.session.dropped != nil {
		return s.checkDropped()
	}
	return nil
}

// checkDropped returns an error if this transaction dropped the bucket or one that contains it.
func (s *space) checkDropped() error {
	for b := s; b != nil; b = s.session.holder(b) {
		if _, dropped := s.session.dropped[b.id]; dropped {
			return ErrBucketNotFound
		}
	}
	return nil
}

// checkWrite returns an error unless the bucket can be written.
func (s *space) checkWrite() error {
	if !s.ended() && !s.session.writable {
		return errReadTx
	}
	return s.check()
}

// checkPut returns an error unless the value can be stored under key.
func (s *space) checkPut(key, value []byte) error {
	if err := s.checkWrite(); err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	return checkValue(value)
}

// key returns the internal key of a user key, valid until the scratch buffer is next used.
func (s *space) key(user []byte) []byte {
	k := append(s.session.scratch[:0], s.prefix[:s.prefixBytes]...)
	k = append(k, user...)
	s.session.scratch = k
	return k
}

// itself implements KeySpace.
func (s *space) itself() *space { return s }

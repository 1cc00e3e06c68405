package stoat

import (
	"iter"
	"time"
)

// KeySpace is what a transaction, as the root bucket, and a [Bucket] have in common. No other types
// implement it. What the methods do is said there, as at [Bucket.Get].
type KeySpace interface {
	// Get returns the value of key, or [ErrNotFound].
	Get(key []byte) ([]byte, error)
	// Has reports whether there is such a key.
	Has(key []byte) (bool, error)
	// TTL returns how long key stays, and whether it expires at all.
	TTL(key []byte) (ttl time.Duration, expires bool, err error)
	// Put stores a value for ever.
	Put(key, value []byte) error
	// PutTTL stores a value that expires after ttl.
	PutTTL(key, value []byte, ttl time.Duration) error
	// PutUntil stores a value that expires at a moment.
	PutUntil(key, value []byte, at time.Time) error
	// Delete removes a key, which need not be there.
	Delete(key []byte) error
	// DeleteRange removes the keys of a range.
	DeleteRange(r Range) error
	// CompareAndSwap stores new if the value of key is old; a nil old is an absent key.
	CompareAndSwap(key, old, new []byte) (swapped bool, err error)
	// CompareAndDelete removes key if its value is old.
	CompareAndDelete(key, old []byte) (deleted bool, err error)

	// Scan returns a loop over keys and values.
	Scan(r Range) iter.Seq2[[]byte, []byte]
	// Heads returns a loop over keys and the first n bytes of values.
	Heads(r Range, n int) iter.Seq2[[]byte, []byte]
	// Keys returns a loop over keys, which reads no value.
	Keys(r Range) iter.Seq[[]byte]
	// Cursor returns a cursor over the keys.
	Cursor() *Cursor

	// Bucket returns the bucket of that name within this one, or [ErrBucketNotFound].
	Bucket(name []byte) (*Bucket, error)
	// CreateBucket creates a bucket, unless there is one: [ErrBucketExists].
	CreateBucket(name []byte) (*Bucket, error)
	// CreateBucketIfNotExists returns a bucket, and creates it if need be.
	CreateBucketIfNotExists(name []byte) (*Bucket, error)
	// DeleteBucket drops a bucket with all that is in it.
	DeleteBucket(name []byte) error
	// RenameBucket gives a bucket another name.
	RenameBucket(old, name []byte) error
	// MoveBucket moves a bucket into another one.
	MoveBucket(old []byte, to KeySpace, name []byte) error
	// Buckets returns a loop over the names of the buckets within this one.
	Buckets() iter.Seq[[]byte]

	// NextSequence returns the next number of the sequence.
	NextSequence() (uint64, error)
	// Sequence returns the last one.
	Sequence() (uint64, error)
	// SetSequence makes n the last one.
	SetSequence(n uint64) error
	// Stats returns how much is in the bucket.
	Stats() (BucketStats, error)

	// itself returns what the methods work on.
	itself() *space
}

var (
	_ KeySpace = (*Tx)(nil)
	_ KeySpace = (*Bucket)(nil)
)

// itself implements KeySpace.
func (s *space) itself() *space { return s }

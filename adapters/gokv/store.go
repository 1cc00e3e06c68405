package gokv

import (
	"encoding/json"
	"errors"

	"github.com/stoatdb/stoat"
)

// ErrNil reports a value, or a place for one, that is nil.
var ErrNil = errors.New("the value is nil: pass a value to Set, and a pointer to one to Get")

// Codec turns values into bytes and back, as those of gokv's package encoding do. It must be safe
// for concurrent use.
type Codec interface {
	// Marshal returns bytes from which Unmarshal makes the value again.
	Marshal(v any) ([]byte, error)
	// Unmarshal sets what v points to.
	Unmarshal(data []byte, v any) error
}

// texts is the codec of package encoding/json.
type texts struct{}

func (texts) Marshal(v any) ([]byte, error)      { return json.Marshal(v) }
func (texts) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// Store is a gokv.Store in the root bucket of a database. It is safe for concurrent use. The empty
// key is [stoat.ErrInvalidKey], and after Close all methods return [stoat.ErrClosed].
type Store struct {
	db    *stoat.DB
	codec Codec
}

// New returns the store in the root bucket of db, whose values are encoded by codec, or as JSON if
// that is nil. What was stored by one codec can be read by no other. Closing the store closes db.
func New(db *stoat.DB, codec Codec) *Store {
	if codec == nil {
		codec = texts{}
	}
	return &Store{db, codec}
}

// Set stores v, which must not be nil, under the key.
func (s *Store) Set(k string, v any) error {
	if k == "" {
		return stoat.ErrInvalidKey
	}
	if v == nil {
		return ErrNil
	}
	data, err := s.codec.Marshal(v)
	if err != nil {
		return err
	}
	return s.db.Put([]byte(k), data)
}

// Get decodes the value of the key into what v points to, and reports whether there is a value. If
// there is none, v stays as it is and the error is nil.
func (s *Store) Get(k string, v any) (found bool, err error) {
	if k == "" {
		return false, stoat.ErrInvalidKey
	}
	if v == nil {
		return false, ErrNil
	}
	data, err := s.db.Get([]byte(k))
	if errors.Is(err, stoat.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.codec.Unmarshal(data, v)
}

// Delete removes the value of the key, if there is one.
func (s *Store) Delete(k string) error { return s.db.Delete([]byte(k)) }

// Close makes all writes durable and closes the database. Closing again does nothing.
func (s *Store) Close() error { return s.db.Close() }

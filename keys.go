package stoat

import "bytes"

// Get returns the value of key in this bucket, or [ErrNotFound]. The slice is valid until the
// transaction ends and must not be modified; for an empty value it is empty, not nil.
func (s *space) Get(key []byte) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	value, ok, err := s.lookup(key)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrNotFound
	}
	return clip(value), nil
}

// Has reports whether this bucket contains key.
func (s *space) Has(key []byte) (bool, error) {
	if err := s.check(); err != nil {
		return false, err
	}
	if err := checkKey(key); err != nil {
		return false, err
	}
	return s.session.has(s.key(key))
}

// Size returns the length of the value of key in this bucket, or [ErrNotFound]. It reads no value
// that is stored outside of tables, as large ones are: see [Options.ValueThreshold].
func (s *space) Size(key []byte) (int, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	if err := checkKey(key); err != nil {
		return 0, err
	}
	size, ok, err := s.session.size(s.key(key))
	if err == nil && !ok {
		err = ErrNotFound
	}
	return size, err
}

// Put stores value under key in this bucket, replacing any earlier value. Both are copied. A key
// has 1 to 65,535 bytes, or the error is [ErrInvalidKey] or [ErrTooLarge]; a value has at most 1
// GiB, or the error is ErrTooLarge. A nil value is stored as an empty one.
func (s *space) Put(key, value []byte) error {
	if err := s.checkPut(key, value); err != nil {
		return err
	}
	return s.session.put(s.key(key), value)
}

// Delete removes key from this bucket. It reads nothing, and returns nil if the key does not exist.
func (s *space) Delete(key []byte) error {
	if err := s.checkWrite(); err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	return s.session.delete(s.key(key))
}

// CompareAndSwap stores new under key if the value of key is old, and reports whether it did. A nil
// old means that the key is absent; an empty, non-nil old means an empty value. A nil new is stored
// as an empty value. A key that expires keeps its expiry time.
func (s *space) CompareAndSwap(key, old, new []byte) (swapped bool, err error) {
	if err := s.checkWrite(); err != nil {
		return false, err
	}
	if err := checkValue(new); err != nil {
		return false, err
	}
	value, until, ok, err := s.lookupUntil(key)
	if err != nil || ok != (old != nil) || !bytes.Equal(value, old) {
		return false, err
	}
	if err := s.session.putUntil(s.key(key), new, until); err != nil {
		return false, err
	}
	return true, nil
}

// CompareAndDelete removes key if its value is old, and reports whether it did. A nil old, which
// means that the key is absent, removes nothing.
func (s *space) CompareAndDelete(key, old []byte) (deleted bool, err error) {
	if err := s.checkWrite(); err != nil {
		return false, err
	}
	value, ok, err := s.lookup(key)
	if err != nil || !ok || old == nil || !bytes.Equal(value, old) {
		return false, err
	}
	if err := s.session.delete(s.key(key)); err != nil {
		return false, err
	}
	return true, nil
}

// lookup returns the value of key.
func (s *space) lookup(key []byte) (value []byte, ok bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, err
	}
	return s.session.get(s.key(key))
}

// clip returns b, never nil, with its capacity clipped so that appending copies it.
func clip(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b[:len(b):len(b)]
}

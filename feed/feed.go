package feed

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
)

// Feed is a log of entries of type T in a database. It is safe for concurrent use. The transactions
// passed to its methods must be of the database that it was opened in.
type Feed[T any] struct {
	name      string
	known     atomic.Pointer[lineage] // as far as it was read
	codec     codec[T]
	raw       bool // a decoded value is a part of what is stored
	sublogs   []sublog[T]
	retention Retention
	batch     int
	now       func() time.Time
}

// Append adds an entry to the end and returns its number: 0, 1, 2, and so on. The value is not
// kept.
func (f *Feed[T]) Append(tx *stoat.Tx, value *T) (uint64, error) {
	s, err := f.writable(tx)
	if err != nil {
		return 0, err
	}
	if value == nil {
		return 0, fmt.Errorf("feed %q: nil is no entry", f.name)
	}
	if err := f.catchUpAll(s); err != nil {
		return 0, err
	}
	addresses, err := f.addresses(value)
	if err != nil {
		return 0, fmt.Errorf("feed %q: %w", f.name, err)
	}
	now := f.now()
	e := stored{at: max(uint64(max(now.UnixMilli(), 0)), s.latest), before: s.written}
	head := e.append(s.scratch[:0])
	p, err := f.codec.append(head, value)
	if err != nil {
		return 0, fmt.Errorf("feed %q: %w", f.name, err)
	}
	s.scratch = p
	seq := s.next
	if err := s.entries.Put(entryKey(seq), p); err != nil {
		return 0, fmt.Errorf("feed %q: entry %d: %w", f.name, seq, err)
	}
	s.next, s.latest, s.written = seq+1, e.at, s.written+uint64(len(p)-len(head))
	s.retention, s.now = f.retention, now
	return seq, f.index(s, seq, addresses)
}

// Get returns the value of an entry, or [ErrRedacted], [ErrExpired], or [stoat.ErrNotFound]. A
// []byte is valid until the transaction ends and must not be modified; other values are the
// caller's.
func (f *Feed[T]) Get(tx *stoat.Tx, seq uint64) (T, error) {
	var none T
	s, err := f.session(tx)
	if err != nil {
		return none, err
	}
	if err := s.exists(seq); err != nil {
		return none, err
	}
	e, err := s.stored(seq)
	if err != nil {
		return none, err
	}
	if e.redacted {
		return none, fmt.Errorf("feed %q: entry %d: %w", f.name, seq, ErrRedacted)
	}
	var entry Entry[T]
	if err := f.decode(s, seq, e, &entry); err != nil {
		return none, err
	}
	return entry.Value, nil
}

// Redact removes the value of an entry for good. Its number stays taken, and its place in the
// sublogs. Loops pass it over unless they ask for redacted entries, and those come without a value.
// What the value took on disk comes free in the background. Redacting an entry again does nothing.
func (f *Feed[T]) Redact(tx *stoat.Tx, seq uint64) error {
	s, err := f.writable(tx)
	if err != nil {
		return err
	}
	if err := s.exists(seq); err != nil {
		return err
	}
	if err := f.catchUpAll(s); err != nil { // while the value is there
		return err
	}
	e, err := s.stored(seq)
	if err != nil || e.redacted {
		return err
	}
	e.redacted, e.value = true, nil
	if err := s.entries.Put(entryKey(seq), e.append(nil)); err != nil {
		return err
	}
	redacted, err := s.redactions()
	if err != nil {
		return err
	}
	if err := redacted.flush(); err != nil { // the numbers may descend
		return err
	}
	return redacted.add("", seq)
}

// Len returns how many entries were ever appended, which is the number of the next one.
func (f *Feed[T]) Len(tx *stoat.Tx) (uint64, error) {
	s, err := f.session(tx)
	if err != nil {
		return 0, err
	}
	return s.next, nil
}

// First returns the number of the oldest entry that is kept, or [Feed.Len] if none is.
func (f *Feed[T]) First(tx *stoat.Tx) (uint64, error) {
	s, err := f.session(tx)
	if err != nil {
		return 0, err
	}
	return s.first, nil
}

// writable returns the session of a transaction that is going to change the feed.
func (f *Feed[T]) writable(tx *stoat.Tx) (*session, error) {
	s, err := f.update(tx)
	if err == nil {
		err = s.change()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// update returns the session of a transaction that must be able to write.
func (f *Feed[T]) update(tx *stoat.Tx) (*session, error) {
	if !tx.Writable() {
		return nil, fmt.Errorf("feed %q: write in an Update: %w", f.name, stoat.ErrReadOnly)
	}
	s, err := f.session(tx)
	if err == nil {
		err = f.writes(s)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// decode makes *into an entry from how it is stored. That is not kept, unless T is []byte.
func (f *Feed[T]) decode(s *session, seq uint64, e stored, into *Entry[T]) error {
	*into = Entry[T]{Seq: seq, At: time.UnixMilli(int64(e.at)), Redacted: e.redacted}
	if e.redacted {
		return nil
	}
	if err := f.codec.decode(s, e.value, &into.Value); err != nil {
		return fmt.Errorf("feed %q: entry %d: %w", f.name, seq, err)
	}
	return nil
}

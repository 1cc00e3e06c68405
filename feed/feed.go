package feed

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
)

// Feed is a log of entries of type T in a database. It is safe for concurrent use. The transactions
// passed to its methods must belong to the database in which it was opened.
type Feed[T any] struct {
	name      string
	known     atomic.Pointer[lineage] // the editions known so far
	codec     codec[T]
	raw       bool // decoded values refer to stored ones
	sublogs   []sublog[T]
	retention Retention
	batch     int
	now       func() time.Time
}

// Append adds an entry at the end and returns its number: 0, 1, 2, and so on. It does not retain
// the value.
func (f *Feed[T]) Append(tx *stoat.Tx, value *T) (uint64, error) {
	s, err := f.writable(tx)
	if err != nil {
		return 0, err
	}
	if value == nil {
		return 0, fmt.Errorf("feed %q: the value to append is a nil pointer", f.name)
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

// Get returns the value of an entry, or [ErrRedacted], [ErrExpired] or [stoat.ErrNotFound]. A
// []byte is valid until the transaction ends and must not be modified; the caller owns other
// values.
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

// Redact removes the value of an entry permanently. The entry keeps its number and its place in the
// sublogs. Loops skip it unless they ask for redacted entries, which have no value. The disk space
// of the value is freed in the background. Redacting an entry again does nothing.
func (f *Feed[T]) Redact(tx *stoat.Tx, seq uint64) error {
	s, err := f.writable(tx)
	if err != nil {
		return err
	}
	if err := s.exists(seq); err != nil {
		return err
	}
	if err := f.catchUpAll(s); err != nil { // while the value still exists
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
	if err := redacted.flush(); err != nil { // entries may be redacted in any order
		return err
	}
	return redacted.add("", seq)
}

// Len returns the number of entries ever appended, which is also the number of the next entry.
func (f *Feed[T]) Len(tx *stoat.Tx) (uint64, error) {
	s, err := f.session(tx)
	if err != nil {
		return 0, err
	}
	return s.next, nil
}

// First returns the number of the oldest entry that is kept, or [Feed.Len] if there is none.
func (f *Feed[T]) First(tx *stoat.Tx) (uint64, error) {
	s, err := f.session(tx)
	if err != nil {
		return 0, err
	}
	return s.first, nil
}

// writable returns the session of a transaction that is about to change the feed's state.
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

// update returns the session of a writable transaction.
func (f *Feed[T]) update(tx *stoat.Tx) (*session, error) {
	if !tx.Writable() {
		return nil, fmt.Errorf("feed %q: write in an Update: %w", f.name, stoat.ErrReadOnly)
	}
	s, err := f.session(tx)
	if err == nil {
		err = f.checkSchema(s)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// decode decodes a stored entry into *into. Only a []byte refers to the stored form afterwards.
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

package feed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
)

// Consumer describes how far a consumer is.
type Consumer struct {
	Name string
	Next uint64 // the number of the entry that it handles next
	// Behind is how many entries it has not handled, redacted and expired ones included.
	Behind uint64
	// Expired is how many of those retention has removed. Unless it is 0, [Feed.Consume] returns
	// [ErrExpired].
	Expired uint64
}

// Consume calls fn for each entry from the named consumer's cursor on, and then for each entry
// appended later, until ctx is done or an error occurs, which it returns. It runs in the caller's
// goroutine. A new consumer starts at the entry that is the oldest when Consume first runs; that
// position is stored immediately. Entries that have been redacted by then are skipped.
//
// What fn writes through tx is committed together with the consumer's cursor. So within the
// database, each entry takes effect exactly once, however often the program crashes. Effects
// elsewhere may be repeated: a commit covers up to [Options.Batch] entries, and if it fails, none
// of them counts. A value of type []byte is valid until fn returns and must not be modified.
//
// If fn returns an error, the entries before it are committed, which means handling them again, and
// Consume returns a [ConsumeError] with the number of the failed entry; the consumer stays there.
// If fn panics, the batch is rolled back and the panic propagates.
//
// If retention has removed entries that the consumer has not handled, the error is [ErrExpired];
// use [Feed.SetCursor] to decide where to continue. Several loops with the same name share the
// entries.
func (f *Feed[T]) Consume(
	ctx context.Context, db *stoat.DB, name string, fn func(tx *stoat.Tx, e Entry[T]) error,
) error {
	c := consumer[T]{feed: f, ctx: ctx, db: db, name: name, fn: fn}
	if err := c.begin(); err != nil {
		return err
	}
	return f.follow(ctx, db, c.step)
}

// Cursor returns the number of the entry that the consumer handles next, which is the oldest entry
// if it has not handled any.
func (f *Feed[T]) Cursor(tx *stoat.Tx, name string) (uint64, error) {
	s, err := f.session(tx)
	if err != nil {
		return 0, err
	}
	return s.cursor(name)
}

// SetCursor makes seq the entry that the consumer handles next. The function passed to Consume may
// call it, even for the same consumer, which then commits and continues at seq.
func (f *Feed[T]) SetCursor(tx *stoat.Tx, name string, seq uint64) error {
	s, err := f.update(tx)
	if err != nil {
		return err
	}
	if seq > s.next {
		return fmt.Errorf("feed %q: set consumer %q to entry %d of %d: %w", f.name, name, seq, s.next,
			stoat.ErrNotFound)
	}
	if s.moved == nil {
		s.moved = make(map[string]uint64)
	}
	s.moved[name] = seq
	return s.setCursor(name, seq)
}

// cursor returns the entry that the consumer handles next.
func (s *session) cursor(name string) (uint64, error) {
	seq, known, err := s.storedCursor(name)
	if err == nil && !known {
		return s.first, nil
	}
	return seq, err
}

// storedCursor returns the consumer's stored cursor, and whether there is one.
func (s *session) storedCursor(name string) (seq uint64, known bool, err error) {
	b, err := s.root.Bucket([]byte(consumersBucket))
	if err != nil {
		return 0, false, err
	}
	p, err := b.Get([]byte(name))
	if errors.Is(err, stoat.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("feed %q: consumer %q: %w", s.name, name, err)
	}
	if seq, err = parseCursor([]byte(name), p); err != nil {
		return 0, false, fmt.Errorf("feed %q: %w", s.name, err)
	}
	return seq, true, nil
}

// parseCursor parses the stored cursor of a consumer.
func parseCursor(name, p []byte) (seq uint64, err error) {
	in := reader{rest: p}
	seq = in.number()
	if in.bad || len(in.rest) > 0 {
		return 0, damaged("consumer %q is at %x", name, p)
	}
	return seq, nil
}

func (s *session) setCursor(name string, seq uint64) error {
	b, err := s.root.Bucket([]byte(consumersBucket))
	if err == nil {
		err = b.Put([]byte(name), binary.AppendUvarint(nil, seq))
	}
	if err != nil {
		return fmt.Errorf("feed %q: consumer %q: %w", s.name, name, err)
	}
	return nil
}

// consumers yields the consumers, and returns errStop if that is enough.
func (s *session) consumers(yield func(Consumer, error) bool) error {
	b, err := s.root.Bucket([]byte(consumersBucket))
	if err != nil {
		return err
	}
	before := s.tx.Err()
	for name, p := range b.Scan(stoat.Range{}) {
		next, err := parseCursor(name, p)
		if err == nil && next > s.next {
			err = damaged("consumer %q is at entry %d of %d", name, next, s.next)
		}
		if err != nil {
			return err
		}
		c := Consumer{string(name), next, s.next - next, s.first - min(next, s.first)}
		if !yield(c, nil) {
			return errStop
		}
	}
	if before != nil { // the error belongs to another loop
		return nil
	}
	return s.tx.Err()
}

// consumer is one loop of a consumer.
type consumer[T any] struct {
	feed *Feed[T]
	ctx  context.Context
	db   *stoat.DB
	name string
	fn   func(tx *stoat.Tx, e Entry[T]) error
}

// begin stores where a new consumer starts, so that it notices if retention removes entries before
// its first commit.
func (c *consumer[T]) begin() error {
	known := false
	err := c.db.View(func(tx *stoat.Tx) error {
		s, err := c.feed.session(tx)
		if err == nil {
			_, known, err = s.storedCursor(c.name)
		}
		return err
	})
	if err != nil || known {
		return err
	}
	return c.db.Update(func(tx *stoat.Tx) error {
		s, err := c.feed.update(tx)
		if err != nil {
			return err
		}
		start, err := s.cursor(c.name) // another loop may have stored it
		if err != nil {
			return err
		}
		return s.setCursor(c.name, start)
	})
}

// step handles all existing entries.
func (c *consumer[T]) step() (at stoat.Position, next uint64, err error) {
	for {
		if err := c.ctx.Err(); err != nil {
			return 0, 0, err
		}
		more := false
		err := c.db.View(func(tx *stoat.Tx) error {
			s, err := c.feed.session(tx)
			if err != nil {
				return err
			}
			at, next = tx.Position(), s.next
			cursor, err := s.cursor(c.name)
			more = cursor < s.next
			return err
		})
		if err == nil && more {
			err = c.batch(c.feed.batch)
		}
		if err != nil {
			return 0, 0, err
		}
		if !more {
			return at, next, nil
		}
	}
}

// batch handles up to limit entries in one commit. If one fails, it commits those before it.
func (c *consumer[T]) batch(limit int) error {
	handled := 0
	err := c.db.Update(func(tx *stoat.Tx) (err error) {
		handled, err = c.handle(tx, limit)
		return err
	})
	var failed *ConsumeError
	if errors.As(err, &failed) && handled > 0 {
		if err := c.batch(handled); err != nil {
			return err
		}
	}
	return err
}

// handle handles up to limit entries and moves the cursor. It returns how many it handled before an
// error.
func (c *consumer[T]) handle(tx *stoat.Tx, limit int) (handled int, err error) {
	s, err := c.feed.session(tx)
	if err != nil {
		return 0, err
	}
	cursor, err := s.cursor(c.name)
	if err != nil {
		return 0, err
	}
	if cursor < s.first {
		return 0, &ConsumeError{c.name, cursor, ErrExpired}
	}
	q := c.feed.Query().From(cursor)
	next := s.next // unless the loop is stopped
	delete(s.moved, c.name)
	err = q.each(s, func(seq uint64, e stored) (bool, error) {
		if err := c.entry(tx, s, seq, e); err != nil {
			return false, err
		}
		handled++
		to, moved := s.moved[c.name]
		if moved {
			next = to
			return false, nil
		}
		more := handled < limit && c.ctx.Err() == nil
		if !more {
			next = seq + 1
		}
		return more, nil
	})
	if err != nil {
		return handled, err
	}
	return handled, s.setCursor(c.name, next)
}

// entry calls fn with an entry.
func (c *consumer[T]) entry(tx *stoat.Tx, s *session, seq uint64, e stored) error {
	var entry Entry[T]
	err := c.feed.decode(s, seq, e, &entry)
	if err == nil {
		err = c.fn(tx, entry)
	}
	if err != nil {
		return &ConsumeError{c.name, seq, err}
	}
	return nil
}

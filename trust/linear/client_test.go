package linear

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/anishathalye/porcupine"

	"github.com/stoatdb/stoat"
)

// space is what Tx and Bucket have in common.
type space interface {
	Get(key []byte) ([]byte, error)
	Put(key, value []byte) error
	Delete(key []byte) error
	CompareAndSwap(key, old, new []byte) (swapped bool, err error)
	CompareAndDelete(key, old []byte) (deleted bool, err error)
}

// valueBytes is the length of stored values, which are outside tables if the threshold is 64.
const valueBytes = 90

// stored returns the stored form of a value: dots follow the word.
func stored(word string) []byte {
	if word == "" {
		return nil
	}
	return []byte(word + strings.Repeat(".", max(0, valueBytes-len(word))))
}

func word(stored []byte) string { return strings.TrimRight(string(stored), ".") }

func keyOf(s step) []byte { return fmt.Appendf(nil, "key %d", s.key) }

func roomOf(s step) []byte { return fmt.Appendf(nil, "bucket %d", s.room) }

// client does transactions one after another and records them.
type client struct {
	id      int
	db      *stoat.DB
	clock   *atomic.Int64 // of the history; it ticks at each beginning and end
	rng     *rand.Rand
	simple  bool // every transaction is one step on one key of the root
	count   int
	history []porcupine.Operation
}

// next draws a transaction.
func (c *client) next() transaction {
	if c.simple {
		return transaction{steps: []step{c.step(1)}}
	}
	t := transaction{abort: c.rng.IntN(8) == 0}
	for range 1 + c.rng.IntN(4) {
		t.steps = append(t.steps, c.step(rooms))
	}
	if c.rng.IntN(4) == 0 { // a view of everything
		t = transaction{}
		for i := range rooms * keys {
			t.steps = append(t.steps, step{action: get, room: i / keys, key: i % keys})
		}
	}
	return t
}

func (c *client) step(rooms int) step {
	c.count++
	s := step{room: c.rng.IntN(rooms), key: c.rng.IntN(keys)}
	last := extend
	if s.room > 0 {
		last = drop
	}
	s.action = action(c.rng.IntN(int(last) + 1))
	switch s.action {
	case put, extend, swap:
		s.value = fmt.Sprintf("%c%d,", 'a'+c.id, c.count)
	}
	return s
}

// do does a transaction and records it.
func (c *client) do(t transaction, via func(t transaction) ([]answer, error)) error {
	begun := c.clock.Add(1)
	answers, err := via(t)
	if err != nil {
		return fmt.Errorf("%s: %w", describe(t, answers), err)
	}
	c.history = append(c.history, porcupine.Operation{
		ClientId: c.id, Input: t, Call: begun, Output: answers, Return: c.clock.Add(1),
	})
	return nil
}

// aim gives comparing steps a value to compare with: the one that was there a moment before.
func (c *client) aim(t transaction) error {
	return c.db.View(func(tx *stoat.Tx) error {
		for i := range t.steps {
			s := &t.steps[i]
			if s.action != swap && s.action != erase {
				continue
			}
			a, err := on(tx, step{action: get, room: s.room, key: s.key})
			if err != nil {
				return err
			}
			s.old = a.value
		}
		return nil
	})
}

var errAbort = errors.New("rolled back on purpose")

// update does a transaction with View if it only reads, otherwise with Update.
func (c *client) update(t transaction) (answers []answer, err error) {
	all := func(tx *stoat.Tx) error {
		for _, s := range t.steps {
			a, err := on(tx, s)
			if err != nil {
				return err
			}
			answers = append(answers, a)
		}
		if t.abort {
			return errAbort
		}
		return nil
	}
	reads := true
	for _, s := range t.steps {
		reads = reads && s.action == get
	}
	if reads {
		err = c.db.View(all)
	} else {
		err = c.db.Update(all)
	}
	if errors.Is(err, errAbort) {
		err = nil
	}
	return answers, err
}

// on does one step in a transaction.
func on(tx *stoat.Tx, s step) (answer, error) {
	switch s.action {
	case create:
		_, err := tx.CreateBucket(roomOf(s))
		if errors.Is(err, stoat.ErrBucketExists) {
			return answer{}, nil
		}
		return answer{done: true}, err
	case drop:
		err := tx.DeleteBucket(roomOf(s))
		if errors.Is(err, stoat.ErrBucketNotFound) {
			return answer{}, nil
		}
		return answer{done: true}, err
	}
	if s.room == 0 {
		return within(tx, s)
	}
	b, err := tx.Bucket(roomOf(s))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return answer{lost: true}, nil
	}
	if err != nil {
		return answer{}, err
	}
	return within(b, s)
}

// within does one step in an existing bucket.
func within(b space, s step) (a answer, err error) {
	key := keyOf(s)
	switch s.action {
	case get, extend:
		v, err := b.Get(key)
		if err != nil && !errors.Is(err, stoat.ErrNotFound) {
			return answer{}, err
		}
		a.value = word(v)
		if s.action == get {
			return a, nil
		}
		return a, b.Put(key, stored(a.value+s.value))
	case put:
		return a, b.Put(key, stored(s.value))
	case remove:
		return a, b.Delete(key)
	case swap, erase:
		if s.old == "" {
			return a, nil // there was nothing to compare with
		}
		if s.action == swap {
			a.done, err = b.CompareAndSwap(key, stored(s.old), stored(s.value))
		} else {
			a.done, err = b.CompareAndDelete(key, stored(s.old))
		}
		return a, err
	}
	return a, fmt.Errorf("a bucket cannot %s", names[s.action])
}

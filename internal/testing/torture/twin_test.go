package torture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// twin is a bucket of the database and the same bucket of the model. Every operation is done on
// both. An error says how they disagree, or that the database failed.
type twin struct {
	db  dbSpace
	ref modelSpace
}

// twinOf returns the root buckets of a transaction and of the model.
func twinOf(tx *stoat.Tx, ref *model.Bucket) twin {
	return twin{dbSpace{tx, tx}, modelSpace{ref}}
}

// disagree returns an error with the answers of the database and the model.
func disagree(op string, got, want any) error {
	return fmt.Errorf("%s: got %.60v, want %.60v", op, got, want)
}

// compare does an operation on both and returns the common result. A common error counts as
// agreement.
func compare[T comparable](t twin, op string, fn func(s space) (T, error)) (T, error) {
	want, wantErr := fn(t.ref)
	got, err := fn(t.db)
	switch {
	case class(err) == class(wantErr) && got == want:
		return got, nil
	case class(err) == class(wantErr):
		return got, disagree(op, got, want)
	case err != nil:
		return got, fmt.Errorf("%s: %w, want %v", op, err, wantErr)
	}
	return got, disagree(op, got, wantErr)
}

// both does an operation without a result on both.
func (t twin) both(op string, fn func(s space) error) error {
	_, err := compare(t, op, func(s space) (struct{}, error) { return struct{}{}, fn(s) })
	return err
}

// do applies an action that writes to this bucket.
func (t twin) do(a action) error {
	_, err := compare(t, a.text(), func(s space) (string, error) { return writeIn(s, a) })
	return err
}

func (t twin) put(key, value string) error { return t.putTTL(key, value, 0) }

// putTTL puts a value that expires, unless ttl is 0.
func (t twin) putTTL(key, value string, ttl time.Duration) error {
	return t.both(fmt.Sprintf("put %.40q for %v", key, ttl), func(s space) error {
		return s.put(key, value, ttl)
	})
}

func (t twin) delete(key string) error {
	return t.both(fmt.Sprintf("delete %.40q", key), func(s space) error { return s.delete(key) })
}

func (t twin) deleteRange(r stoat.Range) error {
	return t.both("delete "+describe(r), func(s space) error { return s.deleteRange(r) })
}

// describe returns a range as text.
func describe(r stoat.Range) string {
	return fmt.Sprintf("%.20q to %.20q, reverse %t, limit %d", r.Start, r.End, r.Reverse, r.Limit)
}

func (t twin) get(key string) error {
	_, err := compare(t, fmt.Sprintf("get %.40q", key), func(s space) (string, error) {
		return s.get(key)
	})
	if err != nil {
		return err
	}
	_, err = compare(t, fmt.Sprintf("has %.40q", key), func(s space) (bool, error) {
		return s.has(key)
	})
	return err
}

// ttl compares how long a key stays.
func (t twin) ttl(key string) error {
	_, err := compare(t, fmt.Sprintf("ttl %.40q", key), func(s space) (string, error) {
		ttl, expires, err := s.ttl(key)
		return fmt.Sprint(ttl, expires), err
	})
	return err
}

// move moves a bucket into another one.
func (t twin) move(old string, to twin, name string) error {
	return t.both(fmt.Sprintf("move bucket %q to %q", old, name), func(s space) error {
		if s == t.db {
			return s.move(old, to.db, name)
		}
		return s.move(old, to.ref, name)
	})
}

// scan compares a scan. It calls meanwhile during the loop, which must not see changes.
func (t twin) scan(r stoat.Range, meanwhile func() error) error {
	want, _ := t.ref.scan(r)
	what := "scan " + describe(r)
	n := 0
	for key, value := range t.db.s.Scan(r) {
		got := model.Entry{Key: string(key), Value: string(value)}
		if n == len(want) || got != want[n] {
			return disagree(fmt.Sprintf("%s: entry %d", what, n), brief(got), at(want, n))
		}
		if err := meanwhile(); err != nil {
			return err
		}
		n++
	}
	if n < len(want) {
		return errors.Join(disagree(what, fmt.Sprintf("the end after %d", n), at(want, n)),
			t.db.tx.Err())
	}
	_, err := compare(t, "keys of "+describe(r), func(s space) (string, error) {
		keys, err := s.keys(r)
		return strings.Join(keys, "\n"), err
	})
	return err
}

// at describes entry n, or the end.
func at(entries []model.Entry, n int) string {
	if n >= len(entries) {
		return "the end"
	}
	return brief(entries[n])
}

func brief(e model.Entry) string {
	return fmt.Sprintf("%.40q = %.20q (%d bytes)", e.Key, e.Value, len(e.Value))
}

// walk makes random moves of a cursor. In a writable transaction, meanwhile may write between
// moves: First, Last and Seek see the writes; Next and Prev continue in the older state.
func (t twin) walk(rng *rand.Rand, steps int, key func() string, meanwhile func() error) error {
	verbs := []string{
		"first", "last", "seek", "movenext", "movenext", "movenext", "moveprev", "moveprev", "moveprev",
	}
	c, ref := t.db.cursor(), t.ref.cursor()
	for range steps {
		verb, seek := verbs[rng.IntN(len(verbs))], key()
		got, ok, err := c.move(verb, seek)
		want, there, _ := ref.move(verb, seek)
		if err != nil {
			return fmt.Errorf("cursor %s %.40q: %w", verb, seek, err)
		}
		if got != want || ok != there {
			return disagree(fmt.Sprintf("cursor %s %.40q", verb, seek), brief(got), brief(want))
		}
		if err := meanwhile(); err != nil {
			return err
		}
	}
	return nil
}

// child returns a bucket in this one, which may be missing from both.
func (t twin) child(name string) (child twin, ok bool, err error) {
	ref := t.ref.b.Bucket(name)
	db, err := t.db.s.Bucket([]byte(name))
	absent := errors.Is(err, stoat.ErrBucketNotFound)
	switch {
	case err != nil && !absent:
		return twin{}, false, fmt.Errorf("bucket %q: %w", name, err)
	case absent != (ref == nil):
		return twin{}, false, disagree(fmt.Sprintf("bucket %q", name), !absent, ref != nil)
	}
	return twin{dbSpace{db, t.db.tx}, modelSpace{ref}}, !absent, nil
}

// create creates a bucket unless it exists, and returns it.
func (t twin) create(name string) (twin, error) {
	err := t.both(fmt.Sprintf("create bucket %q", name), func(s space) error { return s.create(name) })
	if err != nil {
		return twin{}, err
	}
	if _, err := t.db.s.CreateBucketIfNotExists([]byte(name)); err != nil {
		return twin{}, fmt.Errorf("create bucket %q: %w", name, err)
	}
	child, ok, err := t.child(name)
	if err == nil && !ok {
		err = fmt.Errorf("bucket %q is missing after its creation", name)
	}
	return child, err
}

// drop deletes a bucket and checks that its handle is dead.
func (t twin) drop(name string) error {
	child, existed, err := t.child(name)
	if err != nil {
		return err
	}
	err = t.both(fmt.Sprintf("delete bucket %q", name), func(s space) error { return s.drop(name) })
	if err != nil || !existed {
		return err
	}
	if err := child.db.s.Put([]byte("k"), nil); !errors.Is(err, stoat.ErrBucketNotFound) {
		return disagree(fmt.Sprintf("put in dropped bucket %q", name), err, stoat.ErrBucketNotFound)
	}
	return nil
}

// sequence returns the next number, after setting the sequence unless set is 0.
func (t twin) sequence(set uint64) error {
	_, err := compare(t, fmt.Sprintf("sequence after %d", set), func(s space) (uint64, error) {
		if set > 0 {
			if err := s.setSequence(set); err != nil {
				return 0, err
			}
		}
		return s.next()
	})
	return err
}

func (t twin) buckets() error {
	_, err := compare(t, "buckets", func(s space) (string, error) {
		names, err := s.buckets()
		return strings.Join(names, " "), err
	})
	return err
}

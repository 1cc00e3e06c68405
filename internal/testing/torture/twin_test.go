package torture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// twin is a bucket of the database and the same bucket of the model. Every operation is done on
// both; the error says where they disagree.
type twin struct {
	db  stoat.KeySpace
	ref *model.Bucket
}

// disagree returns an error that says what the database answered and what the model did.
func disagree(op string, got, want any) error {
	return fmt.Errorf("%s: got %v, want %v", op, got, want)
}

func (t twin) put(key, value string) error {
	t.ref.Put(key, value)
	if err := t.db.Put([]byte(key), []byte(value)); err != nil {
		return fmt.Errorf("put %.40q: %w", key, err)
	}
	return nil
}

func (t twin) delete(key string) error {
	t.ref.Delete(key)
	if err := t.db.Delete([]byte(key)); err != nil {
		return fmt.Errorf("delete %.40q: %w", key, err)
	}
	return nil
}

func (t twin) putTTL(key, value string, ttl time.Duration) error {
	t.ref.PutTTL(key, value, ttl)
	if err := t.db.PutTTL([]byte(key), []byte(value), ttl); err != nil {
		return fmt.Errorf("put %.40q for %v: %w", key, ttl, err)
	}
	return nil
}

func (t twin) deleteRange(r stoat.Range) error {
	t.ref.DeleteRange(string(r.Start), string(r.End), r.Reverse, max(r.Limit, 0))
	if err := t.db.DeleteRange(r); err != nil {
		return fmt.Errorf("delete %s: %w", describe(r), err)
	}
	return nil
}

// describe says what a range is.
func describe(r stoat.Range) string {
	return fmt.Sprintf("%.20q to %.20q, reverse %t, limit %d", r.Start, r.End, r.Reverse, r.Limit)
}

func (t twin) get(key string) error {
	want, ok := t.ref.Get(key)
	got, err := t.db.Get([]byte(key))
	has, hasErr := t.db.Has([]byte(key))
	absent := errors.Is(err, stoat.ErrNotFound)
	switch {
	case hasErr != nil:
		return fmt.Errorf("has %.40q: %w", key, hasErr)
	case err != nil && !absent:
		return fmt.Errorf("get %.40q: %w", key, err)
	case has != ok || absent == ok:
		return disagree(fmt.Sprintf("has and get %.40q", key), fmt.Sprint(has, !absent), ok)
	case ok && (got == nil || string(got) != want):
		return disagree(fmt.Sprintf("get %.40q", key), fmt.Sprintf("%.40q", got), want)
	}
	return nil
}

// swap compares key with old, an absent key if absent, and swaps or, with remove, deletes it.
func (t twin) swap(key, old, value string, absent, remove bool) error {
	current, ok := t.ref.Get(key)
	want := absent && !ok || !absent && ok && current == old
	var oldBytes []byte
	if !absent {
		oldBytes = append([]byte{}, old...)
	}
	var got bool
	var err error
	if remove {
		want = want && ok
		got, err = t.db.CompareAndDelete([]byte(key), oldBytes)
	} else {
		got, err = t.db.CompareAndSwap([]byte(key), oldBytes, []byte(value))
	}
	switch {
	case err != nil:
		return fmt.Errorf("compare %.40q: %w", key, err)
	case got != want:
		return disagree(fmt.Sprintf("compare %.40q", key), got, want)
	case want && remove:
		t.ref.Delete(key)
	case want:
		t.ref.Swap(key, value)
	}
	return nil
}

// ttl compares how long a key stays.
func (t twin) ttl(key string) error {
	want, ok := t.ref.TTL(key)
	got, expires, err := t.db.TTL([]byte(key))
	switch absent := errors.Is(err, stoat.ErrNotFound); {
	case err != nil && !absent:
		return fmt.Errorf("ttl %.40q: %w", key, err)
	case absent == ok || got != want || expires != (want > 0):
		return disagree(fmt.Sprintf("ttl %.40q", key), fmt.Sprint(!absent, got), fmt.Sprint(ok, want))
	}
	return nil
}

// move moves a bucket into another one.
func (t twin) move(old string, to twin, name string) error {
	want := moveIn(t.ref, old, to.ref, name)
	got := t.db.MoveBucket([]byte(old), to.db, []byte(name))
	switch {
	case class(got) == class(want):
		return nil
	case got == nil:
		return disagree(fmt.Sprintf("move bucket %q to %q", old, name), got, want)
	}
	return fmt.Errorf("move bucket %q to %q: got %w, want %v", old, name, got, want)
}

// intoItself is part of the error of a move into the moved bucket, which has no kind of its own.
const intoItself = "cannot be moved into itself"

// moveIn does in the model what MoveBucket does.
func moveIn(from *model.Bucket, old string, to *model.Bucket, name string) error {
	moved := from.Bucket(old)
	switch there := to.Bucket(name); {
	case old == "":
		return stoat.ErrInvalidKey
	case moved == nil:
		return fmt.Errorf("bucket %q: %w", old, stoat.ErrBucketNotFound)
	case moved.Holds(to):
		return fmt.Errorf("bucket %q %s", old, intoItself)
	case name == "":
		return stoat.ErrInvalidKey
	case there == moved:
		return nil
	case there != nil:
		return fmt.Errorf("bucket %q: %w", name, stoat.ErrBucketExists)
	}
	from.DeleteBucket(old)
	to.Adopt(name, moved)
	return nil
}

// scan compares a range; meanwhile is called during the loop, after the model was asked.
func (t twin) scan(r stoat.Range, meanwhile func() error) error {
	want := t.ref.Scan(string(r.Start), string(r.End), r.Reverse, max(r.Limit, 0))
	what := "scan " + describe(r)
	n := 0
	for key, value := range t.db.Scan(r) {
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
		return disagree(what, fmt.Sprintf("the end after %d", n), at(want, n))
	}
	n = 0
	want = t.ref.Scan(string(r.Start), string(r.End), r.Reverse, max(r.Limit, 0))
	for key := range t.db.Keys(r) {
		if n == len(want) || string(key) != want[n].Key {
			return disagree(fmt.Sprintf("keys of %s: %d", what, n), string(key), at(want, n))
		}
		n++
	}
	if n < len(want) {
		return disagree("keys of "+what, fmt.Sprintf("the end after %d", n), at(want, n))
	}
	return nil
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

// walk moves a cursor at random, steps times. In a writable transaction meanwhile may write between
// the moves: First, Last and Seek see it, Next and Prev go on in what those saw.
func (t twin) walk(rng *rand.Rand, steps int, key func() string, meanwhile func() error) error {
	c := t.db.Cursor()
	var ref *model.Cursor
	for range steps {
		move := rng.IntN(9)
		if ref == nil || move < 3 {
			ref = t.ref.Cursor()
		}
		var k, v []byte
		var want model.Entry
		var ok bool
		name := "next"
		switch seek := key(); {
		case move == 0:
			name = "first"
			k, v = c.First()
			want, ok = ref.First()
		case move == 1:
			name = "last"
			k, v = c.Last()
			want, ok = ref.Last()
		case move == 2:
			name = fmt.Sprintf("seek %.40q", seek)
			k, v = c.Seek([]byte(seek))
			want, ok = ref.Seek(seek)
		case move < 6:
			k, v = c.Next()
			want, ok = ref.Next()
		default:
			name = "prev"
			k, v = c.Prev()
			want, ok = ref.Prev()
		}
		got := model.Entry{Key: string(k), Value: string(v)}
		if c.Err() != nil {
			return fmt.Errorf("cursor %s: %w", name, c.Err())
		}
		if (k != nil) != ok || got != want {
			return disagree("cursor "+name, brief(got), brief(want))
		}
		if err := meanwhile(); err != nil {
			return err
		}
	}
	return nil
}

// child returns the twins' bucket with the name, which may be missing in both.
func (t twin) child(name string) (child twin, ok bool, err error) {
	ref := t.ref.Bucket(name)
	db, err := t.db.Bucket([]byte(name))
	absent := errors.Is(err, stoat.ErrBucketNotFound)
	switch {
	case err != nil && !absent:
		return twin{}, false, fmt.Errorf("bucket %q: %w", name, err)
	case absent != (ref == nil):
		return twin{}, false, disagree(fmt.Sprintf("bucket %q", name), !absent, ref != nil)
	}
	return twin{db, ref}, !absent, nil
}

func (t twin) create(name string) (twin, error) {
	ref := t.ref.CreateBucket(name)
	db, err := t.db.CreateBucket([]byte(name))
	exists := errors.Is(err, stoat.ErrBucketExists)
	if err == nil && ref == nil || exists && ref != nil {
		return twin{}, disagree(fmt.Sprintf("create bucket %q", name), err, ref == nil)
	}
	if exists {
		db, err = t.db.CreateBucketIfNotExists([]byte(name))
		ref = t.ref.Bucket(name)
	}
	if err != nil {
		return twin{}, fmt.Errorf("create bucket %q: %w", name, err)
	}
	return twin{db, ref}, nil
}

// drop deletes the bucket with the name and tries the dropped one.
func (t twin) drop(name string) error {
	child, existed, err := t.child(name)
	if err != nil {
		return err
	}
	t.ref.DeleteBucket(name)
	err = t.db.DeleteBucket([]byte(name))
	absent := errors.Is(err, stoat.ErrBucketNotFound)
	switch {
	case err != nil && !absent:
		return fmt.Errorf("delete bucket %q: %w", name, err)
	case absent == existed:
		return disagree(fmt.Sprintf("delete bucket %q", name), !absent, existed)
	case absent:
		return nil
	}
	if err := child.db.Put([]byte("k"), nil); !errors.Is(err, stoat.ErrBucketNotFound) {
		return disagree(fmt.Sprintf("put in dropped bucket %q", name), err, stoat.ErrBucketNotFound)
	}
	return nil
}

func (t twin) sequence(set uint64) error {
	if set > 0 {
		t.ref.SetSequence(set)
		if err := t.db.SetSequence(set); err != nil {
			return fmt.Errorf("set sequence: %w", err)
		}
	}
	got, err := t.db.NextSequence()
	if err != nil {
		return fmt.Errorf("next sequence: %w", err)
	}
	if want := t.ref.NextSequence(); got != want {
		return disagree("next sequence", got, want)
	}
	return nil
}

func (t twin) buckets() error {
	want := t.ref.Buckets()
	var got []string
	for name := range t.db.Buckets() {
		got = append(got, string(name))
	}
	if !slices.Equal(got, want) {
		return disagree("buckets", strings.Join(got, " "), strings.Join(want, " "))
	}
	return nil
}

// dump reads a whole transaction into the model's form.
func dump(tx *stoat.Tx) (*model.Bucket, error) {
	all := &model.Bucket{}
	if err := fill(all, tx); err != nil {
		return nil, err
	}
	return all, tx.Err()
}

func fill(into *model.Bucket, from stoat.KeySpace) error {
	n, err := from.Sequence()
	if err != nil {
		return err
	}
	into.SetSequence(n)
	last := ""
	for key, value := range from.Scan(stoat.Range{}) {
		if string(key) <= last {
			return fmt.Errorf("scan: key %.40q follows %.40q", key, last)
		}
		last = string(key)
		into.Put(last, string(value))
	}
	for name := range from.Buckets() {
		if into.Bucket(string(name)) != nil {
			return fmt.Errorf("bucket %q is listed twice", name)
		}
		child, err := from.Bucket(name)
		if err != nil {
			return fmt.Errorf("bucket %q is listed: %w", name, err)
		}
		if err := fill(into.CreateBucket(string(name)), child); err != nil {
			return err
		}
	}
	return nil
}

// dumpDB reads everything that is committed.
func dumpDB(db *stoat.DB) (all *model.Bucket, err error) {
	err = db.View(func(tx *stoat.Tx) (err error) {
		all, err = dump(tx)
		return err
	})
	return all, err
}

package stress

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
)

// bucket is what a bucket holds. It does not change once it is part of a state.
type bucket struct {
	keys   map[string]entry
	nested map[string]*bucket
	last   uint64 // of its sequence
}

// entry is the value of a key.
type entry struct {
	value   string
	expires int64 // in milliseconds; 0: never
}

// slack is by how many milliseconds a key may expire late or early, since the time is taken around
// what is read.
const slack = 2

func (e entry) mayBeGone(at int64) bool  { return e.expires != 0 && e.expires <= at+slack }
func (e entry) mustBeGone(at int64) bool { return e.expires != 0 && e.expires < at-slack }

func now() int64 { return time.Now().UnixMilli() }

func newBucket() *bucket {
	return &bucket{keys: map[string]entry{}, nested: map[string]*bucket{}}
}

func (b *bucket) clone() *bucket {
	c := &bucket{keys: maps.Clone(b.keys), nested: make(map[string]*bucket), last: b.last}
	for name, n := range b.nested {
		c.nested[name] = n.clone()
	}
	return c
}

// names returns the names of the nested buckets.
func (b *bucket) names() []string { return slices.Sorted(maps.Keys(b.nested)) }

// at returns the bucket at the end of a path.
func (b *bucket) at(path []string) *bucket {
	for _, name := range path {
		b = b.nested[name]
	}
	return b
}

// read adds what a bucket of a database holds.
func (b *bucket) read(from stoat.KeySpace) (err error) {
	if b.last, err = from.Sequence(); err != nil {
		return err
	}
	for key, value := range from.Scan(stoat.Range{}) {
		b.keys[string(key)] = entry{value: string(value)}
	}
	for name := range from.Buckets() {
		n, err := from.Bucket(name)
		if err != nil {
			return fmt.Errorf("bucket %q: %w", name, err)
		}
		b.nested[string(name)] = newBucket()
		if err := b.nested[string(name)].read(n); err != nil {
			return err
		}
	}
	return nil
}

// differs returns how what was read between two moments differs from b, or "".
func (b *bucket) differs(seen *bucket, began, ended int64) string {
	if !slices.Equal(b.names(), seen.names()) {
		return fmt.Sprintf("the buckets %q and not %q", seen.names(), b.names())
	}
	if b.last != seen.last {
		return fmt.Sprintf("the sequence is at %d and not %d", seen.last, b.last)
	}
	for key, want := range b.keys {
		got, there := seen.keys[key]
		switch {
		case !there && !want.mayBeGone(ended):
			return fmt.Sprintf("key %q is missing (expires %d, now %d)", key, want.expires, ended)
		case there && want.mustBeGone(began):
			return fmt.Sprintf("key %q has expired", key)
		case there && got.value != want.value:
			return fmt.Sprintf("key %q has a value of %d bytes and not of %d", key, len(got.value),
				len(want.value))
		}
	}
	for key := range seen.keys {
		if _, there := b.keys[key]; !there {
			return fmt.Sprintf("key %q is there", key)
		}
	}
	for name, n := range b.nested {
		if diff := n.differs(seen.nested[name], began, ended); diff != "" {
			return fmt.Sprintf("in bucket %q: %s", name, diff)
		}
	}
	return ""
}

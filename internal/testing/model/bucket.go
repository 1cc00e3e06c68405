package model

import (
	"cmp"
	"slices"
	"time"
)

// Entry is a key with its value.
type Entry struct {
	Key, Value string
}

// stored is an entry that may expire.
type stored struct {
	Entry
	until int64 // when it expires, in milliseconds since 1970; 0 for never
}

// Bucket is a key space with a sequence and nested buckets.
type Bucket struct {
	entries  []stored // sorted by key; some may have expired
	children []child  // sorted by name
	sequence uint64
	clock    *Clock  // nil if no entry expires
	origin   *Bucket // the original of this copy, or nil
}

// child is a nested bucket and its name.
type child struct {
	name   string
	bucket *Bucket
}

// Get returns the value of key.
func (b *Bucket) Get(key string) (value string, ok bool) {
	i, ok := b.find(key)
	if !ok || b.expired(b.entries[i]) {
		return "", false
	}
	return b.entries[i].Value, true
}

// Put sets the value of key, which never expires.
func (b *Bucket) Put(key, value string) { b.put(stored{Entry: Entry{key, value}}) }

// Swap replaces the value of key and keeps its expiry, if any.
func (b *Bucket) Swap(key, value string) {
	next := stored{Entry: Entry{key, value}}
	if i, ok := b.find(key); ok && !b.expired(b.entries[i]) {
		next.until = b.entries[i].until
	}
	b.put(next)
}

// PutTTL sets the value of key until ttl has passed on the clock, rounded up to milliseconds. The
// bucket must have a clock.
func (b *Bucket) PutTTL(key, value string, ttl time.Duration) {
	b.put(stored{Entry{key, value}, b.clock.after(ttl)})
}

// TTL returns how long key stays, 0 for ever; ok is false if it is absent.
func (b *Bucket) TTL(key string) (ttl time.Duration, ok bool) {
	i, ok := b.find(key)
	switch {
	case !ok || b.expired(b.entries[i]):
		return 0, false
	case b.entries[i].until == 0:
		return 0, true
	}
	return time.UnixMilli(b.entries[i].until).Sub(b.clock.Now()), true
}

// Delete deletes key.
func (b *Bucket) Delete(key string) {
	if i, ok := b.find(key); ok {
		b.entries = slices.Delete(b.entries, i, i+1)
	}
}

// DeleteRange deletes the keys that Scan would return.
func (b *Bucket) DeleteRange(start, end string, reverse bool, limit int) {
	for _, e := range b.Scan(start, end, reverse, limit) {
		b.Delete(e.Key)
	}
}

// Scan returns at most limit entries with keys in [start, end), in key order or reversed. An empty
// end and a limit of 0 mean no bound.
func (b *Bucket) Scan(start, end string, reverse bool, limit int) []Entry {
	var found []Entry
	for _, e := range b.entries {
		if within(e.Key, start, end) && !b.expired(e) {
			found = append(found, e.Entry)
		}
	}
	if reverse {
		slices.Reverse(found)
	}
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	return found
}

// Len returns the number of keys.
func (b *Bucket) Len() int { return len(b.all()) }

// Bucket returns the nested bucket with the name, or nil.
func (b *Bucket) Bucket(name string) *Bucket {
	if i, ok := b.findChild(name); ok {
		return b.children[i].bucket
	}
	return nil
}

// CreateBucket returns a new nested bucket, or nil if the name is taken.
func (b *Bucket) CreateBucket(name string) *Bucket {
	i, ok := b.findChild(name)
	if ok {
		return nil
	}
	created := &Bucket{clock: b.clock}
	b.children = slices.Insert(b.children, i, child{name, created})
	return created
}

// DeleteBucket removes a nested bucket and reports whether it existed.
func (b *Bucket) DeleteBucket(name string) bool {
	i, ok := b.findChild(name)
	if ok {
		b.children = slices.Delete(b.children, i, i+1)
	}
	return ok
}

// Holds reports whether other is the bucket or nested in it at any depth.
func (b *Bucket) Holds(other *Bucket) bool {
	return b == other || slices.ContainsFunc(b.children, func(c child) bool {
		return c.bucket.Holds(other)
	})
}

// Adopt nests other under a name that is free.
func (b *Bucket) Adopt(name string, other *Bucket) {
	i, _ := b.findChild(name)
	b.children = slices.Insert(b.children, i, child{name, other})
}

// Buckets returns the names of the nested buckets in order.
func (b *Bucket) Buckets() []string {
	names := make([]string, len(b.children))
	for i, c := range b.children {
		names[i] = c.name
	}
	return names
}

// Sequence returns the last number of the sequence, 0 before the first.
func (b *Bucket) Sequence() uint64 { return b.sequence }

// SetSequence sets the last number of the sequence.
func (b *Bucket) SetSequence(n uint64) { b.sequence = n }

// NextSequence returns the next number of the sequence.
func (b *Bucket) NextSequence() uint64 {
	b.sequence++
	return b.sequence
}

// Clone returns a copy that shares nothing mutable except the clock.
func (b *Bucket) Clone() *Bucket { return b.By(b.clock) }

// By is Clone with another clock: the bucket at another time.
func (b *Bucket) By(clock *Clock) *Bucket {
	copied := &Bucket{
		entries: slices.Clone(b.entries), sequence: b.sequence, clock: clock, origin: b.Origin(),
	}
	for _, c := range b.children {
		copied.children = append(copied.children, child{c.name, c.bucket.By(clock)})
	}
	return copied
}

// Origin identifies the bucket and all its copies, whatever their names.
func (b *Bucket) Origin() *Bucket {
	if b.origin != nil {
		return b.origin
	}
	return b
}

// Equal reports whether two buckets have equal contents at all levels, each by its clock.
func (b *Bucket) Equal(other *Bucket) bool {
	return b.sequence == other.sequence && slices.Equal(b.all(), other.all()) &&
		slices.EqualFunc(b.children, other.children, func(x, y child) bool {
			return x.name == y.name && x.bucket.Equal(y.bucket)
		})
}

// all returns the entries that have not expired.
func (b *Bucket) all() []Entry { return b.Scan("", "", false, 0) }

// expired reports whether the time of an entry has passed.
func (b *Bucket) expired(e stored) bool {
	return e.until != 0 && e.until <= b.clock.Now().UnixMilli()
}

func (b *Bucket) put(e stored) {
	i, ok := b.find(e.Key)
	if ok {
		b.entries[i] = e
		return
	}
	b.entries = slices.Insert(b.entries, i, e)
}

func (b *Bucket) find(key string) (int, bool) {
	return slices.BinarySearchFunc(b.entries, key, func(e stored, key string) int {
		return cmp.Compare(e.Key, key)
	})
}

func (b *Bucket) findChild(name string) (int, bool) {
	return slices.BinarySearchFunc(b.children, name, func(c child, name string) int {
		return cmp.Compare(c.name, name)
	})
}

func within(key, start, end string) bool {
	return key >= start && (end == "" || key < end)
}

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
	until int64 // from then on it is absent, in milliseconds since 1970; 0 stands for never
}

// Bucket is a key space with a sequence and the buckets within it.
type Bucket struct {
	entries  []stored // sorted by key; some may have expired
	children []child  // sorted by name
	sequence uint64
	clock    *Clock  // nil if no entry expires
	origin   *Bucket // of which this is a copy; nil if it is none
}

// child is a bucket under its name.
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

// Put gives key the value, for ever.
func (b *Bucket) Put(key, value string) { b.put(stored{Entry: Entry{key, value}}) }

// Swap gives key the value in place of the one it has, for as long as that would have stayed, or
// for ever if it has none.
func (b *Bucket) Swap(key, value string) {
	next := stored{Entry: Entry{key, value}}
	if i, ok := b.find(key); ok && !b.expired(b.entries[i]) {
		next.until = b.entries[i].until
	}
	b.put(next)
}

// PutTTL gives key the value until ttl, rounded up to whole milliseconds, has passed on the clock,
// which the bucket must have.
func (b *Bucket) PutTTL(key, value string, ttl time.Duration) {
	b.put(stored{Entry{key, value}, b.clock.after(ttl)})
}

// TTL returns how long key stays, 0 if for ever; ok is false if it is absent.
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

// Delete makes key absent.
func (b *Bucket) Delete(key string) {
	if i, ok := b.find(key); ok {
		b.entries = slices.Delete(b.entries, i, i+1)
	}
}

// DeleteRange makes all keys absent that Scan would return.
func (b *Bucket) DeleteRange(start, end string, reverse bool, limit int) {
	for _, e := range b.Scan(start, end, reverse, limit) {
		b.Delete(e.Key)
	}
}

// Scan returns the entries whose keys are in [start, end) in key order, or against it if reverse,
// and no more than limit of them. An empty end is no bound, a limit of 0 no limit.
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

// Bucket returns the child bucket with the name, or nil.
func (b *Bucket) Bucket(name string) *Bucket {
	if i, ok := b.findChild(name); ok {
		return b.children[i].bucket
	}
	return nil
}

// CreateBucket returns a new child bucket with the name, or nil if there is one already.
func (b *Bucket) CreateBucket(name string) *Bucket {
	i, ok := b.findChild(name)
	if ok {
		return nil
	}
	created := &Bucket{clock: b.clock}
	b.children = slices.Insert(b.children, i, child{name, created})
	return created
}

// DeleteBucket removes the child bucket with the name and reports whether there was one.
func (b *Bucket) DeleteBucket(name string) bool {
	i, ok := b.findChild(name)
	if ok {
		b.children = slices.Delete(b.children, i, i+1)
	}
	return ok
}

// Holds reports whether other is the bucket, or within it, however deep.
func (b *Bucket) Holds(other *Bucket) bool {
	return b == other || slices.ContainsFunc(b.children, func(c child) bool {
		return c.bucket.Holds(other)
	})
}

// Adopt makes other a child bucket with a name that none has.
func (b *Bucket) Adopt(name string, other *Bucket) {
	i, _ := b.findChild(name)
	b.children = slices.Insert(b.children, i, child{name, other})
}

// Buckets returns the names of the child buckets in order.
func (b *Bucket) Buckets() []string {
	names := make([]string, len(b.children))
	for i, c := range b.children {
		names[i] = c.name
	}
	return names
}

// Sequence returns the sequence's last number, 0 if there was none.
func (b *Bucket) Sequence() uint64 { return b.sequence }

// SetSequence sets the sequence's last number.
func (b *Bucket) SetSequence(n uint64) { b.sequence = n }

// NextSequence returns the sequence's next number.
func (b *Bucket) NextSequence() uint64 {
	b.sequence++
	return b.sequence
}

// Clone returns a copy that shares nothing that can change but the clock.
func (b *Bucket) Clone() *Bucket { return b.By(b.clock) }

// By is Clone with another clock, for what the bucket is at another time.
func (b *Bucket) By(clock *Clock) *Bucket {
	copied := &Bucket{
		entries: slices.Clone(b.entries), sequence: b.sequence, clock: clock, origin: b.Origin(),
	}
	for _, c := range b.children {
		copied.children = append(copied.children, child{c.name, c.bucket.By(clock)})
	}
	return copied
}

// Origin returns what stands for the bucket and all copies of it, whatever their names are.
func (b *Bucket) Origin() *Bucket {
	if b.origin != nil {
		return b.origin
	}
	return b
}

// Equal reports whether two buckets hold the same, all the way down, each by its clock.
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

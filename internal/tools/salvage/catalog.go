package salvage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// catalog is the buckets of the source: those that are known, and those made up so that all data
// can be reached.
type catalog struct {
	version   *manifest.Version // nil without a manifest
	buckets   map[uint64]bucket
	sequences map[uint64]keyspace.Entry
	dropped   map[uint64]bool   // by the log, and all buckets within them
	lost      map[uint64]string // the new names of buckets without an entry
	next      uint64            // the stored id of the next bucket, or 0
	highest   uint64            // id seen
	salvage   uint64            // the number of the last salvage that lost something, or 0
	closed    bool              // all of it has been read
	names     map[string]bool   // of the buckets in the root bucket, once closed
}

// newCatalog returns an empty catalog for a database with the version v, which may be nil.
func newCatalog(v *manifest.Version) *catalog {
	return &catalog{
		version: v,
		buckets: make(map[uint64]bucket), sequences: make(map[uint64]keyspace.Entry),
		dropped: make(map[uint64]bool), lost: make(map[uint64]string),
	}
}

// bucket is the entry of one bucket.
type bucket struct {
	parent uint64
	name   string
}

// add adds an entry of the stored catalog, or returns what is wrong with it.
func (c *catalog) add(key []byte, e keyspace.Entry) (problem string) {
	if id, ok := keyspace.ParseDropped(key); ok {
		c.dropped[id] = true
		c.meet(id)
		return ""
	}
	n, size := binary.Uvarint(e.Value)
	if size <= 0 || size != len(e.Value) {
		return "it is no number"
	}
	if bytes.Equal(key, keyspace.AppendNextID(nil)) {
		c.next = n
		return ""
	}
	if bytes.Equal(key, keyspace.AppendSalvage(nil)) {
		c.salvage = n
		return ""
	}
	id, ok := keyspace.BucketOf(key)
	if !ok {
		return "it is no key of the catalog"
	}
	if bytes.Equal(key, keyspace.AppendSequence(nil, id)) {
		c.sequences[id] = e
		c.meet(id)
		return ""
	}
	prefix := keyspace.AppendCatalog(nil, id)
	other, twice := c.buckets[n]
	if twice && c.gone(id) {
		return "" // the flush that dropped id has uncovered where n was before it was moved
	}
	if !bytes.HasPrefix(key, prefix) || len(key) == len(prefix) ||
		n == keyspace.RootID || n == id || twice && !c.gone(other.parent) {
		return "it is no valid entry of a bucket"
	}
	c.buckets[n] = bucket{id, string(key[len(prefix):])}
	c.meet(n)
	c.meet(id)
	return ""
}

func (c *catalog) meet(id uint64) { c.highest = max(c.highest, id) }

// close ends reading the catalog. It removes the buckets that were dropped and all within them.
func (c *catalog) close() {
	if c.closed {
		return
	}
	c.closed = true
	ids := slices.Sorted(maps.Keys(c.buckets))
	c.cutCycles(ids)
	for _, id := range ids {
		if c.withinGone(id) {
			c.dropped[id] = true
		}
	}
	for id := range c.dropped {
		delete(c.buckets, id)
	}
	c.names = make(map[string]bool)
	for _, b := range c.buckets {
		if b.parent == keyspace.RootID {
			c.names[b.name] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.buckets)) {
		c.want(c.buckets[id].parent)
	}
	for id := range c.sequences {
		if c.gone(id) {
			delete(c.sequences, id)
		} else {
			c.want(id)
		}
	}
}

// cutCycles removes one bucket's entry from each cycle. If entries are lost, older ones may name
// the parents that buckets had before they were moved.
func (c *catalog) cutCycles(ids []uint64) {
	seen := make(map[uint64]uint64, len(ids)) // by bucket, where the way up that met it began
	for _, start := range ids {
		for at := start; at != keyspace.RootID; {
			if from, met := seen[at]; met {
				if from == start {
					delete(c.buckets, at)
				}
				break
			}
			seen[at] = start
			b, ok := c.buckets[at]
			if !ok {
				break
			}
			at = b.parent
		}
	}
}

func (c *catalog) withinGone(id uint64) bool {
	for known := true; known && id != keyspace.RootID; {
		if c.gone(id) {
			return true
		}
		var b bucket
		b, known = c.buckets[id]
		id = b.parent
	}
	return false
}

func (c *catalog) gone(id uint64) bool {
	return c.dropped[id] || c.version != nil && c.version.IsDropped(id)
}

// want makes up a bucket for data with that id if the catalog has none.
func (c *catalog) want(id uint64) {
	if _, ok := c.buckets[id]; ok || id == keyspace.RootID || c.lost[id] != "" {
		return
	}
	c.meet(id)
	name := fmt.Sprintf("lost-%d", id)
	for n := 2; c.names[name]; n++ {
		name = fmt.Sprintf("lost-%d-%d", id, n)
	}
	c.lost[id] = name
}

// path returns the names that lead to a bucket; ok is false if the bucket is not known.
func (c *catalog) path(id uint64) (names []string, ok bool) {
	for id != keyspace.RootID {
		b, ok := c.buckets[id]
		if !ok {
			if b.name = c.lost[id]; b.name == "" {
				return nil, false
			}
		}
		if names = append(names, b.name); len(names) > len(c.buckets)+1 {
			return nil, false // it lies in itself, until that is cut
		}
		id = b.parent
	}
	slices.Reverse(names)
	return names, true
}

// pair is an entry with its key.
type pair struct {
	key   []byte
	entry keyspace.Entry
}

func (c *catalog) pairs() []pair {
	var all []pair
	add := func(key []byte, n uint64) {
		value := binary.AppendUvarint(nil, n)
		all = append(all, pair{key, keyspace.Entry{Kind: keyspace.KindPut, Value: value}})
	}
	for id, b := range c.buckets {
		add(append(keyspace.AppendCatalog(nil, b.parent), b.name...), id)
	}
	for id, name := range c.lost {
		add(append(keyspace.AppendCatalog(nil, keyspace.RootID), name...), id)
	}
	for id, e := range c.sequences {
		all = append(all, pair{keyspace.AppendSequence(nil, id), e})
	}
	if next := c.nextID(); next > 0 {
		add(keyspace.AppendNextID(nil), next)
	}
	if c.salvage > 0 {
		add(keyspace.AppendSalvage(nil), c.salvage)
	}
	slices.SortFunc(all, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	return all
}

// nextID returns the id of the next bucket to be created, or 0 if none ever was.
func (c *catalog) nextID() uint64 {
	if c.highest == 0 || c.highest == math.MaxUint64 {
		return c.next
	}
	return max(c.next, c.highest+1)
}

// lostNames returns the names of the buckets that were made up, in the order of their ids.
func (c *catalog) lostNames() (names []string) {
	for _, id := range slices.Sorted(maps.Keys(c.lost)) {
		names = append(names, c.lost[id])
	}
	return names
}

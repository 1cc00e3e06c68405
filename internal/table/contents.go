package table

import (
	"fmt"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// lookupsPerDecode is how many lookups in blocks of encoded values there are, more or less, for
// each block that is decoded as a whole. That costs as much as about sixty values, and pays for
// itself by the lookups of it that follow, if there is room for it.
const lookupsPerDecode = 64

// value completes an entry, of which the kind is known, with value i of block b.
func (r *reader) value(b, i int, keys *block.Keys, e *keyspace.Entry) error {
	at := uint64(b)<<16 | uint64(i)
	values, encoded, err := r.contents(b, keys)
	if encoded != nil && r.worthDecoding(encoded, at, lookupsPerDecode) {
		values, err = r.decode(b, keys, encoded)
	}
	switch {
	case err != nil:
		return err
	case values != nil:
		e.Value = values.At(i)
	default:
		encoded.Entry(i, e)
	}
	if r.inPlace && r.sampler.Due(at) {
		r.sampler.Warm(e.Value)
	}
	return nil
}

// worthDecoding reports whether a read of value at, one of several on average, is to decode all
// values of its block, which fit into the cache.
func (r *reader) worthDecoding(e *block.Encoded, at uint64, several uint32) bool {
	return r.chance.due(at, several) && r.cache.hasRoom(e.DecodedBytes())
}

// chance picks one of several reads, as [vfs.Sampler] does: without writing to shared memory but
// when one is picked. Safe for concurrent use.
type chance struct{ turn atomic.Uint32 }

// due reports whether the read of value at is one of them.
func (c *chance) due(at uint64, several uint32) bool {
	turn := c.turn.Load()
	if vfs.Scatter(at)%several != turn%several {
		return false
	}
	c.turn.CompareAndSwap(turn, turn+1)
	return true
}

// keys returns the key part of block b.
func (r *reader) keys(b int) (*block.Keys, error) {
	if u := r.slots[b].keys.Load(); u != nil {
		u.touch()
		return &u.item, nil
	}
	return r.loadKeys(b)
}

func (r *reader) loadKeys(b int) (*block.Keys, error) {
	from, to := r.index.places[b].keys, r.index.places[b+1].keys
	u := &unit[block.Keys]{home: &r.slots[b].keys, bytes: unitBytes}
	err := r.readPart(from, to, r.index.sums[b].keys, func(p []byte) (err error) {
		u.item, err = block.ParseKeys(p)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.file != nil {
		u.bytes += int64(to - from)
	}
	return settle(r.cache, u), nil
}

// flat returns the keys of block b in full.
func (r *reader) flat(b int, keys *block.Keys) *block.Column {
	if u := r.slots[b].flat.Load(); u != nil {
		u.touch()
		return &u.item
	}
	u := &unit[block.Column]{home: &r.slots[b].flat, item: keys.Expand()}
	u.bytes = int64(unitBytes + u.item.IndexBytes() + u.item.DataBytes())
	return settle(r.cache, u)
}

// values returns the values of block b.
func (r *reader) values(b int, keys *block.Keys) (*block.Column, error) {
	values, encoded, err := r.contents(b, keys)
	if encoded != nil {
		return r.decode(b, keys, encoded)
	}
	return values, err
}

// contents returns the values of block b. If each is encoded alone, and they have not been decoded,
// it returns them as they are stored.
func (r *reader) contents(b int, keys *block.Keys) (*block.Column, *block.Encoded, error) {
	if u := r.slots[b].values.Load(); u != nil {
		u.touch()
		return &u.item, nil, nil
	}
	if u := r.slots[b].encoded.Load(); u != nil {
		u.touch()
		return nil, &u.item, nil
	}
	return r.loadContents(b, keys)
}

func (r *reader) loadContents(b int, keys *block.Keys) (*block.Column, *block.Encoded, error) {
	from, to := r.index.places[b].values, r.index.places[b+1].values
	var v block.Values
	err := r.readPart(from, to, r.index.sums[b].values, func(p []byte) (err error) {
		v, err = block.ParseValues(p, keys.Len(), &r.cache.decompressor)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if v.Codec == block.Pattern {
		u := &unit[block.Encoded]{home: &r.slots[b].encoded, item: v.Encoded}
		u.bytes = int64(unitBytes + v.Encoded.IndexBytes())
		if r.file != nil {
			u.bytes += int64(v.Encoded.DataBytes())
		}
		return nil, settle(r.cache, u), nil
	}
	u := &unit[block.Column]{home: &r.slots[b].values, item: v.Plain}
	u.bytes = int64(unitBytes + v.Plain.IndexBytes())
	if v.Codec == block.Zstd || r.file != nil {
		u.bytes += int64(v.Plain.DataBytes())
	}
	return settle(r.cache, u), nil, nil
}

// decode returns all values of block b, decoded.
func (r *reader) decode(b int, keys *block.Keys, e *block.Encoded) (*block.Column, error) {
	u := &unit[block.Column]{home: &r.slots[b].values}
	err := r.check(r.index.places[b].values, func() error {
		d, err := r.dictionary(e.Dictionary)
		if err == nil {
			u.item, err = e.Decode(d, keys.Kinds())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	u.bytes = int64(unitBytes + u.item.IndexBytes() + u.item.DataBytes())
	return settle(r.cache, u), nil
}

// heads returns the first n bytes, or more, of all values of block b, decoded.
func (r *reader) heads(b int, keys *block.Keys, e *block.Encoded, n int) (*block.Column, error) {
	home := &r.slots[b].heads
	if u := home.Load(); u != nil {
		if u.item.Bytes >= n {
			u.touch()
			return &u.item.Column, nil
		}
		r.cache.remove(u)
	}
	u := &unit[block.Heads]{home: home}
	err := r.check(r.index.places[b].values, func() error {
		d, err := r.dictionary(e.Dictionary)
		if err == nil {
			u.item, err = e.Heads(d, keys.Kinds(), n)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	u.bytes = int64(unitBytes + u.item.IndexBytes() + u.item.DataBytes())
	if kept := settle(r.cache, u); kept.Bytes >= n {
		return &kept.Column, nil
	}
	return &u.item.Column, nil // somebody was faster who wants less
}

// dictionary returns the dictionary with the given number.
func (r *reader) dictionary(number uint64) (*block.Dictionary, error) {
	for _, d := range r.dictionaries {
		if d.Number == number {
			return d, nil
		}
	}
	return nil, fmt.Errorf("dictionary %06d is not in the manifest", number)
}

// settle puts a new unit in its slot and in the cache's charge, unless another goroutine was
// faster, and returns what is in the slot now.
func settle[T any](c *Cache, u *unit[T]) *T {
	for !u.home.CompareAndSwap(nil, u) {
		if other := u.home.Load(); other != nil {
			return &other.item
		}
	}
	c.add(u)
	return &u.item
}

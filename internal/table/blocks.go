package table

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/block"
)

// How the parts of a block come into memory, in the forms that the policy of the cache names.

// content is what the window of a cursor takes from a whole block.
type content struct {
	parsed  *block.Keys
	flat    *block.Column  // the keys in full
	values  block.Column   // decoded; undefined if the cursor reads none, or if they are encoded
	encoded *block.Encoded // the values, if they are not decoded
	cold    bool           // the values were not in memory
}

func (x *content) bytes() int64 {
	if x.flat == nil {
		return 0
	}
	return int64(x.flat.DataBytes() + x.values.DataBytes())
}

// whole returns block b for a scan.
func (r *reader) whole(b int, s *Scope) (content, error) {
	keys, err := r.keys(b, scan)
	if err != nil {
		return content{}, err
	}
	x := content{parsed: keys}
	if err := x.loadValues(r, b, s, scan); err != nil {
		return content{}, err
	}
	x.flat = r.flat(b, keys, scan)
	return x, nil
}

// loadValues loads the values of block b, whose keys x has, as the scope wants them. After an
// error, x is as it was.
func (x *content) loadValues(r *reader, b int, s *Scope, why access) (err error) {
	slots, keys := &r.slots[b], x.parsed
	cold := slots.values.Load() == nil
	var values *block.Column
	var encoded *stored
	if s.Read == ReadHeads {
		cold = cold && slots.heads.Load() == nil
		values, err = r.head(b, keys, s.HeadBytes, why)
	}
	if values == nil && err == nil {
		values, encoded, err = r.values(b, keys, why)
	}
	if encoded != nil && s.decodes() && r.cache.decodesWindow(encoded, why) {
		if s.Read == ReadHeads {
			values, err = r.heads(b, keys, encoded, s.HeadBytes, why)
		} else {
			values, err = r.decode(b, keys, encoded, why)
		}
	}
	if err != nil {
		return err
	}
	if x.cold, x.encoded = cold, nil; values == nil {
		x.encoded = &encoded.Encoded
		return nil
	}
	x.values = *values
	return nil
}

func (r *reader) keys(b int, why access) (*block.Keys, error) {
	if u := r.slots[b].keys.Load(); u != nil {
		u.touch()
		return &u.item, nil
	}
	return r.loadKeys(b, why)
}

func (r *reader) loadKeys(b int, why access) (*block.Keys, error) {
	u := newUnit(&r.slots[b].keys, missReads)
	err := r.readKeys(b, func(p []byte) (err error) {
		if r.file != nil {
			u.bytes += int64(len(p))
		}
		u.item, err = block.ParseKeys(p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return settle(r.cache, u, why), nil
}

// flat returns the keys of block b in full.
func (r *reader) flat(b int, keys *block.Keys, why access) *block.Column {
	if u := r.slots[b].flat.Load(); u != nil {
		u.touch()
		return &u.item
	}
	u := newUnit(&r.slots[b].flat, missReads)
	u.item = keys.Expand()
	u.bytes += int64(u.item.IndexBytes() + u.item.DataBytes())
	return settle(r.cache, u, why)
}

// values returns the values of block b or, if each is encoded alone and they are not in memory
// decoded, the encoded values.
func (r *reader) values(
	b int, keys *block.Keys, why access,
) (*block.Column, *stored, error) {
	if u := r.slots[b].values.Load(); u != nil {
		u.touch()
		return &u.item, nil, nil
	}
	if u := r.slots[b].encoded.Load(); u != nil {
		u.touch()
		return nil, &u.item, nil
	}
	return r.loadValues(b, keys, why)
}

func (r *reader) loadValues(
	b int, keys *block.Keys, why access,
) (*block.Column, *stored, error) {
	var v block.Values
	err := r.readValues(b, func(p []byte) (err error) {
		v, err = block.ParseValues(p, keys.Len(), &r.cache.decompressor)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if v.Codec != block.Raw {
		r.slots[b].coded.Store(true)
	}
	if v.Codec == block.Pattern {
		u := newUnit(&r.slots[b].encoded, missReads)
		u.item.Encoded = v.Encoded
		u.bytes += int64(v.Encoded.IndexBytes())
		if r.file != nil {
			u.bytes += int64(v.Encoded.DataBytes())
		}
		return nil, settle(r.cache, u, why), nil
	}
	u := r.newValues(b, missReads)
	u.item = v.Plain
	u.bytes += int64(v.Plain.IndexBytes())
	if v.Codec == block.Zstd || r.file != nil {
		u.bytes += int64(v.Plain.DataBytes())
	}
	return settle(r.cache, u, why), nil, nil
}

func (r *reader) newValues(b int, miss missCost) *unit[block.Column] {
	u := newUnit(&r.slots[b].values, miss)
	u.evicted = &r.slots[b].evicted
	return u
}

// some is values for a read of n of them from value first on, which may make it worth reading or
// decoding all. The values returned start with value from.
func (r *reader) some(
	b int, keys *block.Keys, first, n int,
) (values *block.Column, from int, encoded *stored, err error) {
	if r.apart && n < keys.Len() && r.mayLieApart(b, first) {
		if values, err = r.readApart(b, keys, first, n); values != nil || err != nil {
			return values, first, nil, err
		}
	}
	values, encoded, err = r.values(b, keys, lookup)
	if encoded == nil {
		return values, 0, nil, err
	}
	if !r.cache.decodesBlock(encoded, encoded.weigh(first, n)) {
		return nil, 0, encoded, nil
	}
	values, err = r.decode(b, keys, encoded, lookup)
	return values, 0, nil, err
}

// decode returns all values of block b, decoded.
func (r *reader) decode(
	b int, keys *block.Keys, e *stored, why access,
) (*block.Column, error) {
	u := r.newValues(b, missDecodes)
	err := r.decoding(b, e, func(d *block.Dictionary) (err error) {
		u.item, err = e.Decode(d, keys.Kinds())
		return err
	})
	if err != nil {
		return nil, err
	}
	u.bytes += int64(u.item.IndexBytes() + u.item.DataBytes())
	return settle(r.cache, u, why), nil
}

// heads returns the first n bytes, or more, of all values of block b, decoded.
func (r *reader) heads(
	b int, keys *block.Keys, e *stored, n int, why access,
) (*block.Column, error) {
	if heads := r.cachedHeads(b, n); heads != nil {
		return heads, nil
	}
	u := newUnit(&r.slots[b].heads, missDecodes)
	err := r.decoding(b, e, func(d *block.Dictionary) (err error) {
		u.item, err = e.Heads(d, keys.Kinds(), n)
		return err
	})
	if err != nil {
		return nil, err
	}
	u.bytes += int64(u.item.IndexBytes() + u.item.DataBytes())
	if kept := settle(r.cache, u, why); kept.Bytes >= n {
		return &kept.Column, nil
	}
	return &u.item.Column, nil // another goroutine, which wants less, was faster
}

// head returns the first n bytes, or more, of the only value of block b, if that is large and
// compressed and not in memory as a whole; else nil.
func (r *reader) head(b int, keys *block.Keys, n int, why access) (*block.Column, error) {
	s := &r.slots[b]
	if keys.Len() != 1 || s.values.Load() != nil || s.encoded.Load() != nil {
		return nil, nil
	}
	if heads := r.cachedHeads(b, n); heads != nil {
		return heads, nil
	}
	u, ok := newUnit(&s.heads, missReads), false
	u.evicted = &s.evicted // n may be millions
	err := r.readValues(b, func(p []byte) error {
		u.item, ok = block.ParseHead(p, n, &r.cache.decompressor)
		return nil
	})
	if err != nil || !ok {
		return nil, err
	}
	u.bytes += int64(u.item.DataBytes())
	settle(r.cache, u, why)
	return &u.item.Column, nil
}

// cachedHeads returns the heads of block b if they have n bytes of each value. Otherwise it gives
// them up and returns nil.
func (r *reader) cachedHeads(b, n int) *block.Column {
	u := r.slots[b].heads.Load()
	if u == nil {
		return nil
	}
	if u.item.Bytes < n {
		r.cache.remove(u)
		return nil
	}
	u.touch()
	return &u.item.Column
}

// decoding calls decode with the dictionary of the values of block b. A fault becomes an error.
func (r *reader) decoding(b int, e *stored, decode func(*block.Dictionary) error) error {
	return r.check(r.index.places[b].values, func() error {
		d, err := r.dictionary(e.Dictionary)
		if err != nil {
			return err
		}
		return decode(d)
	})
}

func (r *reader) dictionary(number uint64) (*block.Dictionary, error) {
	for _, d := range r.dictionaries {
		if d.Number == number {
			return d, nil
		}
	}
	return nil, fmt.Errorf("dictionary %06d is not in the manifest", number)
}

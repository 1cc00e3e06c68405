package table

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// value completes an entry, of which the kind is known, with value i of block b.
func (r *reader) value(b, i int, keys *block.Keys, e *keyspace.Entry) error {
	values, encoded, err := r.contents(b, keys, sought)
	if encoded != nil && r.cache.worthDecoding(encoded, encoded.Length(i)) {
		values, err = r.decode(b, keys, encoded, sought)
	}
	switch {
	case err != nil:
		return err
	case values != nil:
		e.Value = values.At(i)
	default:
		encoded.Entry(i, e)
	}
	if r.inPlace && r.sampler.Due(uint64(b)<<16|uint64(i)) {
		r.sampler.Warm(e.Value)
	}
	return nil
}

// keys returns the key part of block b.
func (r *reader) keys(b int, why reason) (*block.Keys, error) {
	if u := r.slots[b].keys.Load(); u != nil {
		u.touch()
		return &u.item, nil
	}
	return r.loadKeys(b, why)
}

func (r *reader) loadKeys(b int, why reason) (*block.Keys, error) {
	from, to := r.index.places[b].keys, r.index.places[b+1].keys
	u := newUnit(&r.slots[b].keys, needed)
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
	return settle(r.cache, u, why), nil
}

// flat returns the keys of block b in full.
func (r *reader) flat(b int, keys *block.Keys, why reason) *block.Column {
	if u := r.slots[b].flat.Load(); u != nil {
		u.touch()
		return &u.item
	}
	u := newUnit(&r.slots[b].flat, needed)
	u.item = keys.Expand()
	u.bytes += int64(u.item.IndexBytes() + u.item.DataBytes())
	return settle(r.cache, u, why)
}

// contents returns the values of block b. If each is encoded alone, and they have not been decoded,
// it returns them as they are stored.
func (r *reader) contents(
	b int, keys *block.Keys, why reason,
) (*block.Column, *stored, error) {
	if u := r.slots[b].values.Load(); u != nil {
		u.touch()
		return &u.item, nil, nil
	}
	if u := r.slots[b].encoded.Load(); u != nil {
		u.touch()
		return nil, &u.item, nil
	}
	return r.loadContents(b, keys, why)
}

func (r *reader) loadContents(
	b int, keys *block.Keys, why reason,
) (*block.Column, *stored, error) {
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
		u := newUnit(&r.slots[b].encoded, needed)
		u.item.Encoded = v.Encoded
		u.bytes += int64(v.Encoded.IndexBytes())
		if r.file != nil {
			u.bytes += int64(v.Encoded.DataBytes())
		}
		return nil, settle(r.cache, u, why), nil
	}
	u := r.newValues(b, needed)
	u.item = v.Plain
	u.bytes += int64(v.Plain.IndexBytes())
	if v.Codec == block.Zstd || r.file != nil {
		u.bytes += int64(v.Plain.DataBytes())
	}
	return settle(r.cache, u, why), nil, nil
}

// newValues returns an empty unit for the values of block b.
func (r *reader) newValues(b int, class class) *unit[block.Column] {
	u := newUnit(&r.slots[b].values, class)
	u.evicted = &r.slots[b].evicted
	return u
}

// decode returns all values of block b, decoded.
func (r *reader) decode(
	b int, keys *block.Keys, e *stored, why reason,
) (*block.Column, error) {
	u := r.newValues(b, saving)
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
	u.bytes += int64(u.item.IndexBytes() + u.item.DataBytes())
	return settle(r.cache, u, why), nil
}

// heads returns the first n bytes, or more, of all values of block b, decoded.
func (r *reader) heads(
	b int, keys *block.Keys, e *stored, n int, why reason,
) (*block.Column, error) {
	home := &r.slots[b].heads
	if u := home.Load(); u != nil {
		if u.item.Bytes >= n {
			u.touch()
			return &u.item.Column, nil
		}
		r.cache.remove(u)
	}
	u := newUnit(home, saving)
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
	u.bytes += int64(u.item.IndexBytes() + u.item.DataBytes())
	if kept := settle(r.cache, u, why); kept.Bytes >= n {
		return &kept.Column, nil
	}
	return &u.item.Column, nil // somebody was faster who wants less
}

// head returns the first n bytes, or more, of the only value of block b, if that is large and
// compressed, and has not been decoded as a whole; else nil.
func (r *reader) head(b int, keys *block.Keys, n int, why reason) (*block.Column, error) {
	s := &r.slots[b]
	if keys.Len() != 1 || s.values.Load() != nil || s.encoded.Load() != nil {
		return nil, nil
	}
	if u := s.heads.Load(); u != nil {
		if u.item.Bytes >= n {
			u.touch()
			return &u.item.Column, nil
		}
		r.cache.remove(u)
	}
	from, to := r.index.places[b].values, r.index.places[b+1].values
	u, ok := newUnit(&s.heads, needed), false
	u.evicted = &s.evicted // n may be millions
	err := r.readPart(from, to, r.index.sums[b].values, func(p []byte) error {
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

// dictionary returns the dictionary with the given number.
func (r *reader) dictionary(number uint64) (*block.Dictionary, error) {
	for _, d := range r.dictionaries {
		if d.Number == number {
			return d, nil
		}
	}
	return nil, fmt.Errorf("dictionary %06d is not in the manifest", number)
}

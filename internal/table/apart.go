package table

import (
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/checksum"
)

// Values that are stored as they are can be read apart from the rest of their block, in a file that
// verifies what is read from it: what it returns is what was written there, so the checksum of the
// block would add nothing, and to verify that takes all of the block.

// mayLieApart reports whether it may be worth reading values of block b apart, from value first on:
// they are not in memory, and not known to be encoded, and it does not look as if reads came in
// order, from the end of the block before.
func (r *reader) mayLieApart(b, first int) bool {
	s, places := &r.slots[b], r.index.places[b:]
	if places[1].values-places[0].values < leastApart || s.values.Load() != nil || s.coded.Load() {
		return false
	}
	return first > 0 || b == 0 || r.slots[b-1].values.Load() == nil
}

// readApart returns n values of block b, from value first on, or nil if all values of the block
// should be read.
func (r *reader) readApart(b int, keys *block.Keys, first, n int) (*block.Column, error) {
	o, err := r.outline(b, keys)
	if o == nil || r.cache.takesBlock(&o.tally, o.ValueBytes(), o.weigh(first, n)) {
		return nil, err
	}
	var values block.Column
	start := r.index.places[b].values
	from, to := o.Place(first, n)
	err = r.read(start+uint64(from), start+uint64(to), func(p []byte) error {
		values = o.Part(p, first, n)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &values, nil
}

// outline returns where the values of block b lie, or nil if they must be decoded.
func (r *reader) outline(b int, keys *block.Keys) (*outline, error) {
	s, places := &r.slots[b], r.index.places[b:]
	if u := s.outline.Load(); u != nil {
		u.touch()
		return &u.item, nil
	}
	u, ok := newUnit(&s.outline, missReads), false
	start, end := places[0].values, places[1].values
	most := min(start+uint64(block.OutlineBytes(keys.Len())), end-checksum.Size)
	err := r.read(start, most, func(p []byte) (err error) {
		u.item.Outline, ok, err = block.ParseOutline(p, int(end-start), keys.Len())
		return err
	})
	if err != nil {
		return nil, err
	}
	if !ok {
		s.coded.Store(true)
		return nil, nil
	}
	u.bytes += int64(u.item.IndexBytes())
	return settle(r.cache, u, lookup), nil
}

package block

import "fmt"

// A part of a block is a few neighbouring entries, for readers that need no more of it.

// PartMax is how many entries a part of a block has at most.
const PartMax = 32

// Keys returns n keys of k in full, from key first on, at most [PartMax]. ok is false if they are
// too large for a Scratch.
func (s *Scratch) Keys(k *Keys, first, n int) (keys Column, ok bool) {
	total := n * k.fixedBytes()
	if k.variable {
		total = n*len(k.prefix) + k.start(first+n) - k.start(first)
	}
	if total > partBytes {
		return Column{}, false
	}
	if k.variable {
		keys = k.expandVariable(s.take(total), s.takeEnds(n+1), first)
	} else {
		keys = k.expandFixed(s.take(total), first, n)
	}
	s.keep(keys.data)
	return keys, true
}

// Values returns n values of e, decoded with d, from value first on, at most [PartMax]; kinds are
// those of the whole block. ok is false if they are too large for a Scratch.
func (s *Scratch) Values(
	e *Encoded, d *Dictionary, kinds []byte, first, n int,
) (values Column, ok bool, err error) {
	ends, total := s.takeEnds(n+1), uint64(0)
	for i := range n {
		total += e.lengths.at(first + i)
		ends[i+1] = uint32(total)
	}
	if total > partBytes {
		return Column{}, false, nil
	}
	data, err := e.decode(s.take(int(total)), d, kinds, first, n)
	if err != nil {
		return Column{}, false, err
	}
	s.keep(data)
	return Column{data: data, ends: ends}, true, nil
}

// decode appends n values, decoded, from value first on. dst must have room for them; more room is
// undefined afterwards.
func (e *Encoded) decode(
	dst []byte, d *Dictionary, kinds []byte, first, n int,
) ([]byte, error) {
	parsed, err := d.get()
	if err != nil {
		return nil, err
	}
	for i := first; i < first+n; i++ {
		value, size, from := e.At(i), int(e.lengths.at(i)), len(dst)
		if isEncoded(kinds, i) {
			if dst, err = parsed.Decode(dst, value); err != nil {
				return nil, err
			}
		} else if len(value) == size {
			dst = append(dst, value...)
		}
		if n := len(dst) - from; n != size {
			return nil, fmt.Errorf("value %d has %d bytes, want %d", i, n, size)
		}
	}
	return dst, nil
}

// Slice returns n strings, from string first on.
func (c *Column) Slice(first, n int) Column {
	if c.ends != nil {
		return Column{data: c.data, ends: c.ends[first : first+n+1]}
	}
	return Column{data: c.data[first*c.size : (first+n)*c.size], size: c.size}
}

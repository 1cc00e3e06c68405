package stoat

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Range is a range of keys in byte order; the zero value is all keys. A Range whose Start is not
// below its End holds none.
type Range struct {
	Start []byte // the first key that is included; empty: from the first key
	End   []byte // the first key that is not; empty: up to the last key
	// Reverse visits the same keys from the last one down.
	Reverse bool
	// Limit is the number of keys after which to stop; 0 or less: no limit.
	Limit int
}

// Prefix returns the range of all keys that begin with p. It does not keep p.
func Prefix(p []byte) Range {
	return Range{Start: bytes.Clone(p), End: keyspace.Successor(p)}
}

// bounds returns the range [lower, upper) of internal keys that r covers among those with the given
// prefix; ok is false if r is empty. The bounds lie in *buf, or in more memory that becomes it, and
// are valid until that is used again; neither has room in which the other would be overwritten.
func (r *Range) bounds(buf *[]byte, prefix []byte) (lower, upper []byte, ok bool) {
	if len(r.End) > 0 && bytes.Compare(r.Start, r.End) >= 0 {
		return nil, nil, false
	}
	p := slices.Grow((*buf)[:0], 2*len(prefix)+len(r.Start)+len(r.End))
	p = append(append(p, prefix...), r.Start...)
	lower = slices.Clip(p)
	if len(r.End) == 0 {
		*buf = p
		return lower, keyspace.Successor(prefix), true
	}
	p = append(append(p, prefix...), r.End...)
	*buf = p
	return lower, slices.Clip(p[len(lower):]), true
}

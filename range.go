package stoat

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Range is a range of keys in byte order; the zero value means all keys. A Range whose Start is not
// below its End is empty.
type Range struct {
	Start []byte // the first key, inclusive; empty: the first key of the bucket
	End   []byte // the last key, exclusive; empty: no upper bound
	// Reverse visits the keys in descending order.
	Reverse bool
	// Limit is the maximum number of keys to visit; 0 or less means no limit.
	Limit int
}

// Prefix returns the range of all keys that begin with p. It does not retain p.
func Prefix(p []byte) Range {
	return Range{Start: bytes.Clone(p), End: keyspace.Successor(p)}
}

// bounds returns the range [lower, upper) of internal keys that r covers among those with the given
// prefix, which must have a successor; ok is false if r is empty. The bounds share the memory of
// *buf, which bounds grows as needed, and are valid until it is next used; each has its capacity
// clipped, so appending to one cannot overwrite the other.
func (r *Range) bounds(buf *[]byte, prefix []byte) (lower, upper []byte, ok bool) {
	if len(r.End) > 0 && bytes.Compare(r.Start, r.End) >= 0 {
		return nil, nil, false
	}
	p := slices.Grow((*buf)[:0], 2*len(prefix)+len(r.Start)+len(r.End))
	p = append(append(p, prefix...), r.Start...)
	lower = slices.Clip(p)
	if len(r.End) == 0 {
		p = keyspace.AppendSuccessor(p, prefix)
	} else {
		p = append(append(p, prefix...), r.End...)
	}
	*buf = p
	return lower, slices.Clip(p[len(lower):]), true
}

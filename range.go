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
// prefix; ok is false if r is empty. The bounds lie in memory, which is appended to buf.
func (r *Range) bounds(buf, prefix []byte) (memory, lower, upper []byte, ok bool) {
	if len(r.End) > 0 && bytes.Compare(r.Start, r.End) >= 0 {
		return buf, nil, nil, false
	}
	buf = slices.Grow(buf, 2*len(prefix)+len(r.Start)+len(r.End))
	lower = append(append(buf, prefix...), r.Start...)
	if len(r.End) == 0 {
		return lower, lower, keyspace.Successor(prefix), true
	}
	buf = append(append(lower, prefix...), r.End...)
	return buf, lower, buf[len(lower):], true
}

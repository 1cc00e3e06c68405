package stoat

import (
	"bytes"

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
// prefix; ok is false if r is empty. The bounds are new slices.
func (r *Range) bounds(prefix []byte) (lower, upper []byte, ok bool) {
	if len(r.End) > 0 && bytes.Compare(r.Start, r.End) >= 0 {
		return nil, nil, false
	}
	lower = make([]byte, 0, len(prefix)+len(r.Start))
	lower = append(append(lower, prefix...), r.Start...)
	if len(r.End) == 0 {
		return lower, keyspace.Successor(prefix), true
	}
	upper = make([]byte, 0, len(prefix)+len(r.End))
	return lower, append(append(upper, prefix...), r.End...), true
}

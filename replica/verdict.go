package replica

import "github.com/stoatdb/stoat/replica/internal/entry"

// partSet is a set of parts of an entry, by index. An entry has at most 64 parts.
type partSet uint64

// has reports whether the set has a part.
func (p partSet) has(i int) bool { return p>>i&1 != 0 }

// verdict returns the parts of an entry that do not count, and the reason why. Merging and replay
// ask nothing else.
func (t *txn) verdict(h *head, seq uint64, e *entry.Entry) (void partSet, reason, err error) {
	return 0, nil, nil
}

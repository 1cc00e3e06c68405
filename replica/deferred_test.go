package replica

import (
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
)

// countStores counts how often the replica stores a record of its tasks.
func (p *peer) countStores() *int {
	n, attached := 0, p.space.opened("tasks").tap
	store := attached.Store
	attached.Store = func(tx *stoat.Tx, key, old, value []byte) error {
		n++
		return store(tx, key, old, value)
	}
	return &n
}

// Thousands of small entries of two logs that add to one set are merged into one state, which is
// stored once; and with little memory, into the same, which is stored more often.
func TestAttack23_manySmallEntries(t *testing.T) {
	const n = 400
	from := newPeer(t, nil)
	runs := append(edits(from, 1, n, "tags", adding(1)), edits(from, 77, n, "tags", adding(77))...)
	var peers []*peer
	for _, c := range []struct{ memory, least, most int }{
		{deferredMax, 1, 1}, {20_000, 2, n / 10}, {1, 2 * n, 2 * n},
	} {
		p := newPeer(t, from)
		p.space.deferredMax = c.memory
		stores := p.countStores()
		must(t, p.space.apply(runs))
		if tags := len(p.get(1).Tags); tags != 2*n || *stores < c.least || *stores > c.most {
			t.Errorf("with %d bytes, the record has %d tags and was stored %d times", c.memory, tags,
				*stores)
		}
		peers = append(peers, p)
	}
	agree(t, peers...)
	if !slices.Equal(peers[0].get(1).Tags, peers[2].get(1).Tags) {
		t.Error("the records differ")
	}
}

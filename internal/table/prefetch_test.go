package table

import (
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// mappedReader returns a reader of so many blocks with values of 16 KiB and small keys, as far as
// prefetching looks at it.
func mappedReader(blocks int) *reader {
	const values, keys = 16 << 10, 100
	r := &reader{mapped: true, slots: make([]slots, blocks), index: &index{}}
	for b := range uint64(blocks) + 1 {
		r.index.places = append(r.index.places,
			place{values: b * values, keys: uint64(blocks)*values + b*keys})
	}
	r.data = make([]byte, blocks*(values+keys))
	return r
}

func TestCursor_prefetchesMoreTheLongerItGoesOn(t *testing.T) {
	const blocks = 1000
	for _, d := range []keyspace.Direction{keyspace.Forward, keyspace.Reverse} {
		c := Cursor{reader: mappedReader(blocks), scope: &Scope{Read: ReadValues}}
		for i := range 500 {
			b, ahead := 100+i, 0
			if d == keyspace.Reverse {
				b = blocks - 1 - b
			}
			c.prefetch(b, d)
			if ahead = c.asked - b; d == keyspace.Reverse {
				ahead = -ahead
			}
			least := min(i+1, aheadBlocks)
			if most := aheadBlocks + min(16*(i+1), mostAsked>>14); ahead < least || ahead > most {
				t.Fatalf("%v: %d blocks are ahead of move %d, want %d to %d", d, ahead, i, least, most)
			}
		}
		for b := blocks - 50; b < blocks; b++ {
			c.prefetch(b, keyspace.Forward)
		}
		if c.asked != blocks-1 {
			t.Errorf("%v: block %d is prefetched last, want %d", d, c.asked, blocks-1)
		}
	}
}

func TestAround_isTheKeyPartsNearby(t *testing.T) {
	r := mappedReader(2000)
	first, last := r.index.places[0].keys, r.index.places[2000].keys
	for _, b := range []int{0, 1, 700, 1999} {
		from := r.index.places[b].keys
		p := r.around(from)
		start := last - uint64(cap(p)) // the data ends with the key parts
		end := start + uint64(len(p))
		if from < start || from >= end || start < first || end > last || len(p) > keysAround {
			t.Errorf("around the keys of block %d at %d is [%d, %d) of [%d, %d)", b, from, start, end,
				first, last)
		}
	}
	if p := r.around(r.index.places[5].values); p != nil {
		t.Errorf("%d bytes around values", len(p))
	}
	if p := r.around(last); p != nil {
		t.Errorf("%d bytes around the filter", len(p))
	}
	for b := range r.index.places { // as large as the values
		r.index.places[b].keys = first + r.index.places[b].values
	}
	if p := r.around(first); p != nil {
		t.Errorf("%d bytes around large keys", len(p))
	}
}

package rights

import (
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/tuple"
)

// areas returns random areas, in an order of its own.
func areas(rng *rand.Rand, devices [][32]byte) (all []entry.Area) {
	for range rng.IntN(3) {
		a := entry.Area{Collection: []string{"", "a", "b"}[rng.IntN(3)], OwnOnly: rng.IntN(3) == 0,
			NoDelete: rng.IntN(3) == 0}
		if rng.IntN(2) == 0 {
			a.Prefix = keyFor(rng, devices)[:1+rng.IntN(3)]
		}
		switch rng.IntN(6) {
		case 0:
			a.Prefix = keyFor(rng, devices)
		case 1:
			a.Fields = []string{"x"}
		case 2:
			a.Fields = []string{"x", "y"}
		}
		all = append(all, a)
	}
	return all
}

// keyFor returns a key that may belong to a device.
func keyFor(rng *rand.Rand, devices [][32]byte) []byte {
	var key []byte
	if rng.IntN(2) == 0 {
		key = tuple.AppendInt(key, int64(rng.IntN(2)))
	}
	if d := devices[rng.IntN(len(devices))]; rng.IntN(2) == 0 {
		key = own(key, &d)[rng.IntN(2)]
	}
	return tuple.AppendInt(key, int64(rng.IntN(3)))
}

// permits reports whether areas permit a change of a collection.
func permits(all []entry.Area, collection string, device *[32]byte, c *entry.Changes) bool {
	if len(all) == 0 {
		return true
	}
	var here []*entry.Area
	for i := range all {
		if all[i].Collection == "" || all[i].Collection == collection {
			here = append(here, &all[i])
		}
	}
	return len(here) > 0 && covers(here, device, c) == nil
}

// What lies within a parent permits nobody anything that the parent does not permit its holder, or
// that it does not permit every device among its own records.
func TestWithin_neverExceedsTheParent(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	devices := [][32]byte{{1}, {2, 0xFF}, {3}}
	holder := devices[0]
	inside := 0
	for range 200_000 {
		parent, child := areas(rng, devices), areas(rng, devices)
		if !within(child, parent, &holder) {
			continue
		}
		inside++
		for range 8 {
			c := &entry.Changes{Fields: []string{"x", "y"},
				Records: []entry.Record{{Key: keyFor(rng, devices)}}}
			if r := &c.Records[0]; rng.IntN(3) == 0 {
				r.Delete = true
			} else {
				r.Ops = []entry.Op{{Field: rng.IntN(2)}}
			}
			by, in := devices[rng.IntN(3)], []string{"a", "b", "c"}[rng.IntN(3)]
			if permits(child, in, &by, c) && !permits(parent, in, &holder, c) &&
				!permits(parent, in, &by, c) {
				t.Fatalf("seed %d: %+v lies within %+v, and permits %+v in %s", seed, child, parent,
					c.Records[0], in)
			}
		}
	}
	if inside < 10_000 {
		t.Errorf("only %d lie within", inside)
	}
}

package merge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/tuple"
)

// someSeen is an order in which an entry has seen its own log and half of what others wrote.
type someSeen struct{ at Stamp }

func (someSeen) ID(log uint32) entry.Hash { return entry.Hash{byte(log)} }

func (o someSeen) Seen(s Stamp) bool { return s.Log == o.at.Log || (s.Seq^o.at.Seq)%2 == 0 }

// randomItems returns a change of a set or a map of up to 60 items.
func randomItems(rng *rand.Rand) entry.Record {
	kind := entry.OpElements + entry.OpKind(rng.IntN(2))
	items := func(most int) (all []entry.Item) {
		for range rng.IntN(most) {
			item := entry.Item{Key: tuple.AppendInt(nil, rng.Int64N(60))}
			if kind == entry.OpEntries {
				item.Value = tuple.AppendInt(nil, rng.Int64N(3))
			}
			all = append(all, item)
		}
		byKey := func(a, b entry.Item) int { return bytes.Compare(a.Key, b.Key) }
		slices.SortFunc(all, byKey)
		return slices.CompactFunc(all, func(a, b entry.Item) bool { return byKey(a, b) == 0 })
	}
	op := entry.Op{Kind: kind, Added: items(20), Removed: items(15)}
	op.Removed = slices.DeleteFunc(op.Removed, func(r entry.Item) bool {
		return slices.ContainsFunc(op.Added, func(a entry.Item) bool { return bytes.Equal(a.Key, r.Key) })
	})
	return entry.Record{Ops: []entry.Op{op}}
}

// Many changes merged together leave the state that they leave one by one.
func TestBegin_changesNoResult(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		single, many := &Record{}, &Record{}
		for i := range 60 {
			at := Stamp{hlc.Time(i + 1), uint32(rng.IntN(3)), uint64(i)}
			if rng.IntN(10) == 0 {
				many.End()
				if fmt.Sprint(many) != fmt.Sprint(single) {
					t.Fatalf("seed %d: after %d changes, the state is %v and not %v", seed, i, many, single)
				}
				many.Begin()
			}
			change := randomItems(rng)
			if rng.IntN(40) == 0 {
				change = entry.Record{Delete: true}
			}
			single.Apply(&change, []string{"f"}, at, someSeen{at})
			many.Apply(&change, []string{"f"}, at, someSeen{at})
		}
		many.End()
		if fmt.Sprint(many) != fmt.Sprint(single) {
			t.Fatalf("seed %d: the state is %v and not %v", seed, many, single)
		}
	}
}

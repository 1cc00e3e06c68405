package replica

import (
	"crypto/ed25519"
	"encoding/binary"
	"flag"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/tuple"
)

// hotEntries is how many entries change the record of BenchmarkApply_oneRecord.
var hotEntries = flag.Int("hot", 8000, "entries of BenchmarkApply_oneRecord")

// edits returns the runs of a log that changes one record many times.
func edits(p *peer, device byte, n int, field string, op func(i int) entry.Op) (all []*run) {
	f := &forger{key: ed25519.NewKeyFromSeed(append([]byte{device}, make([]byte, 31)...)),
		space: p.space.id, run: &run{}}
	g := entry.Genesis{Device: [32]byte(f.key[32:])}
	f.add(g.Entry(hlc.At(noon)))
	for i := range n {
		if len(f.run.entries) == runEntries {
			all = append(all, f.run)
			f.run = &run{log: f.log, first: f.seq}
		}
		e := edit(0, []string{field}, op(i))
		e.Time += hlc.Time(i + 1)
		f.add(e)
	}
	return append(all, f.run)
}

// adding returns the operation that adds an element of its own to a set.
func adding(device byte) func(i int) entry.Op {
	return func(i int) entry.Op {
		key := binary.BigEndian.AppendUint32([]byte{device}, uint32(i)*0x9e3779b1)
		item := entry.Item{Key: tuple.AppendString(nil, fmt.Sprintf("%x", key))}
		return entry.Op{Kind: entry.OpElements, Added: []entry.Item{item}}
	}
}

// BenchmarkApply_oneRecord is what it takes to merge many small entries that change one record, in
// one transaction.
func BenchmarkApply_oneRecord(b *testing.B) {
	counting := func(int) entry.Op { return entry.Op{Kind: entry.OpSum, Delta: 1} }
	from := newPeer(b, nil)
	for _, shape := range []struct {
		name string
		runs []*run
	}{
		{"sum", edits(from, 1, *hotEntries, "votes", counting)},
		{"set", edits(from, 1, *hotEntries, "tags", adding(1))},
		{"sets of two", append(edits(from, 1, *hotEntries, "tags", adding(1)),
			edits(from, 77, *hotEntries, "tags", adding(77))...)},
	} {
		b.Run(shape.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				to := newPeer(b, from)
				to.space.deferredMax = deferredMax
				b.StartTimer()
				if err := to.space.apply(shape.runs); err != nil {
					b.Fatal(err)
				}
				if v := to.get(1); v == nil || v.Votes == 0 && len(v.Tags) < *hotEntries {
					b.Fatalf("it shows %+v", v)
				}
			}
		})
	}
}

// BenchmarkCommit_largeSet is what it takes to add an element to a set that has many.
func BenchmarkCommit_largeSet(b *testing.B) {
	for _, n := range []int{100, 1000, 8000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newPeer(b, nil)
			if err := p.space.apply(edits(p, 77, n, "tags", adding(77))); err != nil {
				b.Fatal(err)
			}
			i := 0
			for b.Loop() {
				i++
				p.update(func(tx *stoat.Tx) error {
					return p.tasks.Update(tx, int64(1), func(v *task) error {
						v.Tags[i%n] += "."
						return nil
					})
				})
			}
		})
	}
}

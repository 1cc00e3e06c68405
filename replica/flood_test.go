package replica

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/tuple"
)

// edit returns an entry that edits the task with the key 1, some milliseconds after noon.
func edit(ms int, fields []string, ops ...entry.Op) *entry.Entry {
	changes := entry.Changes{Fields: fields,
		Records: []entry.Record{{Key: tuple.AppendInt(nil, 1), Ops: ops}}}
	return &entry.Entry{Time: hlc.At(noon.Add(time.Duration(ms) * time.Millisecond)),
		Kind: entry.KindData, Parts: []entry.Part{{Group: "tasks", Data: changes.Append(nil)}}}
}

// An entry as large as a space allows is merged in time that grows with its size, not with its
// square, which would be hours.
func TestApply_costFollowsTheSizeOfEntries(t *testing.T) {
	const n = 80_000
	t.Run("fields", func(t *testing.T) {
		var high, low []string
		var ops []entry.Op
		for i := range n {
			name := binary.BigEndian.AppendUint32(nil, uint32(i))
			low, high = append(low, "x"+string(name)), append(high, "y"+string(name))
			ops = append(ops, entry.Op{Field: i, Kind: entry.OpSum, Delta: 1})
		}
		p := newPeer(t, nil)
		f := newForger(p)
		f.add(edit(1, high, ops...))
		first := f.begin()
		f.add(edit(2, low, ops...))
		if err := p.space.apply([]*run{first, f.run}); err != nil {
			t.Error(err)
		}
	})
	t.Run("elements", func(t *testing.T) {
		var high, low []entry.Item
		for i := range 2 * n {
			low = append(low, entry.Item{Key: tuple.AppendInt(nil, int64(i))})
			high = append(high, entry.Item{Key: tuple.AppendInt(nil, int64(i+2*n))})
		}
		p := newPeer(t, nil)
		f := newForger(p)
		var runs []*run
		for i, op := range []entry.Op{{Added: high}, {Added: low}, {Removed: low}} {
			op.Kind = entry.OpElements
			f.add(edit(i+1, []string{"x"}, op))
			runs = append(runs, f.begin())
		}
		if err := p.space.apply(runs); err != nil {
			t.Error(err)
		}
	})
}

// A replica that knows any number of logs can still exchange entries.
func TestSync_ofManyLogs(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	var runs []*run
	for i := range 5000 {
		f := newForger(a)
		g := entry.Genesis{Device: [32]byte(f.key[32:]), Incarnation: [16]byte{1, byte(i), byte(i >> 8)}}
		f.seq, f.prev, f.log, f.run = 0, entry.Hash{}, entry.Hash{}, &run{}
		f.add(g.Entry(hlc.At(noon)))
		runs = append(runs, f.run)
	}
	if err := a.space.apply(runs); err != nil {
		t.Fatal(err)
	}
	a.put(task{ID: 1})
	meet(t, a, b)
	meet(t, b, a)
	agree(t, a, b)
	if b.get(1) == nil {
		t.Error("the record did not arrive")
	}
}

// Replicas that have different branches of a log find out, however long these are, and both cut it
// where the branches part.
func TestSync_findsForks(t *testing.T) {
	for name, more := range map[string]int{
		"shorter": 1, "as long": 2, "longer": 3, "much longer": 600,
	} {
		t.Run(name, func(t *testing.T) {
			a := newPeer(t, nil)
			b := newPeer(t, a)
			f := newForger(a)
			f.add(data(1, "a"))
			branch := *f
			branch.run = &run{log: f.log, first: f.seq}
			for i := range 2 {
				f.add(data(2+i, "here"))
			}
			if err := a.space.apply([]*run{f.run}); err != nil {
				t.Fatal(err)
			}
			first := &run{log: f.log, entries: f.run.entries[:2]}
			hash := branch.prev
			first.seal = [64]byte(ed25519.Sign(f.key,
				entry.AppendSealed(nil, &f.space, &f.log, 1, &hash)))
			runs := []*run{first}
			for i := range more {
				branch.add(data(2+i, "there"))
				if len(branch.run.entries) == runEntries || i == more-1 {
					runs = append(runs, branch.run)
					branch.run = &run{log: f.log, first: branch.seq}
				}
			}
			if err := b.space.apply(runs); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				meet(t, a, b)
			}
			agree(t, a, b)
			if here, there := a.cutOf(f.log), b.cutOf(f.log); here != 2 || there != 2 {
				t.Errorf("the log is cut at %d here, and at %d there", here, there)
			}
			if got := a.get(1); got == nil || got.Title != "a" {
				t.Errorf("the record is %+v", got)
			}
		})
	}
}

// Logs whose entries follow each other in the order opposite to that in which logs are merged are
// merged at once all the same, one step each.
func TestApply_followsLongChainsOfLogs(t *testing.T) {
	p := newPeer(t, nil)
	var forgers []*forger
	for i := range 6000 {
		f := newForger(p)
		g := entry.Genesis{Device: [32]byte(f.key[32:]), Incarnation: [16]byte{1, byte(i), byte(i >> 8)}}
		f.seq, f.prev, f.log, f.run = 0, entry.Hash{}, entry.Hash{}, &run{}
		f.add(g.Entry(hlc.At(noon)))
		forgers = append(forgers, f)
	}
	slices.SortFunc(forgers, func(a, b *forger) int { return bytes.Compare(b.log[:], a.log[:]) })
	var runs []*run
	for i, f := range forgers {
		e := &entry.Entry{Time: hlc.At(noon) + hlc.Time(i+1), Kind: entry.KindContext}
		before := forgers[max(i, 1)-1]
		if i == 0 {
			e.Kind, e.Parts = entry.KindData, data(1, "a").Parts
		} else {
			e.Context = []entry.Head{{Log: before.log, Seq: 1}}
			e.Digest = entry.ContextDigest([]entry.Hash{before.prev})
		}
		f.add(e)
		runs = append(runs, f.run)
	}
	if err := p.space.apply(runs); err != nil || len(p.waiting()) > 0 {
		t.Errorf("%v; %d wait", err, len(p.waiting()))
	}
}

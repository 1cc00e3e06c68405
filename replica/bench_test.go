package replica

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// item is a record of some 200 bytes with two indexes.
type item struct {
	ID     int64  `stoat:"id,key"`
	Owner  string `stoat:"owner,index"`
	Status int32  `stoat:"status,index"`
	Title  string `stoat:"title"`
	Text   string `stoat:"text"`
	Count  int64  `stoat:"count"`
	Done   bool   `stoat:"done"`
}

func newItem(i int64) *item {
	return &item{i, fmt.Sprintf("owner %d", i%100), int32(i % 10), fmt.Sprintf("Title of item %d", i),
		fmt.Sprintf("%0140d", i*7919), i, i%2 == 0}
}

// items returns a collection of items, plain or replicated, on disk without syncs.
func items(b *testing.B, replicated bool) (*peer, *record.Collection[item]) {
	b.Helper()
	db, err := stoat.Open(b.TempDir(), &stoat.Options{Sync: stoat.SyncNever})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	p := &peer{t: b, db: db, now: noon, seed: [32]byte{3}}
	var c *record.Collection[item]
	if replicated {
		if p.space, err = Create(db, "team", p.options()); err == nil {
			c, err = Collection[item](p.space, "items", nil)
		}
	} else {
		c, err = record.Open[item](db, "items", nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	return p, c
}

func BenchmarkCommit(b *testing.B) {
	for _, replicated := range []bool{false, true} {
		for _, batch := range []int64{1, 1000} {
			b.Run(fmt.Sprintf("replicated=%t/records=%d", replicated, batch), func(b *testing.B) {
				p, c := items(b, replicated)
				b.ReportAllocs()
				next := int64(0)
				for b.Loop() {
					p.update(func(tx *stoat.Tx) error {
						for range batch {
							next++
							if err := c.Put(tx, newItem(next)); err != nil {
								return err
							}
						}
						return nil
					})
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(next), "ns/record")
			})
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, replicated := range []bool{false, true} {
		b.Run(fmt.Sprintf("replicated=%t", replicated), func(b *testing.B) {
			p, c := items(b, replicated)
			p.update(func(tx *stoat.Tx) error {
				for i := range int64(1000) {
					if err := c.Put(tx, newItem(i)); err != nil {
						return err
					}
				}
				return nil
			})
			n := int64(0)
			for b.Loop() {
				n++
				p.update(func(tx *stoat.Tx) error {
					return c.Update(tx, n%1000, func(v *item) error { v.Count += n; return nil })
				})
			}
		})
	}
}

// written returns a replica that wrote n entries of one record each, and their runs.
func written(b *testing.B, n int64) (*peer, []*run) {
	b.Helper()
	p, c := items(b, true)
	for i := range n {
		p.update(func(tx *stoat.Tx) error { return c.Put(tx, newItem(i)) })
	}
	if err := p.space.Seal(); err != nil {
		b.Fatal(err)
	}
	var runs []*run
	err := p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		h, err := t.ownHead()
		for seq := uint64(0); err == nil && seq < h.sealed; {
			var r *run
			if r, err = t.runFrom(h, seq); err == nil {
				runs, seq = append(runs, r), r.end()
			}
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return p, runs
}

func BenchmarkVerify(b *testing.B) {
	p, runs := written(b, 20_000)
	n := 0
	for b.Loop() {
		a := &incoming{space: p.space}
		err := p.db.View(func(tx *stoat.Tx) error {
			a.verify(tx, runs)
			return a.failed
		})
		if err != nil || len(a.refused) > 0 {
			b.Fatal(err, a.refused)
		}
		n += 20_001
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
}

func BenchmarkApply(b *testing.B) {
	const n = 20_000
	from, runs := written(b, n)
	entries := 0
	for b.Loop() {
		b.StopTimer()
		db, err := stoat.Open(b.TempDir(), &stoat.Options{Sync: stoat.SyncNever})
		if err != nil {
			b.Fatal(err)
		}
		to := &peer{t: b, db: db, now: noon, seed: [32]byte{4}}
		if to.space, err = Join(db, "team", from.space.ID(), to.options()); err != nil {
			b.Fatal(err)
		}
		if err := to.space.describe(from.described()); err != nil {
			b.Fatal(err)
		}
		c, err := Collection[item](to.space, "items", nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := to.space.apply(runs); err != nil {
			b.Fatal(err)
		}
		entries += n + 1
		b.StopTimer()
		err = db.View(func(tx *stoat.Tx) error {
			count, err := c.Count(tx)
			if err == nil && count != n {
				err = fmt.Errorf("%d records instead of %d", count, n)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(entries)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkSidecar reports what is stored for a record beside it, and for an entry.
func BenchmarkSidecar(b *testing.B) {
	for b.Loop() {
		const n = 2000
		p, _ := written(b, n)
		states, entries, changes := 0, 0, 0
		err := p.db.View(func(tx *stoat.Tx) error {
			t, err := p.space.in(tx)
			if err != nil {
				return err
			}
			for _, value := range t.states.Scan(stoat.Range{}) {
				states += len(value)
			}
			for _, value := range t.entries.Scan(stoat.Range{}) {
				entries += len(value)
			}
			return tx.Err()
		})
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range factsOf(p) {
			for _, part := range f.Entry.Parts {
				changes += len(part.Data)
			}
		}
		b.ReportMetric(float64(states)/n, "state-B/record")
		b.ReportMetric(float64(entries-changes)/n, "B/entry")
		b.ReportMetric(float64(changes)/n, "changes-B/entry")
	}
}

// BenchmarkPast reports what it takes to append an entry with a context, and to look for an entry
// that the last one of all has not seen, in a transaction of its own and in one that has looked
// before.
func BenchmarkPast(b *testing.B) {
	for _, shape := range shapes {
		logs := shape.logs
		if shape.name == "chain" {
			logs = 10_000
		}
		b.Run(shape.name, func(b *testing.B) {
			w := newWeave(b, rand.New(rand.NewPCG(1, 0)), logs)
			var last spot
			w.in(func(n *txn) (err error) {
				last, err = w.build(n, shape.build)
				return err
			})
			entries := 0
			for _, s := range w.logs {
				entries += len(s.times)
			}
			unseen := w.logs[logs-1]
			seek := func(n *txn) {
				p, err := n.pastOf(last)
				if err == nil {
					_, err = p.has(spot{unseen.number, 0}, unseen.times[0])
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			var append, cold, warm time.Duration
			for b.Loop() {
				b.StopTimer()
				w := newWeave(b, rand.New(rand.NewPCG(1, 0)), logs)
				b.StartTimer()
				start := time.Now()
				w.in(func(n *txn) error { _, err := w.build(n, shape.build); return err })
				append += time.Since(start)
			}
			for range 20 {
				w.in(func(n *txn) error {
					start := time.Now()
					seek(n)
					cold += time.Since(start)
					start = time.Now()
					seek(n)
					warm += time.Since(start)
					return nil
				})
			}
			b.ReportMetric(float64(append.Nanoseconds())/float64(b.N*entries), "append-ns/entry")
			b.ReportMetric(float64(cold.Microseconds())/20, "cold-µs")
			b.ReportMetric(float64(warm.Microseconds())/20, "warm-µs")
		})
	}
}

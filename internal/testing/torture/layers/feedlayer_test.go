package layers

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
	"github.com/stoatdb/stoat/internal/testing/tuned"
)

// feedWorkloads returns the workloads of package feed: all sizes, with and without syncs. Consumers
// alternate with writes, or run beside them where commits are fast.
func feedWorkloads() []workload[*feedModel] {
	var all []workload[*feedModel]
	for i, tuning := range tuned.Sizes() {
		for _, sync := range []stoat.SyncMode{stoat.SyncAlways, stoat.SyncNever} {
			keep, base := []int64{40, 0}[i%2], 0
			if i%3 == 2 {
				base = 1<<16 - 30 // sublogs reach a second chunk
			}
			w := workload[*feedModel]{
				name:    fmt.Sprintf("feeds-%d", i),
				options: stoat.Options{Sync: sync, ValueThreshold: []int{64, 0}[i%2]},
				tuning:  tuning, steps: 40, empty: newFeedModel(), find: findFeed,
			}
			if w.parallel = i == 1 || i == 4; w.parallel {
				w.name += "-parallel"
				w.empty.beside = true
			}
			if sync == stoat.SyncNever {
				w.name += "-unsynced"
			}
			w.layer = func() layer[*feedModel] {
				return &feedLayer{keep: keep, base: base, parallel: w.parallel}
			}
			all = append(all, w)
		}
	}
	return all
}

// feedLayer runs a feed.
type feedLayer struct {
	keep     int64 // entries that retention keeps; 0 for all
	base     int   // number of the first entry
	parallel bool  // consumers run in goroutines

	f      anyFeed
	stop   context.CancelFunc // ends the loops since the last open
	loops  sync.WaitGroup
	failed chan error // why a consumer's goroutine ended
	live   liveLoop
}

// begin implements layer: it opens the feed with a random schema.
func (g *feedLayer) begin(r *runner[*feedModel]) error {
	var ctx context.Context
	ctx, g.stop = context.WithCancel(context.Background())
	g.failed = make(chan error, len(consumerNames()))
	if r.line.Newest().schema == neverOpened && g.base > 0 {
		if err := g.start(r); err != nil {
			return err
		}
	}
	schema := r.rng.IntN(feedCount)
	next := r.line.Newest().clone()
	next.opened(schema)
	err := r.change(next, func() (err error) {
		g.f, err = openFeed(r.db, schema, g.keep)
		return err
	})
	if err != nil {
		return fmt.Errorf("open in schema %d: %w", schema, err)
	}
	g.live.start(ctx, &g.loops, r.db, g.f)
	if !g.parallel {
		return nil
	}
	for i, name := range consumerNames() {
		if err := g.place(r, name); err != nil {
			return err
		}
		c := &consumer{g: g, r: r, name: name, rng: randFor(fmt.Sprint(r.name, r.rng.Uint64(), i))}
		g.loops.Go(func() { g.failed <- c.beside(ctx) })
	}
	return nil
}

// start creates an empty feed whose first number is high, as if lower entries had been removed.
func (g *feedLayer) start(r *runner[*feedModel]) error {
	next := r.line.Newest().clone()
	next.opened(feedPlain)
	err := r.change(next, func() error {
		_, err := feed.Open[oldPost](r.db, feedName, nil)
		return err
	})
	if err != nil {
		return err
	}
	next = next.clone()
	next.base, next.first = g.base, g.base
	return r.change(next, func() error {
		return r.db.Update(func(tx *stoat.Tx) error {
			b, err := tx.Bucket([]byte(feedName))
			if err != nil {
				return err
			}
			empty, err := b.Get([]byte("state"))
			if err != nil {
				return err
			}
			state := []byte{1}
			for _, n := range []int{g.base, g.base, 0, 0, g.base, 0} {
				state = binary.AppendUvarint(state, uint64(n))
			}
			return b.Put([]byte("state"), append(state, empty[len(empty)-8:]...))
		})
	})
}

// place stores the cursor of a new consumer.
func (g *feedLayer) place(r *runner[*feedModel], name string) error {
	if _, ok := r.line.Newest().cursors[name]; ok {
		return nil
	}
	return g.move(r, name)
}

// move sets a consumer's cursor to the oldest entry.
func (g *feedLayer) move(r *runner[*feedModel], name string) error {
	return g.update(r, func(tx *stoat.Tx, next *feedModel) error {
		next.cursors[name] = next.first
		return g.f.SetCursor(tx, name, uint64(next.first))
	})
}

// end implements layer.
func (g *feedLayer) end(r *runner[*feedModel], complete bool) error {
	var err error
	if complete && !g.parallel {
		err = g.live.reaches(r.line.Newest())
	}
	g.stop()
	g.loops.Wait()
	close(g.failed)
	for failed := range g.failed {
		err = errors.Join(err, failed)
	}
	return errors.Join(err, g.live.failed())
}

// told implements layer.
func (g *feedLayer) told() claim[*feedModel] { return g.live.claim() }

// step implements layer: a transaction of a few writes, or a consumer's turn.
func (g *feedLayer) step(r *runner[*feedModel]) error {
	if !g.parallel && r.rng.IntN(3) == 0 {
		names := consumerNames()
		c := &consumer{g: g, r: r, name: names[r.rng.IntN(len(names))], rng: r.rng}
		return c.turn()
	}
	abort := r.rng.IntN(5) == 0
	return g.update(r, func(tx *stoat.Tx, next *feedModel) error {
		for range 1 + r.rng.IntN(4) {
			if err := g.write(r, tx, next); err != nil {
				return err
			}
		}
		if abort {
			return errAbort
		}
		return nil
	})
}

// update is runner.update for transactions after which retention may remove entries.
func (g *feedLayer) update(
	r *runner[*feedModel], fn func(tx *stoat.Tx, next *feedModel) error,
) error {
	return r.update(func(tx *stoat.Tx, next *feedModel) error {
		if err := fn(tx, next); err != nil {
			return err
		}
		// It runs after the feed's own hook, which applies retention.
		return tx.BeforeCommit(func() error { return g.retained(tx, next) })
	})
}

// retained removes from the model what retention removed, which must be the right amount.
func (g *feedLayer) retained(tx *stoat.Tx, next *feedModel) error {
	first, err := g.f.First(tx)
	if err != nil {
		return err
	}
	kept := int64(next.next()) - int64(first)
	if moved := int(first) - next.first; moved < 0 || moved > 0 && kept != g.keep {
		return fmt.Errorf("retention of %d entries keeps %d", g.keep, kept)
	}
	if g.keep > 0 && kept > g.keep+g.keep/8+1 {
		return fmt.Errorf("retention of %d entries leaves %d", g.keep, kept)
	}
	next.first = int(first)
	return nil
}

// write makes one random change to the feed and the model.
func (g *feedLayer) write(r *runner[*feedModel], tx *stoat.Tx, next *feedModel) error {
	switch n := r.rng.IntN(20); {
	case n < 12:
		return g.append(r, tx, next)
	case n < 17:
		return g.redact(r, tx, next)
	case n < 19:
		if kept := next.next() - next.first; kept > 0 {
			keep := 1 + r.rng.IntN(kept)
			next.first = next.next() - keep
			return g.f.Retain(tx, feed.Retention{Count: int64(keep)})
		}
	case next.schema == feedPlain && r.rng.IntN(2) == 0:
		next.dropTags()
		return g.f.DropSublog(tx, "tag")
	}
	return nil
}

func (g *feedLayer) append(r *runner[*feedModel], tx *stoat.Tx, next *feedModel) error {
	n, author := 1+r.rng.IntN(4), ""
	if g.keep == 0 && r.rng.IntN(25) == 0 {
		n, author = 150, "bob" // more than a short list holds
	}
	for range n {
		m := randomPost(r.rng)
		m.Author = cmp.Or(author, m.Author)
		seq, err := g.f.add(tx, m)
		if err != nil {
			return err
		}
		if seq != uint64(next.next()) {
			return fmt.Errorf("entry %d is appended as %d", next.next(), seq)
		}
		next.append(m)
	}
	return nil
}

func (g *feedLayer) redact(r *runner[*feedModel], tx *stoat.Tx, next *feedModel) error {
	seq := max(next.base, next.next()-r.rng.IntN(20))
	var want error
	switch {
	case seq == next.next():
		want = stoat.ErrNotFound
	case seq < next.first:
		want = feed.ErrExpired
	default:
		next.at(seq).redacted = true
	}
	err := g.f.Redact(tx, uint64(seq))
	if want == nil || errors.Is(err, want) {
		if want != nil {
			err = nil
		}
		return err
	}
	return errors.Join(fmt.Errorf("entry %d is redacted, want the error %v", seq, want), err)
}

// consumerNames returns the names of the consumers.
func consumerNames() []string { return []string{"counts", "copies"} }

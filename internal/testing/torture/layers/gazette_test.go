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

// gazettes returns the workloads of package feed: all sizes, with syncs and without. Consumers take
// turns with what is appended; where a commit is fast they also run beside it.
func gazettes() []workload[*journal] {
	var all []workload[*journal]
	for i, tuning := range tuned.Sizes() {
		for _, sync := range []stoat.SyncMode{stoat.SyncAlways, stoat.SyncNever} {
			keep, base := []int64{40, 0}[i%2], 0
			if i%3 == 2 {
				base = 1<<16 - 30 // sublogs come to another chunk
			}
			w := workload[*journal]{
				name:    fmt.Sprintf("feeds-%d", i),
				options: stoat.Options{Sync: sync, ValueThreshold: []int{64, 0}[i%2]},
				tuning:  tuning, steps: 40, empty: newJournal(), find: findJournal,
			}
			if w.parallel = i == 1 || i == 4; w.parallel {
				w.name += "-parallel"
				w.empty.beside = true
			}
			if sync == stoat.SyncNever {
				w.name += "-unsynced"
			}
			w.layer = func() layer[*journal] {
				return &gazette{keep: keep, base: base, parallel: w.parallel}
			}
			all = append(all, w)
		}
	}
	return all
}

// gazette is how a runner uses a feed.
type gazette struct {
	keep     int64 // entries that retention keeps; 0 for all
	base     int   // the number of the first entry
	parallel bool  // consumers run beside

	f         channel
	stop      context.CancelFunc // of the loops of this opening
	loops     sync.WaitGroup
	failed    chan error // why a consumer beside has ended
	followers follower
}

// begin implements layer: it opens the feed in any form.
func (g *gazette) begin(r *runner[*journal]) error {
	var ctx context.Context
	ctx, g.stop = context.WithCancel(context.Background())
	g.failed = make(chan error, len(consumers()))
	if r.line.Newest().form == unmade && g.base > 0 {
		if err := g.start(r); err != nil {
			return err
		}
	}
	form := r.rng.IntN(feedCount)
	next := r.line.Newest().clone()
	next.opened(form)
	err := r.change(next, func() (err error) {
		g.f, err = openChannel(r.db, form, g.keep)
		return err
	})
	if err != nil {
		return fmt.Errorf("open in form %d: %w", form, err)
	}
	g.followers.start(ctx, &g.loops, r.db, g.f)
	if !g.parallel {
		return nil
	}
	for i, name := range consumers() {
		if err := g.place(r, name); err != nil {
			return err
		}
		c := &consumption{g: g, r: r, name: name, rng: dice(fmt.Sprint(r.name, r.rng.Uint64(), i))}
		g.loops.Go(func() { g.failed <- c.beside(ctx) })
	}
	return nil
}

// start makes an empty feed whose first entry has a high number, as if those below were removed.
func (g *gazette) start(r *runner[*journal]) error {
	next := r.line.Newest().clone()
	next.opened(feedPlain)
	err := r.change(next, func() error {
		_, err := feed.Open[post](r.db, feedName, nil)
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

// place stores where a new consumer starts.
func (g *gazette) place(r *runner[*journal], name string) error {
	if _, ok := r.line.Newest().cursors[name]; ok {
		return nil
	}
	return g.move(r, name)
}

// move makes a consumer start with the oldest entry that is kept.
func (g *gazette) move(r *runner[*journal], name string) error {
	return g.update(r, func(tx *stoat.Tx, next *journal) error {
		next.cursors[name] = next.first
		return g.f.SetCursor(tx, name, uint64(next.first))
	})
}

// end implements layer.
func (g *gazette) end(r *runner[*journal], complete bool) error {
	var err error
	if complete && !g.parallel {
		err = g.followers.reaches(r.line.Newest())
	}
	g.stop()
	g.loops.Wait()
	close(g.failed)
	for failed := range g.failed {
		err = errors.Join(err, failed)
	}
	return errors.Join(err, g.followers.failed())
}

// told implements layer.
func (g *gazette) told() claim[*journal] { return g.followers.claim() }

// step implements layer: a transaction of a few steps, or a consumer for a while.
func (g *gazette) step(r *runner[*journal]) error {
	if !g.parallel && r.rng.IntN(3) == 0 {
		names := consumers()
		c := &consumption{g: g, r: r, name: names[r.rng.IntN(len(names))], rng: r.rng}
		return c.turn()
	}
	abort := r.rng.IntN(5) == 0
	return g.update(r, func(tx *stoat.Tx, next *journal) error {
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

// update is that of the runner, for what retention may follow on.
func (g *gazette) update(r *runner[*journal], fn func(tx *stoat.Tx, next *journal) error) error {
	return r.update(func(tx *stoat.Tx, next *journal) error {
		if err := fn(tx, next); err != nil {
			return err
		}
		// It comes behind the feed's own, which applies the retention.
		return tx.BeforeCommit(func() error { return g.retained(tx, next) })
	})
}

// retained brings the model up to what retention has removed, which must be what it should.
func (g *gazette) retained(tx *stoat.Tx, next *journal) error {
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

// write makes one random change of the feed and the model.
func (g *gazette) write(r *runner[*journal], tx *stoat.Tx, next *journal) error {
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
	case next.form == feedPlain && r.rng.IntN(2) == 0:
		next.dropTags()
		return g.f.DropSublog(tx, "tag")
	}
	return nil
}

func (g *gazette) append(r *runner[*journal], tx *stoat.Tx, next *journal) error {
	n, author := 1+r.rng.IntN(4), ""
	if g.keep == 0 && r.rng.IntN(25) == 0 {
		n, author = 150, "bob" // more than a short list takes
	}
	for range n {
		m := randomMood(r.rng)
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

func (g *gazette) redact(r *runner[*journal], tx *stoat.Tx, next *journal) error {
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

// consumers returns the names of the consumers.
func consumers() []string { return []string{"counts", "copies"} }

package layers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/record"
)

// archives returns the workloads of package record: all sizes, with syncs and without.
func archives() []workload[*people] {
	var all []workload[*people]
	codecs := []record.Codec{record.CodecBinary, record.CodecJSON, record.CodecGob}
	for i, tuning := range tuned.Sizes() {
		for _, sync := range []stoat.SyncMode{stoat.SyncAlways, stoat.SyncNever} {
			known := forms(codecs[i%len(codecs)])
			w := workload[*people]{
				name:    fmt.Sprintf("records-%d", i),
				options: stoat.Options{Sync: sync, ValueThreshold: []int{0, 64}[i%2]},
				tuning:  tuning, steps: 40,
				empty: &people{form: unmade, rows: map[int64]person{}},
				layer: func() layer[*people] { return &archive{forms: known} },
				find:  finder(known),
			}
			if sync == stoat.SyncNever {
				w.name += "-unsynced"
			}
			all = append(all, w)
		}
	}
	return all
}

// archive is how a runner uses a collection.
type archive struct {
	forms []form
	c     shelf
	stop  context.CancelFunc // of the loops of this opening
	loops sync.WaitGroup

	mu       sync.Mutex
	lookouts []*lookout // of all openings
	present  []*lookout // those that are to tell the newest state
}

// begin implements layer: it opens the collection in any form.
func (a *archive) begin(r *runner[*people]) error {
	var ctx context.Context
	ctx, a.stop = context.WithCancel(context.Background())
	return a.open(ctx, r, r.rng.IntN(formCount))
}

// open opens the collection in a form, and has it watched.
func (a *archive) open(ctx context.Context, r *runner[*people], n int) error {
	open := func() (err error) {
		a.c, err = a.forms[n].open(r.db)
		return err
	}
	var err error
	if m := r.line.Newest(); m.form == n {
		err = open()
	} else {
		next := m.clone()
		next.form = n
		err = r.change(next, open)
	}
	if err != nil {
		return fmt.Errorf("open as form %d: %w", n, err)
	}
	return a.watch(ctx, r, n)
}

// watch starts live queries, and wants their first results to be what there is.
func (a *archive) watch(ctx context.Context, r *runner[*people], n int) error {
	var present []*lookout
	for _, q := range questions() {
		if q.name == "all" || q.name == "youngest" || q.name == "range" || q.nick && n == formNick {
			present = append(present, newLookout(q))
		}
	}
	a.mu.Lock()
	a.present = present
	a.lookouts = append(a.lookouts, present...)
	a.mu.Unlock()
	for _, l := range present {
		a.loops.Go(func() { l.run(ctx, r.db, a.c) })
	}
	for _, l := range present {
		if err := l.begins(r.line.Newest()); err != nil {
			return err
		}
	}
	return nil
}

// end implements layer.
func (a *archive) end(r *runner[*people], complete bool) error {
	var err error
	if complete {
		for _, l := range a.present {
			err = errors.Join(err, l.reaches(r.line.Newest()))
		}
	}
	a.stop()
	a.loops.Wait()
	for _, l := range a.lookouts {
		err = errors.Join(err, l.err)
	}
	return err
}

// told implements layer.
func (a *archive) told() claim[*people] {
	a.mu.Lock()
	defer a.mu.Unlock()
	lookouts := a.lookouts
	sightings := make([]*sighting, len(lookouts))
	for i, l := range lookouts {
		sightings[i] = l.newest.Load()
	}
	return func(db *stoat.DB, states []*people, found int, durable bool) error {
		for i, s := range sightings {
			if s == nil {
				continue
			}
			if err := s.bears(lookouts[i].question, db, states, found, durable); err != nil {
				return err
			}
		}
		return nil
	}
}

// step implements layer: a transaction of a few steps, or another form while loops run.
func (a *archive) step(r *runner[*people]) error {
	if r.rng.IntN(15) == 0 {
		return a.evolve(r)
	}
	abort := r.rng.IntN(5) == 0
	return r.update(func(tx *stoat.Tx, next *people) error {
		for range 1 + r.rng.IntN(5) {
			if err := a.write(r.rng, tx, next); err != nil {
				return err
			}
		}
		if abort {
			return errAbort
		}
		return nil
	})
}

// evolve opens the collection in another form. The live queries of the old one end when they
// notice.
func (a *archive) evolve(r *runner[*people]) error {
	stop := a.stop
	ctx, cancel := context.WithCancel(context.Background())
	a.stop = func() { stop(); cancel() }
	n := (r.line.Newest().form + 1 + r.rng.IntN(formCount-1)) % formCount
	before := r.line.Acked()
	old := a.c
	if err := a.open(ctx, r, n); err != nil {
		if r.line.Acked() == before {
			a.c = old
		}
		return r.tolerate(err)
	}
	return r.update(func(tx *stoat.Tx, _ *people) error {
		if err := old.put(tx, person{ID: 1}); !errors.Is(err, record.ErrOutdated) {
			return errors.Join(errors.New("a collection that is out of date takes a record"), err)
		}
		return errAbort
	})
}

// write makes one random change of the collection and the model.
func (a *archive) write(rng *rand.Rand, tx *stoat.Tx, next *people) error {
	p := randomPerson(rng, rng.Int64N(personIDs))
	p = next.visible(p) // what the type does not have is lost
	_, there := next.rows[p.ID]
	var want, err error
	if next.duplicate(p) {
		want = record.ErrDuplicate
	}
	switch n := rng.IntN(100); {
	case n < 40:
		err = a.c.put(tx, p)
	case n < 60:
		if there {
			want = record.ErrExists
		}
		err = a.c.insert(tx, p)
	case n < 75:
		if !there {
			want = stoat.ErrNotFound
		}
		err = a.c.update(tx, p)
	case n < 98:
		delete(next.rows, p.ID)
		return a.c.remove(tx, p.ID)
	default:
		clear(next.rows)
		return a.c.Clear(tx)
	}
	switch {
	case want == nil && err == nil:
		p.Tags = slices.Clone(p.Tags)
		next.rows[p.ID] = p
		return nil
	case want == nil:
		return err
	case !errors.Is(err, want):
		return errors.Join(fmt.Errorf("a change of %d, want the error %v", p.ID, want), err)
	}
	return nil
}

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

// recordWorkloads returns the workloads of package record: all sizes, with and without syncs.
func recordWorkloads() []workload[*collectionModel] {
	var all []workload[*collectionModel]
	codecs := []record.Codec{record.CodecBinary, record.CodecJSON, record.CodecGob}
	for i, tuning := range tuned.Sizes() {
		for _, sync := range []stoat.SyncMode{stoat.SyncAlways, stoat.SyncNever} {
			known := schemas(codecs[i%len(codecs)])
			w := workload[*collectionModel]{
				name:    fmt.Sprintf("records-%d", i),
				options: stoat.Options{Sync: sync, ValueThreshold: []int{0, 64}[i%2]},
				tuning:  tuning, steps: 40,
				empty: &collectionModel{schema: neverOpened, rows: map[int64]person{}},
				layer: func() layer[*collectionModel] { return &recordLayer{schemas: known} },
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

// recordLayer runs a collection.
type recordLayer struct {
	schemas []schema
	c       anyCollection
	stop    context.CancelFunc // ends the loops since the last open
	loops   sync.WaitGroup

	mu      sync.Mutex
	queries []*liveQuery // since the first open
	present []*liveQuery // those of the current schema
}

// begin implements layer: it opens the collection with a random schema.
func (a *recordLayer) begin(r *runner[*collectionModel]) error {
	var ctx context.Context
	ctx, a.stop = context.WithCancel(context.Background())
	return a.open(ctx, r, r.rng.IntN(schemaCount))
}

// open opens the collection with a schema and starts live queries.
func (a *recordLayer) open(ctx context.Context, r *runner[*collectionModel], n int) error {
	open := func() (err error) {
		a.c, err = a.schemas[n].open(r.db)
		return err
	}
	var err error
	if m := r.line.Newest(); m.schema == n {
		err = open()
	} else {
		next := m.clone()
		next.schema = n
		err = r.change(next, open)
	}
	if err != nil {
		return fmt.Errorf("open as schema %d: %w", n, err)
	}
	return a.watch(ctx, r, n)
}

// watch starts live queries and checks their first results.
func (a *recordLayer) watch(ctx context.Context, r *runner[*collectionModel], n int) error {
	var present []*liveQuery
	for _, q := range recordQueries() {
		if q.name == "all" || q.name == "youngest" || q.name == "range" || q.nick && n == schemaNick {
			present = append(present, newLiveQuery(q))
		}
	}
	a.mu.Lock()
	a.present = present
	a.queries = append(a.queries, present...)
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
func (a *recordLayer) end(r *runner[*collectionModel], complete bool) error {
	var err error
	if complete {
		for _, l := range a.present {
			err = errors.Join(err, l.reaches(r.line.Newest()))
		}
	}
	a.stop()
	a.loops.Wait()
	for _, l := range a.queries {
		err = errors.Join(err, l.err)
	}
	return err
}

// told implements layer.
func (a *recordLayer) told() claim[*collectionModel] {
	a.mu.Lock()
	defer a.mu.Unlock()
	queries := a.queries
	results := make([]*liveResult, len(queries))
	for i, l := range queries {
		results[i] = l.newest.Load()
	}
	return func(db *stoat.DB, states []*collectionModel, found int, durable bool) error {
		for i, s := range results {
			if s == nil {
				continue
			}
			if err := s.bears(queries[i].recordQuery, db, states, found, durable); err != nil {
				return err
			}
		}
		return nil
	}
}

// step implements layer: a transaction of a few writes, or a change of schema beside live queries.
func (a *recordLayer) step(r *runner[*collectionModel]) error {
	if r.rng.IntN(15) == 0 {
		return a.evolve(r)
	}
	abort := r.rng.IntN(5) == 0
	return r.update(func(tx *stoat.Tx, next *collectionModel) error {
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

// evolve opens the collection with another schema. The live queries of the old one end when they
// notice.
func (a *recordLayer) evolve(r *runner[*collectionModel]) error {
	stop := a.stop
	ctx, cancel := context.WithCancel(context.Background())
	a.stop = func() { stop(); cancel() }
	n := (r.line.Newest().schema + 1 + r.rng.IntN(schemaCount-1)) % schemaCount
	before := r.line.Acked()
	old := a.c
	if err := a.open(ctx, r, n); err != nil {
		if r.line.Acked() == before {
			a.c = old
		}
		return r.tolerate(err)
	}
	return r.update(func(tx *stoat.Tx, _ *collectionModel) error {
		if err := old.put(tx, person{ID: 1}); !errors.Is(err, record.ErrOutdated) {
			return errors.Join(errors.New("a collection that is out of date takes a record"), err)
		}
		return errAbort
	})
}

// write makes one random change to the collection and the model.
func (a *recordLayer) write(rng *rand.Rand, tx *stoat.Tx, next *collectionModel) error {
	p := randomPerson(rng, rng.Int64N(personIDs))
	p = next.visible(p) // the type drops what it has no field for
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

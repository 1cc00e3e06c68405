package layers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
)

// state is a model after a commit. It does not change once it is in a timeline.
type state[S any] interface {
	clone() S
}

// workload is a random program on a layer, to be crashed.
type workload[S state[S]] struct {
	name     string
	options  stoat.Options
	tuning   engine.Tuning
	steps    int
	parallel bool // commits come from several goroutines
	empty    S    // the state of an empty database
	layer    func() layer[S]
	// find returns which of the states the layer is in, preferring the last. It returns an error if it
	// is in none, or if anything disagrees with that state.
	find func(db *stoat.DB, states []S) (int, error)
}

// layer performs the steps of a workload on one layer.
type layer[S state[S]] interface {
	// begin opens the layer in a database that was just opened, and starts its loops.
	begin(r *runner[S]) error
	// step does one random thing.
	step(r *runner[S]) error
	// end ends the loops. If complete is set, it first waits until they have caught up.
	end(r *runner[S], complete bool) error
	// told returns what the loops have returned so far. Safe for concurrent use.
	told() claim[S]
}

// claim checks what loops returned against the states so far, the one that was found in the
// database, and the database. If durable is set, what loops returned cannot have been lost.
type claim[S state[S]] func(db *stoat.DB, states []S, found int, durable bool) error

var (
	errStop  = errors.New("the workload is over")
	errAbort = errors.New("rolled back on purpose")
)

// runner plays a workload on a disk and keeps its timeline.
type runner[S state[S]] struct {
	workload[S]
	on   layer[S]
	fs   vfs.FS
	db   *stoat.DB
	line *crash.Timeline[S]
	rng  *rand.Rand
	// tolerate decides whether the workload goes on after a failed call (nil), ends (errStop), or has
	// found a bug (any other error).
	tolerate func(error) error
}

// newRunner returns a runner that starts in a state and treats every error as a bug.
func newRunner[S state[S]](w workload[S], fs vfs.FS, from S, rng *rand.Rand) *runner[S] {
	return &runner[S]{
		workload: w, on: w.layer(), fs: fs, line: crash.NewTimeline(from), rng: rng,
		tolerate: func(err error) error { return err },
	}
}

// durable reports whether a commit is durable when it returns.
func (r *runner[S]) durable() bool { return r.options.Sync == stoat.SyncAlways }

// play opens the database if necessary, runs the workload and closes the database.
func (r *runner[S]) play() error {
	err := r.begin()
	for i := 0; i < r.steps && err == nil; i++ {
		err = r.step()
	}
	if err == nil {
		return r.close()
	}
	if r.db == nil { // reopening failed
		return err
	}
	endErr := errors.Join(r.on.end(r, false), r.db.Close())
	if r.db = nil; errors.Is(err, errStop) {
		return err
	}
	return errors.Join(err, endErr)
}

// begin opens the database if necessary, and the layer.
func (r *runner[S]) begin() error {
	var err error
	if r.db == nil {
		r.db, err = tuned.Open(r.fs, "db", &r.options, r.tuning)
	}
	if err == nil {
		if err = r.on.begin(r); err == nil {
			return nil
		}
		err = errors.Join(err, r.on.end(r, false), r.db.Close())
	}
	r.db = nil
	if err = r.tolerate(err); err == nil {
		err = errStop
	}
	return err
}

// step does one thing.
func (r *runner[S]) step() error {
	switch r.rng.IntN(30) {
	case 0, 1:
		return r.settles(r.db.Flush)
	case 2:
		return r.settles(r.db.Sync)
	case 3:
		return r.settles(func() error { return r.db.Compact(context.Background()) })
	case 4, 5, 6:
		if err := r.close(); err != nil {
			return err
		}
		return r.begin()
	}
	return r.on.step(r)
}

// close closes the layer and the database.
func (r *runner[S]) close() error {
	db := r.db
	err := r.on.end(r, true)
	if r.db = nil; err != nil {
		return errors.Join(err, db.Close())
	}
	return r.settles(db.Close)
}

// settles calls fn, which makes all acknowledged commits durable.
func (r *runner[S]) settles(fn func() error) error {
	if err := r.line.Sync(fn); err != nil {
		return r.tolerate(err)
	}
	return nil
}

// update commits a transaction that also changes the state. If fn returns errAbort, it changes
// nothing and succeeds.
func (r *runner[S]) update(fn func(tx *stoat.Tx, next S) error) error {
	commit := 0
	err := r.db.Update(func(tx *stoat.Tx) error {
		next := r.line.Newest().clone()
		if err := fn(tx, next); err != nil {
			return err
		}
		return tx.BeforeCommit(func() error {
			commit = r.line.Commit(next)
			return nil
		})
	})
	switch {
	case err == nil:
		r.line.Ack(commit, r.durable())
		return nil
	case errors.Is(err, errAbort):
		return nil
	case commit > 0 && !errors.Is(err, stoat.ErrPoisoned):
		r.line.Settle(commit - 1) // it must never be visible
	}
	return r.tolerate(err)
}

// change calls fn, which makes one commit that leads to the state next, or none.
func (r *runner[S]) change(next S, fn func() error) error {
	commit := r.line.Commit(next)
	if err := fn(); err != nil {
		return err
	}
	r.line.Ack(commit, r.durable())
	return nil
}

// found opens the database on a disk and checks that it is in one of the promised states. The
// caller must close it.
func (w *workload[S]) found(fs vfs.FS, states []S, p crash.Promise) (*stoat.DB, int, error) {
	db, err := tuned.Open(fs, "db", &w.options, w.tuning)
	if err != nil {
		return nil, 0, fmt.Errorf("open: %w", err)
	}
	i, err := w.find(db, states[p.Oldest:p.Newest+1])
	if err == nil {
		return db, p.Oldest + i, nil
	}
	err = fmt.Errorf("of the states %d to %d: %w", p.Oldest, p.Newest, err)
	return nil, 0, errors.Join(err, db.Close())
}

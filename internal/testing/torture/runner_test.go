package torture

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
)

// errStop ends a workload early because the database accepts no more writes.
var errStop = errors.New("the workload is over")

// runner runs a workload and keeps its timeline.
type runner struct {
	workload
	seed uint64
	fs   vfs.FS
	db   *stoat.DB
	line *timeline
	// tolerate decides whether the workload goes on after a failed call (nil), ends (errStop), or has
	// found a bug (any other error).
	tolerate func(error) error
}

// start opens the database, runs the workload and closes the database.
func (r *runner) start() error {
	if err := r.open(); err != nil {
		return err
	}
	err := r.run(r)
	if err == nil {
		return r.close()
	}
	if r.db == nil { // reopening failed
		return err
	}
	if closeErr := r.db.Close(); closeErr != nil && !errors.Is(err, errStop) {
		err = errors.Join(err, closeErr)
	}
	return err
}

func (r *runner) open() (err error) {
	r.tuning.Now = r.line.clock.Now
	if r.db, err = tuned.Open(r.fs, "db", &r.options, r.tuning); err == nil {
		return nil
	}
	if err = r.tolerate(err); err == nil {
		err = errStop
	}
	return err
}

// close closes the database, which makes everything durable.
func (r *runner) close() error { return r.durable(r.db.Close) }

func (r *runner) flush() error { return r.durable(r.db.Flush) }

func (r *runner) sync() error { return r.durable(r.db.Sync) }

func (r *runner) compact() error {
	return r.durable(func() error { return r.db.Compact(context.Background()) })
}

// durable calls fn, which makes all acknowledged commits durable.
func (r *runner) durable(fn func() error) error {
	if err := r.line.Sync(fn); err != nil {
		return r.tolerate(err)
	}
	return nil
}

// reopen closes the database, opens it again, and expects to find everything.
func (r *runner) reopen() error {
	if err := r.close(); err != nil {
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	p := r.line.Promised(crash.All)
	got, err := dumpDB(r.db)
	if err != nil {
		return r.tolerate(err)
	}
	_, err = r.line.match(got, p, r.line.clock)
	return err
}

// update commits a transaction and adds it to the timeline.
func (r *runner) update(fn func(t twin) error) error {
	commit := 0
	err := r.db.Update(func(tx *stoat.Tx) error {
		next := r.line.Newest().Clone()
		if err := fn(twinOf(tx, next)); err != nil {
			return errors.Join(tx.Err(), err)
		}
		commit = r.line.Commit(next)
		return nil
	})
	if err == nil {
		r.line.Ack(commit, r.options.Sync == stoat.SyncAlways)
		return nil
	}
	if commit > 0 && !errors.Is(err, stoat.ErrPoisoned) {
		r.line.Settle(commit - 1) // it must never be visible
	}
	return r.tolerate(err)
}

var errAbort = errors.New("rolled back on purpose")

// abort rolls a transaction back.
func (r *runner) abort(fn func(t twin) error) error {
	err := r.db.Update(func(tx *stoat.Tx) error {
		if err := fn(twinOf(tx, r.line.Newest().Clone())); err != nil {
			return errors.Join(tx.Err(), err)
		}
		return errAbort
	})
	if errors.Is(err, errAbort) {
		return nil
	}
	return r.tolerate(err)
}

// generator returns the generator of the workload's random actions.
func (r *runner) generator() *generator { return newGenerator(r.seed, r.line.clock) }

// recovered opens a database on fs and returns it with its contents by the clock.
func recovered(
	fs vfs.FS, w workload, clock *model.Clock,
) (*stoat.DB, *model.Bucket, error) {
	w.tuning.Now = clock.Now
	db, err := tuned.Open(fs, "db", &w.options, w.tuning)
	if err != nil {
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	got, err := dumpDB(db)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read: %w", err), db.Close())
	}
	return db, got, nil
}

package stoat_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/model"
	"github.com/stoatdb/stoat/internal/vfs"
)

// workload is a small program that uses the database, for crashing.
type workload struct {
	name     string
	options  stoat.Options
	tuning   engine.Tuning
	parallel bool // commits from several goroutines
	run      func(r *runner) error
}

// Sizes so small that sealing, flushing, merging and new manifests happen all the time, at once or
// only when due.
var (
	eager = engine.Tuning{
		MemtableBytes: 1 << 10, TableBytes: 1 << 10, BlockBytes: 128, YoungRuns: 2,
		JournalBytes: 200, IdleAfter: time.Nanosecond,
	}
	lazy = engine.Tuning{
		MemtableBytes: 2 << 10, TableBytes: 4 << 10, BlockBytes: 512, YoungRuns: 2,
		JournalBytes: 1 << 10, IdleAfter: time.Hour,
	}
	large    = engine.Tuning{MemtableBytes: 1 << 20, TableBytes: 256 << 10, YoungRuns: 2}
	roomy    = engine.Tuning{IdleAfter: time.Hour}
	unsynced = stoat.Options{Sync: stoat.SyncNever}
)

var workloads = []workload{
	{name: "puts", tuning: roomy, run: puts},
	{name: "puts-unsynced", options: unsynced, tuning: roomy, run: puts},
	{name: "transactions", tuning: lazy, run: transactions},
	{name: "transactions-unsynced", options: unsynced, tuning: lazy, run: transactions},
	{name: "overwrites", tuning: eager, run: overwrites},
	{name: "buckets", tuning: eager, run: nestedBuckets},
	{name: "sequences", tuning: lazy, run: sequences},
	{name: "large-values", tuning: lazy, run: largeValues},
	{name: "large-values-unsynced", options: unsynced, tuning: lazy, run: largeValues},
	{name: "huge-transactions", tuning: large, run: hugeTransactions},
	{name: "huge-transactions-unsynced", options: unsynced, tuning: large, run: hugeTransactions},
	{name: "aborts", tuning: eager, run: aborts},
	{name: "flushes", tuning: roomy, run: flushes},
	{name: "churn", tuning: eager, run: churn},
	{name: "churn-unsynced", options: unsynced, tuning: eager, run: churn},
	{name: "reopens", tuning: lazy, run: reopens},
	{name: "reopens-unsynced", options: unsynced, tuning: eager, run: reopens},
	{name: "random", tuning: lazy, run: randomTransactions},
	{name: "random-unsynced", options: unsynced, tuning: eager, run: randomTransactions},
	{name: "parallel", tuning: lazy, parallel: true, run: parallel},
}

// errStop ends a workload early, because the database accepts no more writes.
var errStop = errors.New("the workload is over")

// runner runs a workload and keeps its timeline.
type runner struct {
	workload
	seed uint64
	fs   vfs.FS
	db   *stoat.DB
	line *timeline
	// tolerate says of a failed call whether the workload goes on (nil), ends (errStop) or has found
	// a bug (anything else).
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
	if r.db == nil { // it could not be opened again
		return err
	}
	if closeErr := r.db.Close(); closeErr != nil && !errors.Is(err, errStop) {
		err = errors.Join(err, closeErr)
	}
	return err
}

func (r *runner) open() (err error) {
	if r.db, err = stoat.OpenFS(r.fs, "db", &r.options, r.tuning); err == nil {
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

// durable calls fn, which makes durable all that was acknowledged before.
func (r *runner) durable(fn func() error) error {
	acked, _, _ := r.line.marks()
	if err := fn(); err != nil {
		return r.tolerate(err)
	}
	r.line.ack(acked, true)
	return nil
}

// reopen closes the database, opens it again, and wants to find everything.
func (r *runner) reopen() error {
	if err := r.close(); err != nil {
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	acked, _, begun := r.line.marks()
	got, err := dumpDB(r.db)
	if err != nil {
		return r.tolerate(err)
	}
	_, err = r.line.match(got, promise{acked, begun})
	return err
}

// update commits a transaction and notes it in the timeline.
func (r *runner) update(fn func(t twin) error) error {
	commit := 0
	err := r.db.Update(func(tx *stoat.Tx) error {
		next := r.line.newest().Clone()
		if err := fn(twin{tx, next}); err != nil {
			return errors.Join(tx.Err(), err)
		}
		commit = r.line.commit(next)
		return nil
	})
	if err == nil {
		r.line.ack(commit, r.options.Sync == stoat.SyncAlways)
		return nil
	}
	if commit > 0 && !errors.Is(err, stoat.ErrPoisoned) {
		r.line.retract()
	}
	return r.tolerate(err)
}

var errAbort = errors.New("rolled back on purpose")

// abort does a transaction and rolls it back.
func (r *runner) abort(fn func(t twin) error) error {
	err := r.db.Update(func(tx *stoat.Tx) error {
		if err := fn(twin{tx, r.line.newest().Clone()}); err != nil {
			return errors.Join(tx.Err(), err)
		}
		return errAbort
	})
	if errors.Is(err, errAbort) {
		return nil
	}
	return r.tolerate(err)
}

// times calls fn with 0 to n-1, until it fails.
func times(n int, fn func(i int) error) error {
	for i := range n {
		if err := fn(i); err != nil {
			return err
		}
	}
	return nil
}

// every calls fn if i+1 is a multiple of n.
func every(n, i int, fn func() error) error {
	if (i+1)%n != 0 {
		return nil
	}
	return fn()
}

func puts(r *runner) error {
	return times(40, func(i int) error {
		err := r.update(func(t twin) error { return t.put(fmt.Sprint(i), strings.Repeat("v", i)) })
		return errors.Join(err, every(9, i, r.sync))
	})
}

// transactions writes many keys at once, the same number in each transaction under a common name,
// and takes half of the older ones away.
func transactions(r *runner) error {
	return times(25, func(i int) error {
		err := r.update(func(t twin) error {
			return times(20, func(k int) error {
				if i > 2 && k%2 == 0 {
					if err := t.delete(fmt.Sprintf("tx-%d-%d", i-3, k)); err != nil {
						return err
					}
				}
				return t.put(fmt.Sprintf("tx-%d-%d", i, k), fmt.Sprint(i*k))
			})
		})
		return errors.Join(err, every(10, i, r.sync))
	})
}

func overwrites(r *runner) error {
	return times(30, func(i int) error {
		return r.update(func(t twin) error {
			if i%7 == 6 {
				return t.delete(fmt.Sprint(i % 5))
			}
			return t.put(fmt.Sprint(i%5), strings.Repeat(fmt.Sprint(i), 30))
		})
	})
}

// nestedBuckets creates, fills and drops buckets within buckets, and creates them again.
func nestedBuckets(r *runner) error {
	return times(25, func(i int) error {
		outer, inner := fmt.Sprint("outer-", i%3), fmt.Sprint("inner-", i%2)
		return r.update(func(t twin) error {
			if i%8 == 7 {
				return t.drop(outer)
			}
			o, err := t.create(outer)
			if err != nil {
				return err
			}
			if i%5 == 4 {
				return o.drop(inner)
			}
			b, err := o.create(inner)
			if err != nil {
				return err
			}
			return times(5, func(k int) error {
				return errors.Join(b.put(fmt.Sprint(k), fmt.Sprint(i)), o.put(fmt.Sprint(k, i), "o"))
			})
		})
	})
}

func sequences(r *runner) error {
	return times(40, func(i int) error {
		return r.update(func(t twin) error {
			b, err := t.create(fmt.Sprint(i % 2))
			if err != nil {
				return err
			}
			set := uint64(0)
			if i%20 == 19 {
				set = uint64(i * i)
			}
			return errors.Join(b.sequence(set), t.sequence(0))
		})
	})
}

// largeValues writes values that are larger than a memtable, a table and a chunk of the log.
func largeValues(r *runner) error {
	p := newPlayer(r.seed)
	return times(16, func(i int) error {
		err := r.update(func(t twin) error {
			size := 1 << (10 + i%9)
			value := make([]byte, size)
			for k := range value {
				value[k] = byte(p.rng.Uint32())
			}
			err := t.put(fmt.Sprint("k", i%6), string(value))
			return errors.Join(err, t.put(fmt.Sprint("s", i), "small"))
		})
		return errors.Join(err, every(5, i, r.sync))
	})
}

// hugeTransactions commits and rolls back transactions so large that much of them is in the log
// long before they end, with small ones in between.
func hugeTransactions(r *runner) error {
	p := newPlayer(r.seed)
	return times(4, func(i int) error {
		write := func(t twin) error { return p.writeMuch(t) }
		end := r.update
		if i%3 == 1 {
			end = r.abort
		}
		err := end(write)
		return errors.Join(err, r.update(func(t twin) error { return t.put("small", fmt.Sprint(i)) }))
	})
}

// aborts rolls back more than it commits.
func aborts(r *runner) error {
	return times(36, func(i int) error {
		write := func(t twin) error {
			return times(4, func(k int) error { return t.put(fmt.Sprint(i, k), strings.Repeat("a", i)) })
		}
		if i%3 == 0 {
			return r.update(write)
		}
		return r.abort(write)
	})
}

func flushes(r *runner) error {
	return times(20, func(i int) error {
		err := r.update(func(t twin) error {
			return times(5, func(k int) error { return t.put(fmt.Sprint(i*k%17), fmt.Sprint(i)) })
		})
		return errors.Join(err, every(2, i, r.flush))
	})
}

// churn makes enough commits that every kind of background work happens many times.
func churn(r *runner) error {
	p := newPlayer(r.seed)
	return times(50, func(i int) error {
		err := r.update(func(t twin) error {
			key := fmt.Sprintf("key-%03d", p.rng.IntN(40))
			if p.chance(4) {
				return t.delete(key)
			}
			return t.put(key, strings.Repeat(fmt.Sprint(i), 20+p.rng.IntN(20)))
		})
		return errors.Join(err, every(15, i, r.sync))
	})
}

func reopens(r *runner) error {
	return times(15, func(i int) error {
		err := r.update(func(t twin) error {
			return times(4, func(k int) error {
				return t.put(fmt.Sprint(i*7%13, k), strings.Repeat("r", 60))
			})
		})
		return errors.Join(err, every(3, i, r.reopen))
	})
}

// randomTransactions does everything that there is.
func randomTransactions(r *runner) error {
	p := newPlayer(r.seed)
	p.keys, p.long = 64, true
	return times(25, func(i int) error {
		err := r.update(func(t twin) error { return p.write(t, 1+p.rng.IntN(15)) })
		err = errors.Join(err, every(11, i, r.sync), every(17, i, r.flush))
		return errors.Join(err, every(20, i, r.reopen))
	})
}

// parallel commits from several goroutines at once, so that they share syncs.
func parallel(r *runner) error {
	var writers sync.WaitGroup
	errs := make([]error, 4)
	for w := range errs {
		writers.Go(func() {
			errs[w] = times(12, func(i int) error {
				return r.update(func(t twin) error {
					return errors.Join(t.sequence(0), t.put(fmt.Sprint(w, "-", i%9), strings.Repeat("p", 40)))
				})
			})
		})
	}
	writers.Wait()
	return errors.Join(errs...)
}

// recovered opens a database on fs, and returns it with what is in it.
func recovered(fs vfs.FS, w workload) (*stoat.DB, *model.Bucket, error) {
	db, err := stoat.OpenFS(fs, "db", &w.options, w.tuning)
	if err != nil {
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	got, err := dumpDB(db)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read: %w", err), db.Close())
	}
	return db, got, nil
}

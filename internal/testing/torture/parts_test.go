package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// patience is a context that ends when it was asked so many times whether it has.
type patience struct {
	context.Context
	left *atomic.Int64
}

// patient returns a context that ends with the given question.
func patient(asks int) patience {
	left := new(atomic.Int64)
	left.Store(int64(asks))
	return patience{context.Background(), left}
}

// Err implements context.Context.
func (p patience) Err() error {
	if p.left.Add(-1) <= 0 {
		return context.Canceled
	}
	return nil
}

// compactFor compacts until it has asked so often whether to go on, or to the end.
func (r *runner) compactFor(asks int) error {
	err := r.db.Compact(patient(asks))
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return r.tolerate(err)
}

// parts is random transactions, and compactions that are ended.
func parts(r *runner) error {
	p := r.generator()
	p.keys = 128
	return times(24, func(i int) error {
		err := r.update(func(t twin) error { return p.write(t, 1+p.rng.IntN(30)) })
		err = errors.Join(err, every(2, i, func() error { return r.compactFor(1 + p.rng.IntN(60)) }))
		return errors.Join(err, every(9, i, r.reopen))
	})
}

// fronts counts the compactions that go on where others have ended, from the log messages of a
// database. Safe for concurrent use.
type fronts struct {
	slog.Handler
	n *atomic.Int64
}

func newFronts() fronts { return fronts{slog.DiscardHandler, new(atomic.Int64)} }

// Enabled implements slog.Handler.
func (fronts) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (f fronts) Handle(_ context.Context, record slog.Record) error {
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == "why" && a.Value.String() == "begun" {
			f.n.Add(1)
		}
		return true
	})
	return nil
}

// partHistory is a history of a database whose compactions are done in parts, and ended anywhere.
type partHistory struct {
	*runner
	*generator
	disk  *memfs.FS
	held  []heldState
	links int
}

// heldState is a reader that stays open during later commits and compactions.
type heldState struct {
	tx   *stoat.Tx
	want *model.Bucket
}

func newPartHistory(seed uint64, logger *slog.Logger) *partHistory {
	line := newTimeline()
	h := &partHistory{generator: newGenerator(seed, line.clock), disk: memfs.New()}
	h.keys = 1 << (7 + h.rng.IntN(3))
	w := workload{options: *randomOptions(h.rng), tuning: randomTuning(h.rng, line.clock)}
	w.options.Logger = logger
	if h.chance(2) {
		w.options.Key = make([]byte, 32)
	}
	w.tuning.TableBytes, w.tuning.PartBytes = 1<<(9+h.rng.IntN(3)), 1<<(9+h.rng.IntN(5))
	h.runner = &runner{
		workload: w, fs: h.disk, line: line, tolerate: func(err error) error { return err },
	}
	return h
}

// step commits some transactions and then does something else.
func (h *partHistory) step() error {
	err := times(1+h.rng.IntN(4), func(int) error {
		return h.update(func(t twin) error { return h.write(t, 1+h.rng.IntN(40)) })
	})
	switch op := h.rng.IntN(20); {
	case err != nil:
		return err
	case op < 8:
		if err := h.compactFor(1 + h.rng.IntN(60)); err != nil || op > 1 {
			return err
		}
		return h.link()
	case op < 10:
		return h.db.Flush()
	case op < 13:
		return h.reopen()
	case op < 14:
		return h.link()
	case op < 17:
		return h.hold()
	case op < 18:
		h.wait()
		return nil
	case op < 19:
		return h.db.Check(context.Background())
	}
	return h.release()
}

// hold begins to read the newest state.
func (h *partHistory) hold() error {
	tx, err := h.db.Begin(false)
	h.held = append(h.held, heldState{tx, h.line.Newest()})
	return err
}

// release checks and ends all readers.
func (h *partHistory) release() error {
	for _, s := range h.held {
		got, err := dump(s.tx)
		if err == nil {
			if d := model.Diff(got, s.want.By(h.line.clock)); d != "" {
				err = fmt.Errorf("a reader: %s", d)
			}
		}
		if err = errors.Join(err, s.tx.Rollback()); err != nil {
			return err
		}
	}
	h.held = nil
	return nil
}

// link makes a backup of links and compares it, with whatever is begun in it.
func (h *partHistory) link() error {
	h.links++
	dir := fmt.Sprint("linked", h.links)
	if err := tuned.Backup(context.Background(), h.db, h.disk, dir, true); err != nil {
		return err
	}
	for _, readOnly := range []bool{true, false} {
		options, tuning := h.options, h.tuning
		options.ReadOnly = readOnly
		db, err := tuned.Open(h.disk, dir, &options, tuning)
		if err != nil {
			return err
		}
		got, err := dumpDB(db)
		if err == nil {
			err = db.Check(context.Background())
		}
		if err == nil && !readOnly { // and go on, apart from the other
			err = db.Compact(context.Background())
		}
		if err = errors.Join(err, db.Close()); err != nil {
			return err
		}
		if d := model.Diff(got, h.line.Newest().By(h.line.clock)); d != "" {
			return fmt.Errorf("a backup of links: %s", d)
		}
	}
	return nil
}

// play runs the history.
func (h *partHistory) play() error {
	if err := h.open(); err != nil {
		return err
	}
	if err := times(25, func(int) error { return h.step() }); err != nil {
		return err
	}
	return errors.Join(h.reopen(), h.release(), h.compact(), h.reopen(),
		h.db.Check(context.Background()), h.close())
}

// TestParts_areNotSeen ends compactions anywhere, by their context and by Close, between
// transactions of all kinds, in plain and in encrypted databases.
func TestParts_areNotSeen(t *testing.T) {
	t.Parallel()
	seen := newFronts()
	histories := eachHistory(t, 1, func(seed uint64) error {
		return newPartHistory(seed, slog.New(seen)).play()
	})
	if n := seen.n.Load(); histories > 10 && n < int64(histories) {
		t.Errorf("only %d compactions went on in %d histories", n, histories)
	} else {
		t.Logf("%d compactions went on in %d histories", n, histories)
	}
}

// TestParts_besideTransactions ends a hundred compactions while others write and read, and some of
// the transactions go to tables.
func TestParts_besideTransactions(t *testing.T) {
	t.Parallel()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	seen, line := newFronts(), newTimeline()
	tuning := scattered
	tuning.TableBytes, tuning.PartBytes = 1<<10, 2<<10
	options := unsyncedOutside
	options.Logger = slog.New(seen)
	r := &runner{
		workload: workload{options: options, tuning: tuning}, fs: memfs.New(), line: line,
		tolerate: func(err error) error { return err },
	}
	ok(t, r.open())
	var stop atomic.Bool
	failed := make(chan error, 1)
	go func() {
		p := newGenerator(seed, model.NewClock())
		p.keys = 256
		var err error
		for err == nil && !stop.Load() {
			err = r.update(func(t twin) error {
				return times(1+p.rng.IntN(50), func(int) error {
					if p.chance(5) {
						return t.delete(p.key())
					}
					return t.put(p.key(), p.value())
				})
			})
		}
		failed <- err
	}()
	readers := startReaders(t, r.db, line)
	rng := rand.New(rand.NewPCG(seed, 5))
	for i := 0; i < 100 && len(failed) == 0; i++ {
		for r.line.Acked() < 3*i && len(failed) == 0 {
			runtime.Gosched()
		}
		if err := r.compactFor(1 + rng.IntN(100)); err != nil {
			t.Errorf("seed %d: compaction %d: %v", seed, i, err)
			break
		}
	}
	stop.Store(true)
	ok(t, <-failed)
	readers()
	ok(t, r.reopen())
	ok(t, r.db.Check(t.Context()))
	if n := seen.n.Load(); n < 5 {
		t.Errorf("seed %d: only %d compactions went on", seed, n)
	} else {
		t.Logf("seed %d: %d compactions went on", seed, n)
	}
	ok(t, r.close())
}

package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const tasks = 2_000

func taskKey(i int) []byte { return dataKey("%06d", i) }

// tasksSpan is where all tasks are.
func tasksSpan() keyspace.Span {
	return keyspace.Span{Start: dataKey(""), End: keyspace.Successor(dataKey(""))}
}

// enqueue commits the tasks from first to end.
func enqueue(t testing.TB, e *Engine, first, end int, until uint64) {
	t.Helper()
	w, err := e.Begin()
	ok(t, err)
	for i := first; i < end; i++ {
		ok(t, w.Put(taskKey(i), []byte("task"), until))
	}
	ok(t, w.Commit())
}

// dequeue takes the first task out, which must be that one, and tells how many entries the writer
// has passed on the way to it.
func dequeue(t testing.TB, e *Engine, want int) (passed int) {
	t.Helper()
	w, err := e.Begin()
	ok(t, err)
	span := tasksSpan()
	var c superversion.Cursor
	c.Init(w.Snapshot(), superversion.Scope{Lower: span.Start, Upper: span.End})
	if !c.First() || string(c.Key()) != string(taskKey(want)) {
		t.Fatalf("the cursor is valid %v and not on task %d: %v", c.Valid(), want, c.Err())
	}
	span, passed = c.Absent()
	w.Passed(span, passed)
	ok(t, w.Delete(taskKey(want)))
	ok(t, w.Commit())
	return passed
}

func TestPassed_keepsAllWaysToTheFirstKeyShort(t *testing.T) {
	type step func(t *testing.T, e *Engine, i int) *Engine
	for name, every := range map[string]step{
		"in memory": func(_ *testing.T, e *Engine, _ int) *Engine { return e },
		"with flushes": func(t *testing.T, e *Engine, i int) *Engine {
			if i%300 == 0 {
				ok(t, e.Flush())
			}
			return e
		},
		"with puts behind": func(t *testing.T, e *Engine, i int) *Engine {
			enqueue(t, e, tasks+i, tasks+i+1, 0)
			if i%500 == 0 {
				ok(t, e.Flush())
			}
			return e
		},
		"with compactions": func(t *testing.T, e *Engine, i int) *Engine {
			if i%400 == 0 {
				ok(t, e.Compact(t.Context()))
			}
			return e
		},
	} {
		for _, flushed := range []bool{false, true} {
			e := mustOpen(t, memfs.New(), calm())
			enqueue(t, e, 0, tasks, 0)
			if flushed {
				ok(t, e.Flush())
			}
			sum := 0
			for i := range tasks {
				passed := dequeue(t, e, i)
				if sum += passed; passed > defaultPassed {
					t.Fatalf("%s: %d entries before task %d", name, passed, i)
				}
				e = every(t, e, i)
			}
			if sum > tasks*(defaultPassed+2)/2 {
				t.Errorf("%s: %d entries were passed on the way to %d tasks", name, sum, tasks)
			}
			ok(t, e.Close())
		}
	}
}

// After a restart, the first who comes by passes the tombstones that the log has brought back.
func TestPassed_isFoundOutAgainAfterARestart(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, calm())
	enqueue(t, e, 0, tasks, 0)
	ok(t, e.Flush())
	for i := range tasks / 2 {
		dequeue(t, e, i)
	}
	for name, files := range map[string]*memfs.FS{
		"a crash": disk.CrashKeepAll(),
		"a close": func() *memfs.FS { ok(t, e.Close()); return disk }(),
	} {
		e := mustOpen(t, files, calm())
		if passed := dequeue(t, e, tasks/2); passed > tasks/2 {
			t.Errorf("%s: %d entries are passed the first time", name, passed)
		}
		for i := tasks/2 + 1; i < tasks; i++ {
			if passed := dequeue(t, e, i); passed > defaultPassed {
				t.Fatalf("%s: %d entries before task %d", name, passed, i)
			}
		}
		ok(t, e.Close())
	}
}

func TestReplay_leavesNoTombstonesOverNothing(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, calm())
	enqueue(t, e, 0, tasks, 0)
	for i := range tasks {
		dequeue(t, e, i)
	}
	wantWords(t, e)
	commits := e.Stats().Commits
	e = mustOpen(t, disk.CrashKeepAll(), calm())
	if s := e.Stats(); s.Entries != 0 || s.Commits != commits {
		t.Errorf("%d entries are left, and %d commits of %d", s.Entries, s.Commits, commits)
	}
	ok(t, e.Close())
}

// Commits of which nothing is left count all the same.
func TestCommits_ofWhichNothingIsLeftCount(t *testing.T) {
	disk := memfs.New()
	e := mustOpen(t, disk, calm())
	enqueue(t, e, 0, 1, 0)
	dequeue(t, e, 0)
	ok(t, e.Flush())
	if s := e.Stats(); s.Flushes != 1 || s.Tables != 0 {
		t.Errorf("%d flushes and %d tables", s.Flushes, s.Tables)
	}
	enqueue(t, e, 0, 1, 0)
	dequeue(t, e, 0)
	commits := e.Stats().Commits
	ok(t, e.Close())
	e = mustOpen(t, disk, calm())
	if n := e.Stats().Commits; n != commits {
		t.Errorf("%d commits after opening again, want %d", n, commits)
	}
	ok(t, e.Close())
}

func TestPassed_byReadersIsHiddenSoon(t *testing.T) {
	for _, expired := range []bool{false, true} {
		for _, flushed := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				clock := model.NewClock()
				o := calm()
				o.Tuning.Now = clock.Now
				e := mustOpen(t, memfs.New(), o)
				until := uint64(0)
				if expired {
					until = uint64(clock.Now().UnixMilli()) + 1
				}
				enqueue(t, e, 0, tasks, until)
				enqueue(t, e, tasks, tasks+1, 0)
				if flushed {
					ok(t, e.Flush())
				}
				clock.Advance(time.Second)
				if !expired {
					enqueueNothing(t, e)
				}
				old, err := e.Snapshot(0)
				ok(t, err)
				span, passed, err := old.FirstAbsent(tasksSpan(), 0)
				ok(t, err)
				if passed > tasks || (expired || flushed) && passed != tasks {
					t.Errorf("%d entries are passed of %d", passed, tasks)
				}
				e.Passed(span, passed)
				synctest.Wait()
				newest, err := e.Snapshot(0)
				ok(t, err)
				if _, passed, err = newest.FirstAbsent(tasksSpan(), 0); passed > 1 || err != nil {
					t.Errorf("later %d entries are passed: %v", passed, err)
				}
				if newest.Commit != old.Commit {
					t.Errorf("commit %d has become %d", old.Commit, newest.Commit)
				}
				wantWords(t, e, "task")
				ok(t, e.Close())
			})
		}
	}
}

// enqueueNothing deletes all tasks but the last by their keys.
func enqueueNothing(t testing.TB, e *Engine) {
	t.Helper()
	w, err := e.Begin()
	ok(t, err)
	for i := range tasks {
		ok(t, w.Delete(taskKey(i)))
	}
	ok(t, w.Commit())
}

// What a reader of an old snapshot has passed may be there again.
func TestPassed_byAReaderHidesNothingThatCameLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), calm())
		enqueue(t, e, 0, tasks, 0)
		ok(t, e.Flush())
		enqueueNothing(t, e)
		old, err := e.Snapshot(0)
		ok(t, err)
		span, passed, err := old.FirstAbsent(tasksSpan(), 0)
		ok(t, err)
		ok(t, tryCommit(e, taskKey(tasks/2), []byte("again")))
		e.Passed(span, passed)
		synctest.Wait()
		wantWords(t, e, "again")
		ok(t, e.Flush())
		wantWords(t, e, "again")
		ok(t, e.Close())
	})
}

func TestPassed_takesManyStepsInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), calm())
		const all = 2*clearSteps + clearSteps/2
		enqueue(t, e, 0, all, 1) // expired since 1970
		enqueue(t, e, all, all+1, 0)
		s, err := e.Snapshot(0)
		ok(t, err)
		span, passed, err := s.FirstAbsent(tasksSpan(), 0)
		if passed != all || err != nil {
			t.Fatalf("%d entries are passed of %d: %v", passed, all, err)
		}
		e.Passed(span, passed)
		synctest.Wait()
		if n := e.Stats().Entries; n != 1 {
			t.Errorf("%d entries are left", n)
		}
		ok(t, e.Close())
	})
}

// pass reads all tasks and tells what it has passed.
func pass(t testing.TB, e *Engine) (passed int) {
	t.Helper()
	s, err := e.Snapshot(0)
	ok(t, err)
	span, passed, err := s.FirstAbsent(tasksSpan(), 0)
	ok(t, err)
	e.Passed(span, passed)
	synctest.Wait()
	return passed
}

func TestPassed_byReadersOfABackupLeavesItOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := memfs.New()
		e := mustOpen(t, memfs.New(), calm())
		enqueue(t, e, 0, tasks, 0)
		ok(t, e.Flush())
		enqueueNothing(t, e)
		enqueue(t, e, tasks, tasks+1, 0)
		ok(t, e.Flush())
		ok(t, e.Backup(t.Context(), target, "db", false))
		b := mustOpen(t, target, calm())
		was := image(t, target)
		if passed := pass(t, b); passed != tasks {
			t.Fatalf("%d entries are passed of %d, so that nothing is tested", passed, tasks)
		}
		ok(t, b.Close())
		wantImage(t, target, was)
		ok(t, e.Backup(t.Context(), target, "db", false))
		ok(t, e.Close())
	})
}

// What was read may not be durable before the first transaction, so nothing is built on it.
func TestPassed_byReadersHidesNothingBeforeTheFirstTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := model.NewClock()
		o := calm()
		o.Tuning.Now = clock.Now
		disk := memfs.New()
		e := mustOpen(t, disk, o)
		enqueue(t, e, 0, tasks, uint64(clock.Now().UnixMilli())+1)
		enqueue(t, e, tasks, 10*tasks, 0) // too many for a compaction to begin
		ok(t, e.Close())
		clock.Advance(time.Second)
		e = mustOpen(t, disk, o)
		if e.writer.standing != unconfirmed {
			t.Fatalf("the standing is %d, so that nothing is tested", e.writer.standing)
		}
		for range 2 {
			if passed := pass(t, e); passed != tasks || e.writer.standing != unconfirmed {
				t.Errorf("%d entries are passed of %d", passed, tasks)
			}
		}
		mustCommit(t, e, "other")
		pass(t, e)
		if passed := pass(t, e); passed > 1 {
			t.Errorf("after a transaction %d entries are passed", passed)
		}
		ok(t, e.Close())
	})
}

func TestPassed_afterCloseDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.New()
		e := mustOpen(t, disk, calm())
		enqueue(t, e, 0, tasks, 0)
		ok(t, e.Flush())
		enqueueNothing(t, e)
		enqueue(t, e, tasks, tasks+1, 0)
		ok(t, e.Flush())
		s, err := e.Snapshot(0)
		ok(t, err)
		ok(t, e.Close())
		was := image(t, disk)
		span, passed, err := s.FirstAbsent(tasksSpan(), 0)
		if passed != tasks || err != nil {
			t.Fatalf("%d entries are passed of %d: %v", passed, tasks, err)
		}
		e.Passed(span, passed)
		synctest.Wait()
		if n := len(e.appending.root.Deleted()); n > 0 || e.clearing.Load() {
			t.Errorf("the memtable hides %d ranges", n)
		}
		wantImage(t, disk, was)
	})
}

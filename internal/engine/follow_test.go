package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// errEnough is what a test ends a follower with.
var errEnough = errors.New("enough")

func mustFollow(t testing.TB, e *Engine) *commit.Follower {
	t.Helper()
	f, err := e.Follow()
	ok(t, err)
	t.Cleanup(f.Close)
	return f
}

// valuesOf returns the values that a commit puts, joined.
func valuesOf(t testing.TB, c commit.Batch) string {
	t.Helper()
	var values []string
	err := c.Each(func(_ []byte, e keyspace.Entry) error {
		values = append(values, string(e.Value))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return strings.Join(values, "+")
}

// wantTold wants a follower to be told these commits, by their values, after the given one, and no
// other before it has seen the newest.
func wantTold(
	t testing.TB, e *Engine, f *commit.Follower, after uint64, want ...string,
) {
	t.Helper()
	newest := e.Visible()
	got, err := toldOf(t, f, after, newest)
	if !slices.Equal(got, want) || newest > after && err != errEnough {
		t.Errorf("after %d, the follower is told %q and %v, want %q", after, got, err, want)
	}
}

// toldOf returns what a follower is told of the commits above after up to newest.
func toldOf(t testing.TB, f *commit.Follower, after, newest uint64) (all []string, err error) {
	t.Helper()
	if after == newest {
		return nil, nil
	}
	seen := after
	err = f.Run(t.Context(), after, func(c commit.Batch) error {
		if seen++; c.Commit != seen {
			t.Errorf("commit %d in the place of %d", c.Commit, seen)
		}
		all = append(all, valuesOf(t, c))
		if c.Commit == newest {
			return errEnough
		}
		return nil
	})
	return all, err
}

func TestFollower_readsSealedAndActiveSegments(t *testing.T) {
	disk := memfs.NewCrashable()
	files, full := failing(disk, errBroken, is(faultfs.Create, tableSuffix))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a", "b")
	ok(t, e.Flush())
	full.Store(true)
	for _, word := range []string{"c", "d"} {
		mustCommit(t, e, word)
		if err := e.Flush(); !errors.Is(err, errBroken) {
			t.Fatalf("flush gives %v", err)
		}
	}
	mustCommit(t, e, "e", "f")
	f := mustFollow(t, e)
	for after, want := range [][]string{
		2: {"c", "d", "e", "f"}, 3: {"d", "e", "f"}, 4: {"e", "f"}, 5: {"f"}, 6: nil,
	} {
		if after >= 2 {
			wantTold(t, e, f, uint64(after), want...)
			continue
		}
		if got, err := toldOf(t, f, uint64(after), 6); len(got) > 0 || !errors.Is(err, commit.ErrLagged) {
			t.Errorf("after %d, the follower is told %q and %v, want %v", after, got, err, commit.ErrLagged)
		}
	}
	files, broken := failing(disk.CrashKeepNone(), errBroken, is(faultfs.Create, tableSuffix))
	broken.Store(true)
	recovered := mustOpen(t, files, calm())
	f = mustFollow(t, recovered)
	mustCommit(t, recovered, "g")
	wantTold(t, recovered, f, 3, "d", "e", "f", "g")
	full.Store(false)
	broken.Store(false)
}

// put600KB writes so much that the transaction does not wait for its end with the log.
func put600KB(t testing.TB, w *Writer, word string) {
	t.Helper()
	for i := range 10 {
		ok(t, w.Put(dataKey("%s%d", word, i), []byte(word+strings.Repeat("x", 60<<10)), 0))
	}
	if !w.streamed {
		t.Fatal("the transaction was not streamed")
	}
}

func TestFollower_isToldOfLargeTransactions(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	early, err := e.Follow()
	ok(t, err)
	w, err := e.Begin()
	ok(t, err)
	put600KB(t, w, "rolled back")
	w.Rollback()
	w, err = e.Begin()
	ok(t, err)
	put600KB(t, w, "a")
	ok(t, w.Commit())
	mustCommit(t, e, "b")
	want := strings.Repeat("a"+strings.Repeat("x", 60<<10)+"+", 10)
	want = want[:len(want)-1]
	wantTold(t, e, early, 0, want, "b")
	early.Close()                                  // then nothing is kept
	wantTold(t, e, mustFollow(t, e), 0, want, "b") // from the log
}

func TestFollower_stopsAtAGapInTheLog(t *testing.T) {
	o := calm()
	o.Tuning.SpillBytes = 1 << 10
	o.ValueThreshold, o.Compression = 64, CompressionNone // the segment before the gap stays
	e := mustOpen(t, memfs.New(), o)
	long := strings.Repeat("a", 500)
	ok(t, tryCommit(e, dataKey("long"), []byte(long)))
	ok(t, e.Flush())
	w, err := e.Begin()
	ok(t, err)
	for i := range 100 {
		ok(t, w.Put(dataKey("spilled %d", i), []byte("x"), 0))
	}
	ok(t, w.Commit())
	mustCommit(t, e, "b")
	f := mustFollow(t, e)
	if got, err := toldOf(t, f, 0, 3); !slices.Equal(got, []string{long}) ||
		!errors.Is(err, commit.ErrLagged) {
		t.Errorf("the follower is told %q and %v, want one commit and %v", got, err, commit.ErrLagged)
	}
	wantTold(t, e, f, 2, "b")
}

// TestFollower_isWokenWithManyOthers commits while many followers wait, of which some give up.
func TestFollower_isWokenWithManyOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := Open(memfs.New(), "db", calm())
		ok(t, err)
		const followers, commits = 50, 20
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var told atomic.Int64
		for i := range followers {
			f, err := e.Follow()
			ok(t, err)
			ctx := ctx
			if i%2 == 0 {
				ctx = t.Context()
			}
			all.Go(func() {
				defer f.Close()
				err := f.Run(ctx, 0, func(commit.Batch) error { told.Add(1); return nil })
				if want := []error{ErrClosed, context.Canceled}[i%2]; !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
			})
		}
		for n := range int64(commits) {
			synctest.Wait()
			if got := told.Load(); got != n*followers {
				t.Errorf("after %d commits, %d were told", n, got)
			}
			mustCommit(t, e, "a")
		}
		synctest.Wait()
		cancel()
		mustCommit(t, e, "b")
		synctest.Wait()
		ok(t, e.Close())
		all.Wait()
		if got := told.Load(); got < commits*followers+followers/2 {
			t.Errorf("%d commits were told in all", got)
		}
	})
}

func TestFollower_missesNothingBesideManyWriters(t *testing.T) {
	for _, unsynced := range []bool{false, true} {
		t.Run(fmt.Sprint("unsynced ", unsynced), func(t *testing.T) {
			o := calm()
			o.NoSync, o.MemoryLimit = unsynced, 32<<10 // to keep a dozen commits
			o.Tuning.MemtableBytes = 1 << 30           // and all of the log
			e := mustOpen(t, memfs.New(), o)
			const writers, each = 4, 60
			var all sync.WaitGroup
			told := make([][]string, 3)
			for i := range told {
				f := mustFollow(t, e)
				all.Go(func() { told[i], _ = toldOf(t, f, 0, writers*each) })
			}
			var want []string
			for i := range writers {
				for k := range each {
					want = append(want, fmt.Sprint("word ", i, k))
				}
				words := want[i*each:]
				all.Go(func() {
					for _, word := range words {
						if err := tryCommit(e, dataKey("%s", word), []byte(word)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			slices.Sort(want)
			for _, got := range told {
				if !slices.Equal(got, told[0]) {
					t.Error("two followers are told of different orders")
				}
				if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, want) {
					t.Errorf("%d commits are told of, want %d", len(got), len(want))
				}
			}
		})
	}
}

package commit

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

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// follow returns a follower of a database whose log segments are all in the folder.
func (d *database) follow(t testing.TB) *Follower {
	t.Helper()
	f := d.Follow(Log{
		Files: d.files, Dir: "db", Database: identity,
		Segments: func() ([]uint64, error) {
			names, err := d.files.List("db")
			var numbers []uint64
			for _, name := range names {
				if kind, number := folder.Parse(name); kind == folder.Log {
					numbers = append(numbers, number)
				}
			}
			slices.Sort(numbers)
			return numbers, err
		},
	})
	t.Cleanup(f.Close)
	return f
}

// told returns what a follower is told of the commits above after up to newest.
func told(t testing.TB, f *Follower, after, newest uint64) (all []string, err error) {
	t.Helper()
	if after == newest {
		return nil, nil
	}
	seen := after
	err = f.Run(t.Context(), after, func(b Batch) error {
		if seen++; b.Commit != seen {
			t.Errorf("commit %d in the place of %d", b.Commit, seen)
		}
		all = append(all, wordsOf(t, b))
		if b.Commit == newest {
			return errEnough
		}
		return nil
	})
	return all, err
}

// wantTold checks what a follower is told of the commits after the given one.
func wantTold(t testing.TB, f *Follower, after uint64, want ...string) {
	t.Helper()
	newest := f.pipeline.visible.Load()
	got, err := told(t, f, after, newest)
	if !slices.Equal(got, want) || newest > after && err != errEnough {
		t.Errorf("after %d, the follower is told %q and %v, want %q", after, got, err, want)
	}
}

func TestFollower_goesOverFromTheLog(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	d.commit(t, "a", "b", "c")
	f := d.follow(t)
	next, want := byte('d'), "c"
	err := f.Run(t.Context(), 2, func(b Batch) error {
		if got := wordsOf(t, b); got != want {
			t.Fatalf("told %q, want %q", got, want)
		}
		if want == "k" {
			return errEnough
		}
		d.commit(t, string(next)) // while the log is read, and afterwards
		want, next = string(next), next+1
		return nil
	})
	if err != errEnough {
		t.Error(err)
	}
	if _, kept := d.recent.get(4); !kept {
		t.Error("what was committed while there was a follower is not kept")
	}
}

func TestFollower_readsTheSegmentsThatAreLeft(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	for number, words := range [][]string{1: {"a", "b"}, 2: {"c"}, 3: {"d", "e"}, 4: nil} {
		if number > 1 {
			ok(t, d.EndLog().Close())
			d.table = memtable.New(wal.HeaderBytes)
			d.startLog(t, uint64(number))
		}
		d.commit(t, words...)
	}
	f := d.follow(t)
	wantTold(t, f, 0, "a", "b", "c", "d", "e")
	wantTold(t, f, 3, "d", "e")
	ok(t, d.files.Remove("db/000001.log"))
	wantTold(t, f, 2, "c", "d", "e")
	if got, err := told(t, f, 1, 5); len(got) > 0 || !errors.Is(err, ErrLagged) {
		t.Errorf("without its segment, the follower is told %q and %v", got, err)
	}
}

func TestFollower_returnsWhatFailsItsFunction(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	d.commit(t, "a")
	f := d.follow(t)
	d.commit(t, "b")
	for after := range uint64(2) { // from the log, and from what is kept
		err := f.Run(t.Context(), after, func(b Batch) error {
			return b.Each(func([]byte, keyspace.Entry) error { return errBroken })
		})
		if err != errBroken {
			t.Errorf("after %d: error %v, want %v", after, err, errBroken)
		}
	}
}

func TestFollower_isToldOfLargeTransactions(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	early := d.follow(t)
	gone := d.edit("rolled back")
	d.Stream(gone)
	d.Rollback()
	gone.Rollback()
	long := strings.Repeat("x", 60<<10)
	large := d.edit("a")
	for i := range 10 {
		ok(t, d.Reserve(200<<10))
		large.PutUntil(fmt.Append(nil, "key ", i), []byte(long), 0)
		d.Stream(large)
	}
	commit, _ := d.Append(large)
	ok(t, d.Wait(commit))
	d.commit(t, "b")
	want := "a" + strings.Repeat("+"+long, 10)
	if payload, kept := d.recent.get(1); !kept || len(payload) < len(want) {
		t.Errorf("%d bytes of the large transaction are kept", len(payload))
	}
	wantTold(t, early, 0, want, "b")
	d.recent.mu.Lock()
	d.recent.restartLocked(0)
	d.recent.mu.Unlock()
	wantTold(t, early, 0, want, "b") // from the log
}

func TestFollower_endsAtACommitInTables(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		d := newDatabase(t, memfs.New(), Config{Volatile: volatile, Reach: wal.Durable, KeptBytes: 1000})
		f := d.follow(t)
		d.commit(t, "a")
		d.Skip(2)
		d.commit(t, "c")
		if got, err := told(t, f, 0, 3); !slices.Equal(got, []string{"a"}) || !errors.Is(err, ErrLagged) {
			t.Errorf("volatile %v: the follower is told %q and %v, want one commit and %v",
				volatile, got, err, ErrLagged)
		}
		wantTold(t, f, 2, "c")
	}
}

func TestFollower_thatIsSlowDelaysNobody(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		t.Run(fmt.Sprint("volatile ", volatile), func(t *testing.T) {
			const limit = 2 << 10
			d := newDatabase(t, memfs.New(),
				Config{Volatile: volatile, Reach: wal.Durable, KeptBytes: limit})
			f := d.follow(t)
			d.commit(t, "first")
			stuck, ended := make(chan struct{}), make(chan error)
			count, newest := 0, uint64(301)
			go func() {
				ended <- f.Run(t.Context(), 0, func(b Batch) error {
					if count++; b.Commit == newest {
						return errEnough
					}
					<-stuck
					return nil
				})
			}()
			for i := range 300 {
				d.commit(t, fmt.Sprint("word ", i))
				if kept := heldBytes(&d.recent); kept > limit {
					t.Fatalf("%d bytes are kept, the limit is %d", kept, limit)
				}
			}
			close(stuck)
			err := <-ended
			if !volatile && (err != errEnough || count != 301) {
				t.Errorf("%d commits were told, then %v", count, err)
			}
			if volatile && !errors.Is(err, ErrLagged) {
				t.Errorf("without a log, the follower ends with %v", err)
			}
		})
	}
}

// TestFollower_isWokenWithManyOthers commits while many followers wait, some of which give up.
func TestFollower_isWokenWithManyOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase(t, memfs.New(), durable)
		const followers, commits = 50, 20
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var told atomic.Int64
		for i := range followers {
			f := d.follow(t)
			ctx := ctx
			if i%2 == 0 {
				ctx = t.Context()
			}
			all.Go(func() {
				err := f.Run(ctx, 0, func(Batch) error { told.Add(1); return nil })
				if want := []error{errClosed, context.Canceled}[i%2]; !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
			})
		}
		for n := range int64(commits) {
			synctest.Wait()
			if got := told.Load(); got != n*followers {
				t.Errorf("after %d commits, %d were told", n, got)
			}
			d.commit(t, "a")
		}
		synctest.Wait()
		cancel()
		d.commit(t, "b")
		synctest.Wait()
		d.Stop(errClosed)
		all.Wait()
		if got := told.Load(); got < commits*followers+followers/2 {
			t.Errorf("%d commits were told in all", got)
		}
	})
}

func TestFollower_reachesOnlyWhatWasCommitted(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	d.commit(t, "a")
	f := d.follow(t)
	ok(t, f.Reach(t.Context(), 0))
	ok(t, f.Reach(t.Context(), 1))
	if err := f.Reach(t.Context(), 2); err == nil {
		t.Error("a commit is reached that nobody has made")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Run(ctx, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestFollower_isNotToldOfWhatIsNotDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		syncing, done := make(chan struct{}), make(chan struct{})
		d := newDatabase(t, hooked(faultfs.Sync, func() error {
			if slow.Load() {
				syncing <- struct{}{}
				<-done
			}
			return nil
		}), durable)
		d.commit(t, "a")
		slow.Store(true)
		var all sync.WaitGroup
		commit := d.append(t, "b")
		all.Go(func() {
			if err := d.Wait(commit); err != nil {
				t.Error(err)
			}
		})
		<-syncing // the log has both
		f := d.follow(t)
		var told []string
		all.Go(func() {
			err := f.Run(t.Context(), 0, func(b Batch) error {
				told = append(told, wordsOf(t, b))
				return nil
			})
			if !errors.Is(err, errClosed) {
				t.Errorf("error %v, want %v", err, errClosed)
			}
		})
		synctest.Wait()
		if !slices.Equal(told, []string{"a"}) {
			t.Errorf("told %q before the sync, want a", told)
		}
		slow.Store(false)
		close(done)
		synctest.Wait()
		d.Stop(errClosed)
		all.Wait()
		if !slices.Equal(told, []string{"a", "b"}) {
			t.Errorf("told %q, want a and b", told)
		}
	})
}

// What is kept of a batch stays, whether it comes from memory or from the log.
func TestBatch_keepsWhatIsReadAfterwards(t *testing.T) {
	for _, limit := range []int64{0, 1 << 20} {
		c := durable
		c.KeptBytes = limit
		d := newDatabase(t, memfs.New(), c)
		f := d.follow(t)
		for i := range 20 {
			d.commit(t, fmt.Sprint("word ", i))
		}
		var kept [][]byte
		ok(t, f.Through(t.Context(), 0, 20, func(b Batch) error {
			if p := b.Keep(); b.Size() != len(p) {
				t.Errorf("the size is %d, but %d bytes are kept", b.Size(), len(p))
			}
			kept = append(kept, b.Keep())
			return nil
		}))
		for i, payload := range kept {
			if got, want := wordsOf(t, NewBatch(1, payload)), fmt.Sprint("word ", i); got != want {
				t.Errorf("of commit %d, %q is kept, want %q", i+1, got, want)
			}
		}
	}
}

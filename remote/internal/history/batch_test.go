package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// slow is a store whose answers take a second, and which knows how many were under way.
type slow struct {
	objstore.Store
	mu    sync.Mutex
	onWay int64 // bytes
	most  int64
	gets  int
}

func (s *slow) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	p, err := s.Store.Get(ctx, name, off, n)
	s.mu.Lock()
	s.gets++
	s.onWay += int64(len(p))
	s.most = max(s.most, s.onWay)
	s.mu.Unlock()
	<-time.After(time.Second)
	s.mu.Lock()
	s.onWay -= int64(len(p))
	s.mu.Unlock()
	return p, err
}

func TestBatched_fetchesWhatFitsIntoMemory(t *testing.T) {
	for _, c := range []struct {
		count, size int
		turns       time.Duration
	}{
		{1, 100, 1}, {parallelMost, 100, 1}, {parallelMost + 1, 100, 2}, {3, batchBytes, 3},
		{6, batchBytes / 2, 3}, {3, batchBytes + 1, 3},
	} {
		t.Run(fmt.Sprint(c.count, " of ", c.size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &slow{Store: memstore.New()}
				for n := range c.count {
					body := make([]byte, c.size)
					body[0] = byte(n)
					if err := store.Create(t.Context(), logName(uint64(n+1)), body); err != nil {
						t.Fatal(err)
					}
				}
				l := &Log{Store: store}
				listed, err := l.listedAfter(t.Context(), 0, math.MaxUint64)
				if err != nil {
					t.Fatal(err)
				}
				start, reading := time.Now(), l.batching(listed)
				for n := range c.count {
					p, err := reading.read(t.Context(), uint64(n+1))
					if err != nil || len(p) != c.size || p[0] != byte(n) {
						t.Fatalf("object %d is another one, or error %v", n+1, err)
					}
				}
				if took := time.Since(start); took != c.turns*time.Second || store.gets != c.count {
					t.Errorf("%d requests in %v, want %d in %d s", store.gets, took, c.count, c.turns)
				}
				if store.most > max(batchBytes, int64(c.size)) {
					t.Errorf("%d bytes are on their way", store.most)
				}
			})
		})
	}
}

func TestPresent_findsOutWhichDatabaseThereIs(t *testing.T) {
	l := newLog(t)
	stranger := *l
	stranger.Database = [16]byte{}
	if _, err := stranger.Present(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("of an empty store: %v", err)
	}
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	check(t, w.Append(t.Context(), commit()))
	for _, saved := range []bool{false, true} {
		if saved {
			_, err := l.Save(t.Context(), w.State())
			check(t, err)
		}
		stranger.Database = [16]byte{}
		s, err := stranger.Present(t.Context())
		check(t, err)
		if s.Number != 2 || s.Commit != 1 || s.Database != l.Database || stranger.Database != l.Database {
			t.Errorf("the state at %d, commit %d, of database %x", s.Number, s.Commit, s.Database)
		}
	}
	check(t, l.Store.Delete(t.Context(), []string{logName(1)}))
	if _, err := stranger.Present(t.Context()); !errors.Is(err, corrupt.Err) {
		t.Errorf("without the first object: %v", err)
	}
}

// damaged is a store whose objects cannot be read, whoever tries.
type damaged struct {
	objstore.Store
	gets int
}

func (d *damaged) Get(_ context.Context, name string, _, _ int64) ([]byte, error) {
	d.gets++
	return nil, corrupt.New(name, 0, "another key is needed")
}

func TestAhead_triesWhatCannotChangeOnce(t *testing.T) {
	l := newLog(t)
	store := &damaged{Store: l.Store}
	l.Store = store
	err := l.newAhead(1).fetch(t.Context(), []objstore.Object{{Name: logName(1)}})
	if !errors.Is(err, corrupt.Err) {
		t.Errorf("a damaged object: %v", err)
	}
	if store.gets != 1 {
		t.Errorf("it was asked for %d times", store.gets)
	}
}

package remote_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// deleteLog deletes the log objects that the newest state in a store makes needless, if there is
// one, and returns how many it has asked to delete.
func deleteLog(t testing.TB, store objstore.Store) (deleted int) {
	t.Helper()
	listed, err := store.List(t.Context(), "state/", "", 1)
	ok(t, err)
	if len(listed) == 0 {
		return 0
	}
	p, err := store.Get(t.Context(), listed[0].Name, 0, -1)
	ok(t, err)
	codec, err := object.NewCodec()
	ok(t, err)
	s, err := codec.DecodeState(listed[0].Name, p)
	ok(t, err)
	var names []string
	window := uint64(1)
	for _, c := range s.Claims {
		window = max(window, c.Window)
	}
	for n := uint64(1); n+window <= s.Number; n++ {
		_, claim := s.ClaimIndex(n)
		_, void := slices.BinarySearch(s.Void, n)
		_, pending := slices.BinarySearchFunc(s.Pending, n, func(p object.Pending, n uint64) int {
			return cmp.Compare(p.Number, n)
		})
		if !claim && !void && !pending {
			names = append(names, fmt.Sprintf("log/%016x", n))
		}
	}
	ok(t, store.Delete(t.Context(), names))
	return len(names)
}

// restless is a plan of faults for one in n requests, none if that is 0, or for all while away.
type restless struct {
	mu   sync.Mutex
	rng  *rand.Rand
	n    int
	away atomic.Bool
}

func (r *restless) plan(request faultstore.Request) faultstore.Fate {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.n
	if strings.HasPrefix(request.Name, "data/") {
		n *= 100 // there are many, and each failure takes time
	}
	if r.away.Load() || n > 0 && r.rng.IntN(n) == 0 {
		return faultstore.Unavailable
	}
	return faultstore.Answered
}

// newTroubled returns the store as a writer sees it, of whose requests one in 60 has no effect, an
// effect that nobody tells, or a late one. With each try to open, they become rarer, so that one
// succeeds, however many requests it takes.
func newTroubled(h *history, server *faultstore.Server, try int) *faultstore.Client {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(h.rng.Uint64(), 8))
	return server.Client(func(faultstore.Request) faultstore.Fate {
		mu.Lock()
		defer mu.Unlock()
		if rng.IntN(60*try) > 0 {
			return faultstore.Answered
		}
		return faultstore.Fate(1 + rng.IntN(int(faultstore.Late)))
	})
}

// watched is a reader whose states are to come in order.
type watched struct {
	*remote.Reader
	faults *restless
	seen   int // the newest transaction that it has shown
	jumps  int
}

func newWatched(t testing.TB, h *history, server *faultstore.Server) *watched {
	t.Helper()
	w := &watched{faults: &restless{rng: rand.New(rand.NewPCG(h.rng.Uint64(), 7)), n: 6}}
	client := server.Client(w.faults.plan)
	o := impatient()
	for w.Reader == nil {
		w.Reader, _ = remote.OpenReader(t.Context(), client, "", &o)
	}
	t.Cleanup(func() { ok(t, w.Close()) })
	return w
}

// check wants the reader to show a state of the history that is no older than before.
func (w *watched) check(t testing.TB, h *history) {
	t.Helper()
	away := w.faults.away.Swap(false) // what is not in memory may be read
	number, err := h.check(w.DB)
	w.faults.away.Store(away)
	ok(t, err)
	if number < w.seen {
		t.Fatalf("the reader shows transaction %d after %d", number, w.seen)
	}
	if number > w.seen+1 {
		w.jumps++
	}
	w.seen = number
}

func TestReader_showsStatesInTheirOrder(t *testing.T) {
	t.Parallel()
	seed := cmp.Or(*seedFlag, rand.Uint64())
	jumps, deleted := 0, 0
	for i := range 3 {
		j, d := runReaders(t, seed+uint64(i))
		jumps, deleted = jumps+j, deleted+d
	}
	t.Logf("from seed %d on: %d states were left out, %d log objects deleted", seed, jumps, deleted)
	if deleted == 0 || jumps == 0 {
		t.Error("no reader had to leave anything out")
	}
}

// runReaders has three writers take over from each other, while readers follow that are cut off now
// and then, and log objects are deleted.
func runReaders(t *testing.T, seed uint64) (jumps, deleted int) {
	h := newHistory(t, seed)
	server := faultstore.NewServer(memstore.New())
	var readers []*watched
	for range 3 {
		o := quick()
		o.CloseTimeout = time.Millisecond
		sizes := tuned.Sizes()
		var db *remote.DB
		for try, err := 1, error(nil); db == nil; try++ { // nobody may know what a claim has done
			tuning := sizes[h.rng.IntN(len(sizes))]
			db, err = open(t, newTroubled(h, server, try), memfs.New(), o, tuning)
			if err != nil && !errors.Is(err, objstore.ErrUnknown) &&
				!errors.Is(err, faultstore.ErrFailed) {
				t.Fatal(err)
			}
		}
		defer func() { _ = db.Close() }() // it may be fenced
		number, err := h.check(db.DB)
		ok(t, err)
		h.states = h.states[:number+1]
		for _, r := range readers {
			if r.check(t, h); r.seen > number {
				t.Fatalf("a reader shows transaction %d, which was lost after %d", r.seen, number)
			}
		}
		for range 120 {
			ok(t, h.commit(db.DB))
			if h.rng.IntN(4) > 0 {
				ok(t, db.Ship(t.Context()))
			}
			if len(readers) < 3 && h.rng.IntN(40) == 0 {
				readers = append(readers, newWatched(t, h, server))
			}
			if n := server.UnderWay(); n > 0 && h.rng.IntN(4) == 0 {
				ok(t, server.Deliver(h.rng.IntN(n)))
			}
			if h.rng.IntN(30) == 0 {
				deleted += deleteLog(t, server.Client(nil))
			}
			for _, r := range readers {
				if h.rng.IntN(20) == 0 {
					r.faults.away.Store(!r.faults.away.Load())
				}
				r.check(t, h)
			}
		}
		if h.rng.IntN(2) == 0 {
			ok(t, db.Ship(t.Context()))
		}
		position := db.Position()
		shipped := db.Status().Shipped == db.Status().Commit
		for _, r := range readers {
			if r.faults.away.Store(false); shipped {
				wantPosition(t, r.Reader, uint64(position))
				r.check(t, h)
			}
		}
	}
	for _, r := range readers {
		jumps += r.jumps
	}
	return jumps, deleted
}

// wantPosition waits for a position, and wakes a reader whose log may have been deleted.
func wantPosition(t testing.TB, r *remote.Reader, p uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for uint64(r.Position()) != p {
		if ctx.Err() != nil {
			t.Fatalf("the reader is at %d, want %d: %+v", r.Position(), p, r.Status())
		}
		runtime.Gosched()
	}
}

package remote_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// distant is a store each of whose requests takes a round trip.
type distant struct {
	objstore.Store
	trip time.Duration
}

func (d distant) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	<-time.After(d.trip)
	return d.Store.Get(ctx, name, off, n)
}

func (d distant) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	<-time.After(d.trip)
	return d.Store.List(ctx, prefix, after, limit)
}

func (d distant) Create(ctx context.Context, name string, body []byte) error {
	<-time.After(d.trip)
	return d.Store.Create(ctx, name, body)
}

// shippedOneByOne returns the objects of a database whose transactions are in log objects of their
// own, the first flushed of them in tables, too. It waits for the states, which are stored in the
// background after every 64 log objects.
func shippedOneByOne(t testing.TB, n, flushed int) *memstore.Store {
	t.Helper()
	store := memstore.New()
	db := mustOpen(t, store, memfs.New())
	for i := range n {
		ok(t, db.Put(fmt.Appendf(nil, "key%d", i), []byte("value")))
		ok(t, db.Ship(t.Context()))
		if i+1 == flushed {
			ok(t, db.Flush())
			for pendingIn(t, store) > 0 {
				ok(t, db.Ship(t.Context()))
			}
		}
		for len(names(t, store, "log/")) >= int(stateIn(t, store))+64 {
			runtime.Gosched()
		}
	}
	return store
}

// stateIn returns the number of the newest state in a store; 0 if there is none.
func stateIn(t testing.TB, store objstore.Store) uint64 {
	t.Helper()
	s, err := logOf(t, store).Newest(t.Context())
	ok(t, err)
	return s.Number
}

// pendingIn returns how many log objects have commits that are in no table.
func pendingIn(t testing.TB, store objstore.Store) int {
	t.Helper()
	end, err := logOf(t, store).End(t.Context())
	ok(t, err)
	return len(end.Pending)
}

func TestOpenReader_takesThreeRoundTrips(t *testing.T) {
	for _, c := range []struct {
		name                                        string
		transactions, flushed, trips, lists, others int
	}{
		// LIST states and log, GET log objects; LIST states for the claim
		{"without a state", 20, 0, 3, 3, 1 + 20},
		// LIST states and log, GET state and the log objects after it, GET those that are pending
		{"with a state", 78, 56, 3, 2, 1 + 32},
		// LIST states and log, GET state and LIST log, GET log objects
		{"with a long log", 270, 250, 3, 3, 1 + 32},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := shippedOneByOne(t, c.transactions, c.flushed)
			synctest.Test(t, func(t *testing.T) {
				client := faultstore.NewServer(store).Client(nil)
				const trip = time.Second
				began := time.Now()
				r, err := remote.OpenReader(t.Context(), distant{client, trip}, "", nil)
				ok(t, err)
				lists, all := client.Count(faultstore.List), client.Count()
				if took := time.Since(began); took != time.Duration(c.trips)*trip {
					t.Errorf("opening takes %v", took)
				}
				if lists != c.lists || all-lists > c.others || uint64(all) != r.Status().Requests {
					t.Errorf("%d requests, %d of them lists; the status says %d", all, lists,
						r.Status().Requests)
				}
				for i := range c.transactions {
					_, err := r.Get(fmt.Appendf(nil, "key%d", i))
					ok(t, err)
				}
				ok(t, r.Close())
			})
		})
	}
}

func TestOpenReader_looksBackOnceForAllClaims(t *testing.T) {
	store := shippedOneByOne(t, 5, 0)
	for i := range 4 {
		db := mustOpen(t, store, memfs.New())
		ok(t, db.Put(fmt.Appendf(nil, "key%d", i), []byte("another")))
		ok(t, db.Close())
	}
	if states := names(t, store, "state/"); len(states) > 0 {
		t.Fatalf("there is %s, so claims are not read", states[0])
	}
	synctest.Test(t, func(t *testing.T) {
		client := faultstore.NewServer(store).Client(nil)
		const trip = time.Second
		began := time.Now()
		r, err := remote.OpenReader(t.Context(), distant{client, trip}, "", nil)
		ok(t, err)
		if took, lists := time.Since(began), client.Count(faultstore.List); took != 3*trip || lists != 3 {
			t.Errorf("opening takes %v, with %d lists", took, lists)
		}
		got, err := r.Get([]byte("key3"))
		ok(t, err)
		if string(got) != "another" {
			t.Errorf("the reader shows %q", got)
		}
		ok(t, r.Close())
	})
}

func TestReader_asksLessOftenWhileNothingHappens(t *testing.T) {
	store := shippedOneByOne(t, 1, 0)
	synctest.Test(t, func(t *testing.T) {
		client := faultstore.NewServer(store).Client(nil)
		r, err := remote.OpenReader(t.Context(), client, "", nil)
		ok(t, err)
		opened := client.Count()
		<-time.After(3 * time.Second)
		if n := client.Count() - opened; n < 2 || n > 3 {
			t.Errorf("%d requests in the first seconds", n)
		}
		<-time.After(time.Hour)
		before := client.Count(faultstore.Get)
		lists := client.Count(faultstore.List)
		<-time.After(time.Hour)
		gets := client.Count(faultstore.Get) - before
		if lists = client.Count(faultstore.List) - lists; gets > 361 || lists > 60 || lists == 0 {
			t.Errorf("%d GETs and %d LISTs in an hour", gets, lists)
		}
		if age := r.Status().Age; age > 10*time.Second {
			t.Errorf("the age is %v", age)
		}
		ok(t, r.Close())
	})
}

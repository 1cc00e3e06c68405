package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/datastore"
)

func begin(t *testing.T, s *datastore.Store, readOnly bool) ds.Txn {
	t.Helper()
	txn, err := s.NewTransaction(t.Context(), readOnly)
	ok(t, err)
	t.Cleanup(func() { txn.Discard(context.Background()) })
	return txn
}

func TestTxn_isInvisibleUntilCommitted(t *testing.T) {
	s := inMemory(t)
	put(t, s, "old", "1")
	txn := begin(t, s, false)
	put(t, txn, "new", "2")
	ok(t, txn.Delete(t.Context(), ds.NewKey("old")))
	want(t, txn, "new", "2")
	want(t, txn, "old", none)
	want(t, s, "new", none)
	want(t, s, "old", "1")
	ok(t, txn.Commit(t.Context()))
	txn.Discard(t.Context()) // has no effect
	want(t, s, "new", "2")
	want(t, s, "old", none)
}

func TestTxn_discards(t *testing.T) {
	s := inMemory(t)
	txn := begin(t, s, false)
	put(t, txn, "k", "v")
	txn.Discard(t.Context())
	txn.Discard(t.Context())
	put(t, s, "other", "v") // the next writer has its turn
	want(t, s, "k", none)
}

func TestTxn_isOverAfterItsEnd(t *testing.T) {
	s, ctx := inMemory(t), t.Context()
	put(t, s, "k", "v")
	txn := begin(t, s, false)
	before, err := txn.Query(ctx, query.Query{})
	ok(t, err)
	expiring, err := txn.Query(ctx, query.Query{ReturnExpirations: true})
	ok(t, err)
	ok(t, txn.Commit(ctx))
	_, expiringErr := expiring.Rest()
	_, getErr := txn.Get(ctx, ds.NewKey("k"))
	_, beforeErr := before.Rest()
	after, queryErr := txn.Query(ctx, query.Query{})
	if queryErr == nil {
		_, queryErr = after.Rest()
	}
	for _, err := range []error{
		getErr, beforeErr, expiringErr, queryErr, txn.Put(ctx, ds.NewKey("k"), nil), txn.Commit(ctx),
	} {
		if !errors.Is(err, stoat.ErrTxClosed) {
			t.Errorf("the error is %v, want ErrTxClosed", err)
		}
	}
}

func TestTxn_readOnly(t *testing.T) {
	s := inMemory(t)
	put(t, s, "k", "1")
	txn := begin(t, s, true)
	put(t, s, "k", "2") // readers do not block writers
	want(t, txn, "k", "1")
	if err := txn.Put(t.Context(), ds.NewKey("k"), nil); !errors.Is(err, stoat.ErrReadOnly) {
		t.Errorf("the error of a write is %v, want ErrReadOnly", err)
	}
	ok(t, txn.Commit(t.Context()))
}

func TestTxn_waitsForItsTurnWhileItsContextLasts(t *testing.T) {
	s := inMemory(t)
	txn := begin(t, s, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := s.NewTransaction(ctx, false)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error of a second writer is %v", err)
	}
	if err := s.Put(ctx, ds.NewKey("k"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error of a write beside the transaction is %v", err)
	}
	txn.Discard(t.Context())
}

func TestTxn_queriesWhatItWrote(t *testing.T) {
	s := inMemory(t)
	put(t, s, "/a", "")
	txn := begin(t, s, false)
	put(t, txn, "/b", "")
	if got := keysOf(t, txn, query.Query{}); !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("the keys are %v", got)
	}
}

// TestTxn_writesWhileItsQueryRuns reads the results from a channel, which a goroutine fills.
func TestTxn_writesWhileItsQueryRuns(t *testing.T) {
	s := inMemory(t)
	for i := range 500 {
		put(t, s, fmt.Sprint(i), "old")
	}
	txn := begin(t, s, false)
	res, err := txn.Query(t.Context(), query.Query{})
	ok(t, err)
	n := 0
	for r := range res.Next() {
		ok(t, r.Error)
		if string(r.Value) != "old" {
			t.Fatalf("%s is %q, which was written later", r.Key, r.Value)
		}
		put(t, txn, r.Key, "new")
		put(t, txn, r.Key+"/child", "new")
		n++
	}
	if n != 500 {
		t.Errorf("%d results, want 500", n)
	}
	ok(t, txn.Commit(t.Context()))
	want(t, s, "499/child", "new")
}

// TestTxn_isUsedWhileALimitEndsItsQuery is for the race detector: the goroutine that fills the
// channel ends the query.
func TestTxn_isUsedWhileALimitEndsItsQuery(t *testing.T) {
	for name, q := range map[string]query.Query{
		"limit":              {Limit: 10},
		"limit, order":       {Limit: 10, Orders: []query.Order{query.OrderByKeyDescending{}}},
		"limit, expirations": {Limit: 10, ReturnExpirations: true},
		"limit, filter": {Limit: 10, Filters: []query.Filter{
			query.FilterKeyCompare{Op: query.NotEqual, Key: "/1"},
		}},
	} {
		s := inMemory(t)
		for i := range 50 {
			put(t, s, fmt.Sprint(i), "old")
		}
		txn := begin(t, s, false)
		res, err := txn.Query(t.Context(), q)
		ok(t, err)
		n := 0
		for r := range res.Next() {
			ok(t, r.Error)
			put(t, txn, r.Key+"/child", "new")
			if got := keysOf(t, txn, query.Query{Prefix: r.Key}); len(got) != 1 {
				t.Errorf("%s: the children of %s are %q", name, r.Key, got)
			}
			n++
		}
		if n != 10 {
			t.Errorf("%s: %d results, want 10", name, n)
		}
		ok(t, txn.Commit(t.Context()))
	}
}

func TestTxn_queriesTheStateOfTheCall(t *testing.T) {
	for name, keys := range map[string][]string{"empty": nil, "two keys": {"/a", "/c"}} {
		s := inMemory(t)
		for _, key := range keys {
			put(t, s, key, "old")
		}
		txn := begin(t, s, false)
		res, err := txn.Query(t.Context(), query.Query{})
		ok(t, err)
		for _, key := range []string{"/", "/a", "/b", "/d"} {
			put(t, txn, key, "new")
		}
		ok(t, txn.Delete(t.Context(), ds.NewKey("/c")))
		all, err := res.Rest()
		ok(t, err)
		var got []string
		for _, e := range all {
			got = append(got, e.Key)
			if string(e.Value) != "old" {
				t.Errorf("%s: %s is %q, which was written after the call", name, e.Key, e.Value)
			}
		}
		if !slices.Equal(got, keys) {
			t.Errorf("%s: the keys are %q, want %q", name, got, keys)
		}
	}
}

// TestTxn_queriesExpirationsOfTheCall changes each of them between the call and the results.
func TestTxn_queriesExpirationsOfTheCall(t *testing.T) {
	keys := []string{"/a", "/b", "/c", "/d"}
	for _, order := range []query.Order{query.OrderByKey{}, query.OrderByKeyDescending{}} {
		s, ctx := inMemory(t), t.Context()
		at := map[string]time.Time{}
		for _, key := range keys {
			ok(t, s.PutWithTTL(ctx, ds.NewKey(key), []byte("old"), time.Hour))
			var err error
			at[key], err = s.GetExpiration(ctx, ds.NewKey(key))
			ok(t, err)
		}
		txn := begin(t, s, false)
		q := query.Query{ReturnExpirations: true, Orders: []query.Order{order}}
		res, err := txn.Query(ctx, q)
		ok(t, err)
		put(t, txn, "/a", "new")
		ok(t, txn.Delete(ctx, ds.NewKey("/b")))
		ok(t, txn.(ds.TTL).SetTTL(ctx, ds.NewKey("/c"), time.Minute))
		ok(t, txn.(ds.TTL).PutWithTTL(ctx, ds.NewKey("/d"), []byte("new"), time.Minute))
		all, err := res.Rest()
		ok(t, err)
		for _, e := range all {
			if string(e.Value) != "old" || !e.Expiration.Equal(at[e.Key]) {
				t.Errorf("%s: %q until %s, want old until %s", e.Key, e.Value, e.Expiration, at[e.Key])
			}
		}
		if len(all) != len(keys) {
			t.Errorf("%d results, want %d", len(all), len(keys))
		}
	}
}

func TestTxn_hasTTL(t *testing.T) {
	s := inMemory(t)
	txn := begin(t, s, false)
	ttl, has := txn.(ds.TTL)
	if !has {
		t.Fatal("a transaction cannot store what expires")
	}
	ok(t, ttl.PutWithTTL(t.Context(), ds.NewKey("k"), nil, time.Hour))
	ok(t, txn.Commit(t.Context()))
	at, err := s.GetExpiration(t.Context(), ds.NewKey("k"))
	ok(t, err)
	if at.IsZero() {
		t.Error("the value does not expire")
	}
}

// TestTxn_survivesAFailingDisk cuts tables off, so that reading their maps is a fault.
func TestTxn_survivesAFailingDisk(t *testing.T) {
	skipWhereMappedFilesAreFixed(t)
	dir := t.TempDir()
	s := openAt(t, dir, nil)
	for i := range 100 {
		put(t, s, fmt.Sprint(i), string(make([]byte, 2000)))
	}
	ok(t, s.Close())
	s = openAt(t, dir, nil)
	txn := begin(t, s, true)
	want(t, txn, "0", string(make([]byte, 2000)))
	tables, err := filepath.Glob(filepath.Join(dir, "*.table"))
	ok(t, err)
	for _, name := range tables {
		ok(t, os.Truncate(name, 0))
	}
	failed := false
	for i := range 100 {
		if _, err := txn.Get(t.Context(), ds.NewKey(fmt.Sprint(i))); err != nil {
			failed = true
		}
	}
	if !failed {
		t.Error("all was read from files that are empty")
	}
	res, err := txn.Query(t.Context(), query.Query{})
	if err == nil {
		_, err = res.Rest()
	}
	if err == nil {
		t.Error("a query reads from files that are empty")
	}
}

func TestBatch_isAtomicAndEndsWithItsCommit(t *testing.T) {
	s, ctx := inMemory(t), t.Context()
	b, err := s.Batch(ctx)
	ok(t, err)
	ok(t, b.Put(ctx, ds.NewKey("k"), []byte("1")))
	ok(t, b.Put(ctx, ds.NewKey("k"), []byte("2")))
	gone, cancel := context.WithCancel(ctx)
	cancel()
	is(t, b.Commit(gone), context.Canceled)
	want(t, s, "k", none)
	ok(t, b.Commit(ctx)) // a failed commit can be repeated
	want(t, s, "k", "2")
	for _, err := range []error{
		b.Put(ctx, ds.NewKey("k"), nil), b.Delete(ctx, ds.NewKey("k")), b.Commit(ctx),
	} {
		is(t, err, datastore.ErrCommitted)
	}
	empty, _ := s.Batch(ctx)
	ok(t, empty.Commit(ctx))
}

func TestBatch_isAllOrNothing(t *testing.T) {
	s, ctx := inMemory(t), t.Context()
	b, _ := s.Batch(ctx)
	ok(t, b.Put(ctx, ds.NewKey("good"), nil))
	ok(t, b.Put(ctx, ds.NewKey(string(make([]byte, 70000))), nil))
	if err := b.Commit(ctx); !errors.Is(err, stoat.ErrTooLarge) {
		t.Errorf("the error is %v, want ErrTooLarge", err)
	}
	want(t, s, "good", none)
}

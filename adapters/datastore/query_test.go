package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ipfs/go-datastore/query"

	ds "github.com/ipfs/go-datastore"
)

func TestQuery_selectsTheChildrenOfAPrefix(t *testing.T) {
	s := inMemory(t)
	for _, key := range []string{"/a", "/a/b", "/a/b/c", "/a.b", "/a0", "/a/\xff", "/b"} {
		put(t, s, key, "")
	}
	for prefix, want := range map[string][]string{
		"/a": {"/a/b", "/a/b/c", "/a/\xff"}, "a/": {"/a/b", "/a/b/c", "/a/\xff"},
		"/a/b/../": {"/a/b", "/a/b/c", "/a/\xff"}, "/a/b": {"/a/b/c"}, "/c": nil,
	} {
		q := query.Query{Prefix: prefix, Orders: []query.Order{query.OrderByKey{}}}
		if got := keysOf(t, s, q); !slices.Equal(got, want) {
			t.Errorf("the children of %s are %q, want %q", prefix, got, want)
		}
	}
}

func TestQuery_filtersAndSortsByValuesThatItDoesNotReturn(t *testing.T) {
	s := inMemory(t)
	put(t, s, "/1", "c")
	put(t, s, "/2", "a")
	put(t, s, "/3", "b")
	less := query.FilterValueCompare{Op: query.LessThan, Value: []byte("c")}
	for name, q := range map[string]query.Query{
		"filter": {KeysOnly: true, Filters: []query.Filter{less}},
		"order":  {KeysOnly: true, Orders: []query.Order{query.OrderByValue{}}, Limit: 2},
	} {
		if got := keysOf(t, s, q); !slices.Equal(got, []string{"/2", "/3"}) {
			t.Errorf("%s: the keys are %q", name, got)
		}
	}
}

func TestQuery_returnsWhatIsAskedFor(t *testing.T) {
	s := inMemory(t)
	put(t, s, "/k", "value")
	byValue := []query.Order{query.OrderByValue{}}
	for _, c := range []struct {
		q     query.Query
		value string
		size  int
	}{
		{query.Query{}, "value", 5},
		{query.Query{KeysOnly: true}, "", -1},
		{query.Query{KeysOnly: true, ReturnsSizes: true}, "", 5},
		{query.Query{KeysOnly: true, Orders: byValue}, "", 5},
	} {
		res, err := s.Query(t.Context(), c.q)
		ok(t, err)
		all, err := res.Rest()
		ok(t, err)
		if len(all) != 1 || string(all[0].Value) != c.value || all[0].Size != c.size {
			t.Errorf("%s: got %v, want %q of size %d", &c.q, all, c.value, c.size)
		}
	}
}

func TestQuery_readsTheStateOfItsBeginning(t *testing.T) {
	s := inMemory(t)
	put(t, s, "/1", "")
	put(t, s, "/2", "")
	res, err := s.Query(t.Context(), query.Query{})
	ok(t, err)
	ok(t, s.Delete(t.Context(), ds.NewKey("/2")))
	put(t, s, "/3", "")
	all, err := res.Rest()
	ok(t, err)
	if len(all) != 2 || all[1].Key != "/2" {
		t.Errorf("the entries are %v, want those before the writes", all)
	}
}

func TestQuery_mayBeLeftEarly(t *testing.T) {
	s := inMemory(t)
	for i := range 300 {
		put(t, s, fmt.Sprint(i), "")
	}
	for _, channel := range []bool{false, true} {
		res, err := s.Query(t.Context(), query.Query{})
		ok(t, err)
		if channel {
			<-res.Next()
		} else {
			res.NextSync()
		}
		ok(t, res.Close())
		ok(t, res.Close())
	}
	res, err := s.Query(t.Context(), query.Query{})
	ok(t, err)
	ok(t, s.Close())
	if all, err := res.Rest(); err != nil || len(all) != 300 {
		t.Errorf("%d entries of a query that the store's end found open, %v", len(all), err)
	}
}

// TestQuery_returnsNothingOnceClosed closes results of which the first has been found already.
func TestQuery_returnsNothingOnceClosed(t *testing.T) {
	s := inMemory(t)
	put(t, s, "/k", "")
	res, err := s.Query(t.Context(), query.Query{})
	ok(t, err)
	ok(t, res.Close())
	if r, more := res.NextSync(); more {
		t.Errorf("closed results return %v", r)
	}
}

func TestQuery_endsWithItsContext(t *testing.T) {
	s := inMemory(t)
	for i := range 10 {
		put(t, s, fmt.Sprint(i), "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	res, err := s.Query(ctx, query.Query{})
	ok(t, err)
	res.NextSync()
	cancel()
	if all, err := res.Rest(); !errors.Is(err, context.Canceled) {
		t.Errorf("%d more entries, and the error is %v", len(all), err)
	}
}

// TestQuery_besideWriters moves a value from key to key, so each state has exactly one.
func TestQuery_besideWriters(t *testing.T) {
	s, ctx := inMemory(t), t.Context()
	put(t, s, "/0", "v")
	var group sync.WaitGroup
	group.Go(func() {
		for i := range 300 {
			b, _ := s.Batch(ctx)
			_ = b.Delete(ctx, ds.NewKey(fmt.Sprint(i%7)))
			_ = b.Put(ctx, ds.NewKey(fmt.Sprint((i+1)%7)), []byte("v"))
			if err := b.Commit(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	for range 300 {
		if got := keysOf(t, s, query.Query{}); len(got) != 1 {
			t.Errorf("a query sees %v, want one key", got)
		}
	}
	group.Wait()
}

// TestQuery_withExpirationsEqualsTheOneWithout compares queries of all kinds.
func TestQuery_withExpirationsEqualsTheOneWithout(t *testing.T) {
	s := inMemory(t)
	expire := map[string]bool{}
	for i, key := range []string{"/", "/a", "/a/b", "/a/c", "/a/c/d", "/a/\xff", "/a0", "/z"} {
		if expire[key] = i%2 == 0; expire[key] {
			ok(t, s.PutWithTTL(t.Context(), ds.RawKey(key), []byte(key), time.Hour))
		} else {
			put(t, s, key, key)
		}
	}
	for i := range 3 * 2 * 2 * 3 * 3 {
		q := query.Query{
			Prefix: []string{"", "/a", "/b"}[i%3], KeysOnly: i/3%2 == 0,
			Orders: [][]query.Order{{query.OrderByKey{}}, {query.OrderByKeyDescending{}}}[i/6%2],
			Limit:  []int{0, 1, 3}[i/12%3], Offset: []int{0, 1, 9}[i/36%3],
		}
		want := entries(t, s, q)
		for i := range want {
			if key := want[i].Key; expire[key] {
				at, err := s.GetExpiration(t.Context(), ds.RawKey(key))
				ok(t, err)
				want[i].Expiration = at
			}
		}
		q.ReturnExpirations = true
		if got := entries(t, s, q); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", &q, got, want)
		}
	}
}

func entries(t *testing.T, s ds.Read, q query.Query) []query.Entry {
	t.Helper()
	res, err := s.Query(t.Context(), q)
	ok(t, err)
	all, err := res.Rest()
	ok(t, err)
	return all
}

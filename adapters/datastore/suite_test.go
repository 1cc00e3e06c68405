package datastore_test

import (
	"bytes"
	"testing"
	"time"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/autobatch"
	"github.com/ipfs/go-datastore/keytransform"
	"github.com/ipfs/go-datastore/mount"
	"github.com/ipfs/go-datastore/namespace"
	"github.com/ipfs/go-datastore/query"
	"github.com/ipfs/go-datastore/retrystore"
	"github.com/ipfs/go-datastore/scoped"
	"github.com/ipfs/go-datastore/sync"
	dstest "github.com/ipfs/go-datastore/test"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/datastore"
)

// TestSuite runs the suite of go-datastore on databases of several kinds, and behind the wrappers
// that programs use. All but the first have as few entries as the suite allows.
func TestSuite(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	for i, kind := range []struct {
		name string
		make func(t *testing.T) ds.Datastore
	}{
		{"in memory", func(t *testing.T) ds.Datastore { return inMemory(t) }},
		{"on disk", func(t *testing.T) ds.Datastore { return onDisk(t, nil) }},
		{"encrypted", func(t *testing.T) ds.Datastore { return onDisk(t, key) }},
		{"sync", func(t *testing.T) ds.Datastore { return sync.MutexWrap(inMemory(t)) }},
		{"autobatch", func(t *testing.T) ds.Datastore {
			return autobatch.NewAutoBatching(inMemory(t), 16)
		}},
		{"namespace", func(t *testing.T) ds.Datastore {
			return namespace.Wrap(withNeighbours(t), ds.NewKey("/within"))
		}},
		{"keytransform", func(t *testing.T) ds.Datastore {
			return keytransform.Wrap(withNeighbours(t), keytransform.PrefixTransform{
				Prefix: ds.NewKey("/within"),
			})
		}},
		{"mount", func(t *testing.T) ds.Datastore {
			return mount.New([]mount.Mount{
				{Prefix: ds.NewKey("/prefix"), Datastore: inMemory(t)},
				{Prefix: ds.NewKey("/"), Datastore: inMemory(t)},
			})
		}},
		{"retrystore", func(t *testing.T) ds.Datastore {
			return &retrystore.Datastore{
				Batching: inMemory(t), Retries: 1, Delay: time.Nanosecond,
				TempErrFunc: func(error) bool { return false },
			}
		}},
		{"scoped", func(t *testing.T) ds.Datastore {
			return scoped.WithFeatures(inMemory(t), ds.Features())
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			if i > 0 {
				t.Parallel() // they begin when the loop has ended
			}
			dstest.SubtestAll(t, kind.make(t))
		})
	}
	dstest.ElemCount = 20
}

// withNeighbours returns a store with entries around those under /within.
func withNeighbours(t *testing.T) *datastore.Store {
	t.Helper()
	s := inMemory(t)
	for _, key := range []string{"/a", "/within", "/withi", "/within.", "/within0", "/z"} {
		put(t, s, key, "neighbour")
	}
	return s
}

// inMemory returns an empty store.
func inMemory(t *testing.T) *datastore.Store {
	t.Helper()
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	s := datastore.New(db)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}

// onDisk returns an empty store, encrypted if there is a key, whose commits are not synced.
func onDisk(t *testing.T, key []byte) *datastore.Store {
	t.Helper()
	return openAt(t, t.TempDir(), key)
}

func openAt(t *testing.T, dir string, key []byte) *datastore.Store {
	t.Helper()
	db, err := stoat.Open(dir, &stoat.Options{Key: key, Sync: stoat.SyncNever})
	ok(t, err)
	s := datastore.New(db)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}

func put(t *testing.T, w ds.Write, key, value string) {
	t.Helper()
	ok(t, w.Put(t.Context(), ds.NewKey(key), []byte(value)))
}

// want fails the test unless key has the value; none means that it is missing.
func want(t *testing.T, r ds.Read, key, value string) {
	t.Helper()
	got, err := r.Get(t.Context(), ds.NewKey(key))
	if value == none {
		is(t, err, ds.ErrNotFound)
		return
	}
	ok(t, err)
	if string(got) != value {
		t.Errorf("%s is %q, want %q", key, got, value)
	}
}

const none = "\x00none"

// keysOf returns the keys of the results, in their order.
func keysOf(t *testing.T, r ds.Read, q query.Query) (keys []string) {
	t.Helper()
	for e, err := range ds.QueryIter(t.Context(), r, q) {
		ok(t, err)
		keys = append(keys, e.Key)
	}
	return keys
}

package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// small is sizes with which a database soon has many files.
func small() engine.Tuning { return tuned.Sizes()[0] }

// storeOfTwo returns a store that two writers have written to, without deleting anything.
func storeOfTwo(t *testing.T) objstore.Store {
	t.Helper()
	store, h := memstore.New(), newHistory(t, 31)
	disk := memfs.New()
	for range 2 {
		db, err := open(t, store, disk, quick(), small())
		ok(t, err)
		busy(t, h, db, 20)
		_, err = db.Collect(t.Context()) // stores a state
		ok(t, err)
		busy(t, h, db, 5)
		ok(t, db.Close())
	}
	return store
}

// objects returns what is in a store.
func objects(t *testing.T, store objstore.Store) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, name := range names(t, store, "") {
		p, err := store.Get(t.Context(), name, 0, -1)
		ok(t, err)
		all[name] = p
	}
	return all
}

// replace stores an object in the place of another one; nil stores none.
func replace(t *testing.T, store objstore.Store, name string, p []byte) {
	t.Helper()
	ok(t, store.Delete(t.Context(), []string{name}))
	if p != nil {
		ok(t, store.Put(t.Context(), name, bytes.NewReader(p), int64(len(p))))
	}
}

func TestInspect_countsEveryObject(t *testing.T) {
	store := storeOfTwo(t)
	_, err := remote.Pin(t.Context(), store, "here")
	ok(t, err)
	ok(t, store.Create(t.Context(), "notes/1", []byte("other")))
	info, err := remote.Inspect(t.Context(), store)
	ok(t, err)
	var all remote.Usage
	for _, p := range objects(t, store) {
		all.Objects++
		all.Bytes += int64(len(p))
	}
	var sum remote.Usage
	for _, u := range []remote.Usage{
		info.Log, info.States, info.Tables, info.Values, info.Pinned, info.Other,
	} {
		sum.Objects += u.Objects
		sum.Bytes += u.Bytes
	}
	if sum != all {
		t.Errorf("the kinds have %+v, and the store has %+v", sum, all)
	}
	if info.Pinned.Objects != 1 || info.Other != (remote.Usage{Objects: 1, Bytes: 5}) ||
		info.Log.Objects != len(names(t, store, "log/")) ||
		info.States.Objects != len(names(t, store, "state/")) ||
		info.Tables.Objects+info.Values.Objects != len(names(t, store, "data/")) {
		t.Errorf("the kinds are %+v", info)
	}
	if len(info.Writers) != 2 || info.Writers[0].Epoch != 2 || info.Writers[1].Name != "test" ||
		len(info.Pins) != 1 || info.Pins[0].Name != "here" || info.Oldest.Commit != 0 ||
		info.Newest.Commit != info.Pins[0].Commit || info.Newest.Time.IsZero() {
		t.Errorf("got %+v", info)
	}
}

// TestInspect_saysWhatIsPast removes what the newest commit does not need.
func TestInspect_saysWhatIsPast(t *testing.T) {
	store := storeOfTwo(t)
	before, err := remote.Inspect(t.Context(), store)
	ok(t, err)
	if before.Past.Objects == 0 || before.Past.Bytes == 0 {
		t.Fatal("nothing is past, so this tests nothing")
	}
	db, err := open(t, store, memfs.New(), forgetful(), engine.Tuning{})
	ok(t, err)
	ok(t, db.Put([]byte("a"), []byte("b")))
	ok(t, db.Ship(t.Context()))
	collectAll(t, db)
	ok(t, db.Close())
	after, err := remote.Inspect(t.Context(), store)
	ok(t, err)
	// Closing has compacted, and nothing is collected after that.
	if after.Past.Objects*2 > before.Past.Objects || after.Oldest.Commit < before.Newest.Commit {
		t.Errorf("before the collection, it was\n%+v\nand afterwards\n%+v", before, after)
	}
	_, err = remote.Verify(t.Context(), store)
	ok(t, err)
}

func TestInspect_needsADatabase(t *testing.T) {
	_, err := remote.Inspect(t.Context(), memstore.New())
	wantErr(t, err, remote.ErrNone)
	_, err = remote.Verify(t.Context(), memstore.New())
	wantErr(t, err, remote.ErrNone)
}

// TestVerify_findsWhatIsDamagedOrMissing changes every object of a store in turn.
func TestVerify_findsWhatIsDamagedOrMissing(t *testing.T) {
	store := storeOfTwo(t)
	whole, err := remote.Verify(t.Context(), store)
	ok(t, err)
	logs := names(t, store, "log/")
	if whole.Oldest != 0 || whole.LogObjects != uint64(len(logs)) || whole.Files == 0 ||
		whole.States != len(names(t, store, "state/")) {
		t.Errorf("got %+v", whole)
	}
	found := 0 // files, once for each way
	for name, p := range objects(t, store) {
		bad := bytes.Clone(p)
		bad[len(bad)/2] ^= 1
		isData := strings.HasPrefix(name, "data/")
		if isData {
			bad = bad[:len(bad)-1]
		}
		for _, with := range [][]byte{bad, nil} {
			replace(t, store, name, with)
			_, err := remote.Verify(t.Context(), store)
			replace(t, store, name, p)
			named := err != nil && strings.Contains(err.Error(), name)
			if named {
				wantErr(t, err, stoat.ErrCorrupt)
			}
			switch {
			case isData && named:
				found++
			case isData && err == nil: // no version names it
			case with == nil && (name == logs[len(logs)-1] || strings.HasPrefix(name, "state/")):
				// The log may end before, and any state may be missing.
			case !named:
				t.Errorf("with %d bytes of %s, the error is %v", len(with), name, err)
			}
		}
	}
	if found != 2*whole.Files {
		t.Errorf("%d of %d files were named", found, 2*whole.Files)
	}
}

// TestVerify_findsAWrongState stores an old state that is whole, but not of its time.
func TestVerify_findsAWrongState(t *testing.T) {
	store := storeOfTwo(t)
	codec, err := object.NewCodec()
	ok(t, err)
	states := names(t, store, "state/") // the newest first, from which the end of the log is found
	name := states[len(states)-1]
	s, err := codec.DecodeState(name, objects(t, store)[name])
	ok(t, err)
	s.Time++
	wrong, err := codec.EncodeState(s)
	ok(t, err)
	replace(t, store, name, wrong)
	_, err = remote.Verify(t.Context(), store)
	wantErr(t, err, stoat.ErrCorrupt)
	if !strings.Contains(err.Error(), name) {
		t.Errorf("the error is %v", err)
	}
}

// TestVerify_findsWhatIsKeptOfThePast removes log objects that a collection has left, because the
// first state needs them.
func TestVerify_findsWhatIsKeptOfThePast(t *testing.T) {
	store, h := memstore.New(), newHistory(t, 32)
	db, err := open(t, store, memfs.New(), forgetful(), engine.Tuning{})
	ok(t, err)
	for range 3 {
		busy(t, h, db, 20)
		_, err = db.Collect(t.Context())
		ok(t, err)
	}
	ok(t, db.Close())
	log := logOf(t, store)
	end, err := log.End(t.Context())
	ok(t, err)
	first, err := log.First(t.Context(), end)
	ok(t, err)
	if first.Number == 0 || len(first.Claims) == 0 || len(first.Pending) < 2 {
		t.Fatalf("the state %d has %d claims, and %d pending objects: this tests too little",
			first.Number, len(first.Claims), len(first.Pending))
	}
	needed := []uint64{first.Pending[0].Number, first.Pending[1].Number}
	for _, n := range needed {
		name := fmt.Sprintf("log/%016x", n)
		p, err := store.Get(t.Context(), name, 0, -1)
		ok(t, err)
		replace(t, store, name, nil)
		_, err = remote.Verify(t.Context(), store)
		wantErr(t, err, stoat.ErrCorrupt)
		if !strings.Contains(err.Error(), name) {
			t.Errorf("without %s, the error is %v", name, err)
		}
		replace(t, store, name, p)
	}
	_, err = remote.Verify(t.Context(), store)
	ok(t, err)
}

func TestOpen_refusesAStoreWithoutItsFirstObject(t *testing.T) {
	store := storeOfTwo(t)
	replace(t, store, names(t, store, "log/")[0], nil)
	before := len(names(t, store, ""))
	_, err := open(t, store, memfs.New(), quick(), engine.Tuning{})
	wantErr(t, err, stoat.ErrCorrupt)
	wantErr(t, tryRestore(store, memfs.New(), remote.RestoreOptions{}), stoat.ErrCorrupt)
	if after := len(names(t, store, "")); after != before {
		t.Errorf("the store had %d objects, and has %d", before, after)
	}
}

// TestVerify_passesWhileAWriterDeletes verifies again and again.
func TestVerify_passesWhileAWriterDeletes(t *testing.T) {
	store, h := memstore.New(), newHistory(t, 33)
	db, err := open(t, store, memfs.New(), forgetful(), small())
	ok(t, err)
	busy(t, h, db, 20)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		for range 15 {
			for range 10 {
				if err := h.commit(db.DB); err != nil {
					ended <- err
					return
				}
			}
			if _, err := db.Collect(context.Background()); err != nil {
				ended <- err
				return
			}
		}
		ended <- db.Close()
	}()
	n := 0
	for ; ctx.Err() == nil; n++ {
		_, err := remote.Verify(t.Context(), store)
		ok(t, err)
		_, err = remote.Inspect(t.Context(), store)
		ok(t, err)
	}
	ok(t, <-ended)
	t.Logf("verified %d times", n)
}

func TestVerify_knowsRequestsOnTheirWay(t *testing.T) {
	server := faultstore.NewServer(memstore.New())
	overtaken(t, server, faultstore.Unavailable)
	v, err := remote.Verify(t.Context(), server.Client(nil))
	ok(t, err)
	if v.Newest != 1 || v.LogObjects != 2 {
		t.Errorf("got %+v, and the log has 2 objects with commit 1", v)
	}
	// With one more, it cannot be on its way.
	ok(t, server.Client(nil).Create(t.Context(), "log/0000000000000005", []byte("later")))
	_, err = remote.Verify(t.Context(), server.Client(nil))
	wantErr(t, err, stoat.ErrCorrupt)
}

// overtaken crashes a writer with one commit, and two requests on their way: the one for log object
// 3 has a fate, and the one for log object 4 has arrived.
func overtaken(t *testing.T, server *faultstore.Server, fate faultstore.Fate) {
	t.Helper()
	const held, after = "log/0000000000000003", "log/0000000000000004"
	var sent atomic.Bool
	client := server.Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op == faultstore.Create && r.Name == held && sent.CompareAndSwap(false, true) {
			return fate
		}
		if sent.Load() && r.Name == held {
			return faultstore.Unavailable
		}
		return faultstore.Answered
	})
	o := quick()
	o.Durability, o.CloseTimeout = remote.Wait, time.Millisecond
	db, err := open(t, client, memfs.New(), o, engine.Tuning{})
	ok(t, err)
	ok(t, db.Put([]byte("a"), nil)) // log object 2
	var commits sync.WaitGroup
	put := func(key string) {
		commits.Go(func() { wantErr(t, db.Put([]byte(key), nil), remote.ErrUnknown) })
	}
	put("b")
	for !sent.Load() {
		runtime.Gosched()
	}
	put("c")
	for store := server.Client(nil); ; runtime.Gosched() {
		if _, err := store.Get(t.Context(), after, 0, -1); err == nil {
			break
		}
	}
	client.Crash()
	wantErr(t, db.Close(), remote.ErrUnshipped)
	commits.Wait()
}

package remote_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// counted is a store that counts requests for files, and the bytes that they bring.
type counted struct {
	objstore.Store
	requests, bytes atomic.Int64
}

func (c *counted) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	p, err := c.Store.Get(ctx, name, off, n)
	if strings.HasPrefix(name, "data/") {
		c.requests.Add(1)
		c.bytes.Add(int64(len(p)))
	}
	return p, err
}

func (c *counted) take() (requests, bytes int) {
	return int(c.requests.Swap(0)), int(c.bytes.Swap(0))
}

// largeTable is how many records the databases of these tests have: one table of about 10 MB, whose
// keys take more than is fetched as a whole at once.
const largeTable = 24_000

func largeKey(i int) []byte {
	rng := rand.New(rand.NewPCG(uint64(i), 11))
	return fmt.Appendf(nil, "%016x%016x", rng.Uint64(), rng.Uint64())
}

// largeValue returns bytes that do not compress.
func largeValue(i, bytes int) []byte {
	rng, p := rand.New(rand.NewPCG(uint64(i), 12)), make([]byte, 0, bytes+8)
	for len(p) < bytes {
		p = binary.LittleEndian.AppendUint64(p, rng.Uint64())
	}
	return p[:bytes]
}

// shipped returns a store with a compacted database of values of some size.
func shipped(t testing.TB, records, valueBytes int) *memstore.Store {
	t.Helper()
	store := memstore.New()
	db := mustOpen(t, store, memfs.New())
	ok(t, db.Update(func(tx *stoat.Tx) error {
		for i := range records {
			if err := tx.Put(largeKey(i), largeValue(i, valueBytes)); err != nil {
				return err
			}
		}
		return nil
	}))
	ok(t, db.Compact(t.Context()))
	ok(t, db.Ship(t.Context()))
	for !inTables(t, store, db) {
		runtime.Gosched() // no further commit: a reader would keep it in memory with those before it
	}
	return store
}

// inTables reports whether a new reader has nothing in memory, and the files of the database as it
// is now.
func inTables(t testing.TB, store objstore.Store, db *remote.DB) bool {
	t.Helper()
	r, err := remote.OpenReader(t.Context(), store, "", nil)
	ok(t, err)
	there, here := r.Stats(), db.Stats()
	ok(t, r.Close())
	return there.Tables > 0 && there.YoungRuns == 0 && there.MemtableBytes < 100<<10 &&
		there.TableBytes == here.TableBytes && there.ValueFileBytes == here.ValueFileBytes
}

// cold is a reader whose folder is on a disk.
func cold(t testing.TB, store objstore.Store, disk vfs.FS) *remote.Reader {
	t.Helper()
	o := &remote.ReaderOptions{}
	defer hook.Attach(o, hook.Settings{FS: disk})()
	r, err := remote.OpenReader(t.Context(), store, "cache", o)
	ok(t, err)
	return r
}

func TestReader_coldGetTakesOneRequest(t *testing.T) {
	objects := shipped(t, largeTable, 400)
	synctest.Test(t, func(t *testing.T) {
		const trip = time.Second
		store, disk := &counted{Store: objects}, memfs.New()
		r := cold(t, distant{store, trip}, disk)
		get := func(i int) time.Duration {
			t.Helper()
			began := time.Now()
			v, err := r.Get(largeKey(i))
			ok(t, err)
			if string(v) != string(largeValue(i, 400)) {
				t.Fatalf("value %d is another one", i)
			}
			return time.Since(began)
		}
		if took := get(0); took != 2*trip {
			t.Errorf("the first get takes %v", took)
		}
		<-time.After(10 * trip) // the keys come meanwhile
		store.take()
		for i := range 40 {
			took := get(i)
			requests, bytes := store.take()
			if requests > 1 || took > trip || bytes > 40<<10 || i == 0 && requests > 0 {
				t.Errorf("get %d takes %d requests, %d bytes and %v", i, requests, bytes, took)
			}
		}
		ok(t, r.Close())
		r = cold(t, distant{store, trip}, disk)
		store.take()
		for i := range 40 {
			get(i)
		}
		if requests, bytes := store.take(); requests > 0 {
			t.Errorf("with what is in its folder, a reader needs %d requests, %d bytes", requests, bytes)
		}
		ok(t, r.Close())
	})
}

func TestReader_scanReadsAheadInLargeParts(t *testing.T) {
	for _, c := range []struct{ records, valueBytes int }{{largeTable, 400}, {700, 16 << 10}} {
		objects := shipped(t, c.records, c.valueBytes)
		synctest.Test(t, func(t *testing.T) {
			const trip = time.Second
			store := &counted{Store: objects}
			r := cold(t, distant{store, trip}, memfs.New())
			began, n := time.Now(), 0
			ok(t, r.View(func(tx *stoat.Tx) error {
				for _, v := range tx.Scan(stoat.Range{}) {
					if len(v) == c.valueBytes {
						n++
					}
				}
				return nil
			}))
			total := c.records * c.valueBytes
			requests, bytes := store.take()
			t.Logf("%d values of %d bytes: %d requests, %d bytes of %d, %v", n, c.valueBytes, requests,
				bytes, total, time.Since(began))
			if n != c.records || requests > total>>20+12 || bytes > total*5/4 {
				t.Errorf("%d of %d values, %d requests, %d bytes", n, c.records, requests, bytes)
			}
			ok(t, r.Close())
		})
	}
}

func TestReader_folderIsACache(t *testing.T) {
	store := &counted{Store: shipped(t, 2000, 400)}
	dir := t.TempDir()
	read := func() (requests int) {
		t.Helper()
		r, err := remote.OpenReader(t.Context(), store, dir, nil)
		ok(t, err)
		_, err = remote.OpenReader(t.Context(), store, dir, nil)
		wantErr(t, err, stoat.ErrLocked)
		store.take()
		for i := range 2000 {
			_, err := r.Get(largeKey(i))
			ok(t, err)
		}
		ok(t, r.Close())
		requests, _ = store.take()
		return requests
	}
	first := read()
	if again := read(); first == 0 || again != 0 {
		t.Errorf("%d requests at first, and then %d", first, again)
	}
	ok(t, os.RemoveAll(dir))
	if again := read(); again == 0 {
		t.Error("without its folder, a reader needs no requests")
	}
}

func TestReader_goesOnAfterItsFilesWereDeleted(t *testing.T) {
	server := faultstore.NewServer(memstore.New())
	o := quick()
	o.Retention = time.Nanosecond
	db, err := open(t, server.Client(nil), memfs.New(), o, engine.Tuning{})
	ok(t, err)
	defer db.Close()
	rewrite := func() {
		t.Helper()
		for i := range 200 {
			ok(t, db.Put(largeKey(i), largeValue(int(db.Position()), 100)))
		}
		ok(t, db.Compact(t.Context()))
		ok(t, db.Ship(t.Context()))
	}
	rewrite()
	for !inTables(t, server.Client(nil), db) {
		runtime.Gosched()
	}
	var away atomic.Bool
	r := mustRead(t, server.Client(func(faultstore.Request) faultstore.Fate {
		if away.Load() {
			return faultstore.Unavailable
		}
		return faultstore.Answered
	}))
	away.Store(true)
	files, err := server.Client(nil).List(t.Context(), "data/", "", 1000)
	ok(t, err)
	for {
		_, err := server.Client(nil).Get(t.Context(), files[0].Name, 0, 1)
		if errors.Is(err, objstore.ErrNotExist) {
			break
		}
		rewrite()
		_, err = db.Collect(t.Context())
		ok(t, err)
	}
	away.Store(false)
	for err := stoat.ErrCorrupt; err != nil; {
		if !errors.Is(err, stoat.ErrCorrupt) {
			t.Fatal(err)
		}
		_, err = r.Get(largeKey(7))
	}
	ok(t, r.WaitFor(t.Context(), db.Position()))
	v, err := r.Get(largeKey(7))
	ok(t, err)
	if want, err := db.Get(largeKey(7)); err != nil || string(v) != string(want) {
		t.Errorf("the value is another one: %v", err)
	}
}

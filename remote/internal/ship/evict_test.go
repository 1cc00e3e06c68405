package ship

import (
	"errors"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/internal/sparse"
	"github.com/stoatdb/stoat/remote/memstore"
)

// unread is files in a store that nobody reads.
type unread struct{}

func (unread) Open(string) (vfs.File, error)             { return nil, fs.ErrInvalid }
func (unread) OpenSized(string, int64) (vfs.File, error) { return nil, fs.ErrInvalid }

// startedLimited is startedWith for a folder with a limit, on a disk.
func startedLimited(
	t testing.TB, plan func(faultstore.Request) faultstore.Fate, limit int64,
) (*Shipper, *engine.Engine, *memstore.Store, *memfs.FS) {
	t.Helper()
	disk := memfs.New()
	s, e, store := startedOn(t, disk, plan, limit)
	return s, e, store, disk
}

// startedOn is startedLimited on any disk.
func startedOn(
	t testing.TB, disk vfs.FS, plan func(faultstore.Request) faultstore.Fate, limit int64,
) (*Shipper, *engine.Engine, *memstore.Store) {
	t.Helper()
	store := memstore.New()
	log, err := archive.NewLog(faultstore.NewServer(store).Client(plan))
	ok(t, err)
	s := New(t.Context(), log, Config{
		Window: 1, Uploads: 1, MaxLag: time.Hour, Retention: time.Hour, Local: limit,
	})
	e, err := engine.Open(sparse.Over(disk, unread{}), "db", engine.Options{
		Shipper: s, Tuning: engine.Tuning{IdleAfter: time.Hour, YoungRuns: 100},
	})
	ok(t, err)
	ok(t, s.Start(e))
	t.Cleanup(func() {
		_ = e.Close() // it may want to read what nobody reads
		_ = s.Stop(t.Context())
	})
	return s, e, store
}

// tablesOf returns the names of the tables on a disk.
func tablesOf(t testing.TB, disk *memfs.FS) []string {
	t.Helper()
	names, err := disk.List("db")
	ok(t, err)
	return slices.DeleteFunc(names, func(name string) bool {
		kind, _ := folder.Parse(name)
		return kind != folder.Table
	})
}

// flushShipped has a key in a table, and in the log of the store.
func flushShipped(t testing.TB, s *Shipper, e *engine.Engine, key string) {
	t.Helper()
	ok(t, put(e, key))
	ok(t, e.Flush())
	for s.state().Version.EditTo(e.Version()) != nil {
		runtime.Gosched()
	}
}

// TestEvict_keepsWhatTheLogDoesNotName holds the edit back that names a file which is stored.
func TestEvict_keepsWhatTheLogDoesNotName(t *testing.T) {
	b := newBarrier()
	s, e, store, disk := startedLimited(t, b.plan, 1)
	t.Cleanup(func() { b.set(false) }) // before the shipper stops
	ok(t, put(e, "key"))
	ok(t, s.Wait(t.Context()))
	b.set(true)
	ok(t, e.Flush())
	b.pass(b.await(1)[0]) // the file exists, it says
	b.await(2)            // the edit
	tables := tablesOf(t, disk)
	objects, err := store.List(t.Context(), "data/", "", 10)
	ok(t, err)
	if len(tables) == 0 || len(objects) != len(tables) {
		t.Fatalf("the folder has %q, and the store %v", tables, objects)
	}
	ok(t, s.evict(t.Context()))
	if left := tablesOf(t, disk); !slices.Equal(left, tables) {
		t.Errorf("of %q, the folder has %q, and the log names none", tables, left)
	}
	b.set(false)
	for len(tablesOf(t, disk)) > 0 {
		runtime.Gosched()
	}
}

// TestEvict_keepsWhatTheStoreHasLost deletes an object, and puts another one in its place.
func TestEvict_keepsWhatTheStoreHasLost(t *testing.T) {
	s, e, store, disk := startedLimited(t, newBarrier().plan, 0)
	flushShipped(t, s, e, "key")
	tables := tablesOf(t, disk)
	objects, err := store.List(t.Context(), "data/", "", 10)
	if ok(t, err); len(objects) != 1 {
		t.Fatalf("the store has %v", objects)
	}
	s.config.Local = 1
	name := objects[0].Name
	want := func(what string) {
		t.Helper()
		err := s.evict(t.Context())
		if !errors.Is(err, corrupt.Err) || !strings.Contains(err.Error(), path.Base(name)) {
			t.Errorf("%s: %v", what, err)
		}
		if left := tablesOf(t, disk); !slices.Equal(left, tables) {
			t.Errorf("%s: the folder has %q of %q", what, left, tables)
		}
	}
	body, err := store.Get(t.Context(), name, 0, -1)
	ok(t, err)
	ok(t, store.Delete(t.Context(), []string{name}))
	want("a missing object")
	other := slices.Clone(body)
	other[len(other)-1] ^= 1
	ok(t, store.Create(t.Context(), name, other))
	want("another object")
	ok(t, store.Delete(t.Context(), []string{name}))
	ok(t, store.Create(t.Context(), name, body))
	ok(t, s.evict(t.Context()))
	if left := tablesOf(t, disk); len(left) > 0 {
		t.Errorf("the folder still has %q", left)
	}
}

func TestEvict_beginsWithTheOldest(t *testing.T) {
	s, e, _, disk := startedLimited(t, newBarrier().plan, 0)
	for _, key := range []string{"a", "b", "c"} {
		flushShipped(t, s, e, key)
	}
	before, size := tablesOf(t, disk), int64(s.Status().Local)
	s.config.Local = size - 1
	ok(t, s.evict(t.Context()))
	if left := tablesOf(t, disk); len(before) != 3 || !slices.Equal(left, before[1:]) {
		t.Errorf("of %q, the folder still has %q", before, left)
	}
	st := s.Status()
	if int64(st.Local+st.Remote) != size || int64(st.Local) > s.config.Local || st.Remote == 0 {
		t.Errorf("of %d bytes, %d are in the folder, and %d only in the store", size, st.Local,
			st.Remote)
	}
}

// TestEvict_goesOnBesideWhatStays has files that cannot be removed, or read.
func TestEvict_goesOnBesideWhatStays(t *testing.T) {
	for _, kind := range []faultfs.Kind{faultfs.Remove, faultfs.Open} {
		goesOnBeside(t, kind)
	}
}

// goesOnBeside has an operation of the two oldest of four tables fail.
func goesOnBeside(t *testing.T, kind faultfs.Kind) {
	disk, bad := memfs.New(), map[string]bool{}
	var mu sync.Mutex
	failing := faultfs.New(disk, func(op faultfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind == kind && bad[path.Base(op.Name)] {
			return fs.ErrPermission
		}
		return nil
	})
	requests := 0
	plan := func(r faultstore.Request) faultstore.Fate {
		if r.Op == faultstore.Get && strings.HasPrefix(r.Name, "data/") {
			requests++
		}
		return faultstore.Answered
	}
	s, e, _ := startedOn(t, failing, plan, 0)
	for _, key := range []string{"a", "b", "c", "d"} {
		flushShipped(t, s, e, key)
	}
	tables := tablesOf(t, disk)
	mu.Lock()
	bad[tables[0]], bad[tables[1]] = true, true
	mu.Unlock()
	s.config.Local = 1
	wantLeft := func(want []string) {
		t.Helper()
		err := s.evict(t.Context())
		if left := tablesOf(t, disk); !slices.Equal(left, want) {
			t.Errorf("of %q, the folder has %q, and should have %q", tables, left, want)
		}
		stays := len(want) > 0
		if !errors.Is(err, fs.ErrPermission) && stays || err != nil && !stays {
			t.Errorf("%q are left: %v", want, err)
		}
		if len(want) > 1 && !strings.Contains(err.Error(), "1 more") {
			t.Errorf("the error does not say how many there are: %v", err)
		}
	}
	wantLeft(tables[:2])
	before := requests
	wantLeft(tables[:2])
	if requests > before {
		t.Errorf("%d requests are made for files that stay", requests-before)
	}
	mu.Lock()
	clear(bad)
	mu.Unlock()
	wantLeft(tables[:2]) // it is too early
	age(&s.stock)
	wantLeft(nil)
}

// age has the time pass after which files are tried again.
func age(c *stock) {
	for number, s := range c.kept {
		c.kept[number] = stuck{s.at.Add(-stuckFor), s.err}
	}
}

// TestEvict_takesWhatWasStuckWithinTheLimit has another file leave the folder in the place of the
// oldest one, which follows once it can be removed.
func TestEvict_takesWhatWasStuckWithinTheLimit(t *testing.T) {
	s, e, _, disk := startedLimited(t, newBarrier().plan, 0)
	for _, key := range []string{"a", "b"} {
		flushShipped(t, s, e, key)
	}
	tables := tablesOf(t, disk)
	_, number := folder.Parse(tables[0])
	s.config.Local = int64(s.Status().Local) - 1
	s.stock.keep(map[uint64]error{number: fs.ErrPermission}, time.Now())
	if err := s.evict(t.Context()); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if left := tablesOf(t, disk); !slices.Equal(left, tables[:1]) {
		t.Fatalf("of %q, the folder has %q", tables, left)
	}
	age(&s.stock)
	ok(t, s.evict(t.Context()))
	if left := tablesOf(t, disk); len(left) > 0 {
		t.Errorf("the folder still has %q", left)
	}
	if len(s.stock.kept) > 0 {
		t.Errorf("%v are remembered", s.stock.kept)
	}
}

func TestEvict_endsWithTheRoleOfTheWriter(t *testing.T) {
	s, e, _, disk := startedLimited(t, newBarrier().plan, 0)
	flushShipped(t, s, e, "key")
	s.config.Local = 1
	s.end(errors.New("fenced"))
	ok(t, s.evict(t.Context()))
	if len(tablesOf(t, disk)) == 0 {
		t.Error("who is not the writer any more removes files")
	}
}

// TestEvict_doesNothingWithinTheLimit counts on nobody to be woken, nor any file to be looked at.
func TestEvict_doesNothingWithinTheLimit(t *testing.T) {
	s, e, _, _ := startedLimited(t, newBarrier().plan, 0)
	flushShipped(t, s, e, "key")
	s.config.Local = 1 << 20
	ok(t, s.evict(t.Context()))
	if len(s.stock.lacks) > 0 {
		t.Error("files are said to have left the folder")
	}
	s.config.Local = 1
	ok(t, s.evict(t.Context()))
	if len(s.stock.lacks) == 0 {
		t.Error("nobody is told which files have left the folder")
	}
}

// TestEvict_holdsNoFilesDuringRequests compacts while the end of a file is asked for.
func TestEvict_holdsNoFilesDuringRequests(t *testing.T) {
	asked := func() {}
	s, e, _, disk := startedLimited(t, func(r faultstore.Request) faultstore.Fate {
		if r.Op == faultstore.Get && strings.HasPrefix(r.Name, "data/") {
			asked()
		}
		return faultstore.Answered
	}, 0)
	for range 3 {
		flushShipped(t, s, e, "key")
	}
	before := tablesOf(t, disk)
	asked = func() {
		asked = func() {}
		ok(t, e.Compact(t.Context()))
		for left := before; slices.Contains(left, before[0]); left = tablesOf(t, disk) {
			runtime.Gosched() // until what was stored is let go, too
		}
	}
	s.config.Local = 1
	ok(t, s.evict(t.Context()))
}

// TestRoom_isThereOnceTheStoreHasTheFiles holds a file back on its way to the store.
func TestRoom_isThereOnceTheStoreHasTheFiles(t *testing.T) {
	b := newBarrier()
	s, e, _, _ := startedLimited(t, b.plan, 0)
	t.Cleanup(func() { b.set(false) })
	s.config.Local = 1
	ok(t, put(e, "key"))
	ok(t, s.Wait(t.Context()))
	b.set(true)
	ok(t, e.Flush())
	size := int64(0)
	for table := range e.Version().Tables() {
		size += int64(table.Size)
	}
	if s.Room(e.Version(), size-1) || !s.Room(e.Version(), size) {
		t.Errorf("a table of %d bytes that is not stored takes another room", size)
	}
	s.config.Local = 0
	if !s.Room(e.Version(), 0) {
		t.Error("a folder without a limit has no room")
	}
	s.config.Local = 1
	b.set(false)
	for !s.Room(e.Version(), 0) {
		runtime.Gosched()
	}
}

package objectfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/internal/diskcache"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contents returns the bytes of an object.
func contents(number uint64, size int) []byte {
	rng, p := rand.New(rand.NewPCG(number, 1)), make([]byte, size)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

// put stores an object and returns its bytes.
func put(t testing.TB, store objstore.Store, kind folder.Kind, number uint64, size int) []byte {
	t.Helper()
	p := contents(number, size)
	ok(t, store.Create(t.Context(), history.DataName(kind, number), p))
	return p
}

// newFolder returns the files in a store, with a small cache.
func newFolder(t testing.TB, store objstore.Store) *Folder {
	t.Helper()
	cache, err := diskcache.Open(diskcache.Config{
		Files: memfs.New(), Dir: "cache", Warn: func(err error) { t.Error(err) }, Now: time.Now,
	})
	ok(t, err)
	f := New(store, cache, func(uint64) (nobody [16]byte) { return nobody }, func() {})
	t.Cleanup(func() { ok(t, f.Stop()) })
	return f
}

func TestFile_readsAsAFileOnADisk(t *testing.T) {
	store := memstore.New()
	for number, size := range []int{1, 100, 3000, 700 << 10} {
		p := put(t, store, folder.Table, uint64(number), size)
		f := newFolder(t, store)
		for range 2 { // also from the cache
			file, err := f.OpenSized("db/"+folder.Table.Name(uint64(number)), int64(size))
			ok(t, err)
			if size < 10_000 { // byte by byte
				ok(t, iotest.TestReader(io.NewSectionReader(file, 0, int64(size)), p))
			}
			got, err := io.ReadAll(io.NewSectionReader(file, 0, int64(size)))
			if err != nil || !bytes.Equal(got, p) {
				t.Errorf("%d of %d bytes are read: %v", len(got), size, err)
			}
			if n, err := file.ReadAt(make([]byte, 10), int64(size)-1); n != 1 || err != io.EOF {
				t.Errorf("at the end, %d bytes are read: %v", n, err)
			}
			if _, err := file.ReadAt(make([]byte, 1), int64(size)+1); err == nil {
				t.Error("bytes beyond the end are read")
			}
			ok(t, file.Close())
		}
	}
}

func TestFile_readsRightWhileMuchIsFetched(t *testing.T) {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	inner := memstore.New()
	const size = 2 << 20
	p := put(t, inner, folder.Table, 1, size)
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 2))
	f := newFolder(t, faultstore.NewServer(inner).Client(func(faultstore.Request) faultstore.Fate {
		mu.Lock()
		defer mu.Unlock()
		return faultstore.Fate(rng.IntN(8) / 7) // fails one in eight
	}))
	opened, err := f.OpenSized(folder.Table.Name(1), size)
	ok(t, err)
	file := opened.(vfs.Distant)
	file.Expect(size/2, size/2+600<<10)
	var running sync.WaitGroup
	for g := range uint64(4) {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(seed, g))
			for range 150 {
				n := 1 + rng.IntN(30<<10)
				at := rng.Int64N(int64(size - n))
				if rng.IntN(3) == 0 {
					file.WillNeed(at, min(at+int64(rng.IntN(300<<10)), size))
				}
				got := make([]byte, n)
				_, err := file.ReadAt(got, at)
				if err == nil && !bytes.Equal(got, p[at:][:n]) {
					t.Errorf("%d bytes at %d are others", n, at)
				}
				if err != nil && !errors.Is(err, faultstore.ErrFailed) {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	ok(t, f.Stop())
	got := make([]byte, 10)
	for {
		if _, err = file.ReadAt(got, 5); !errors.Is(err, faultstore.ErrFailed) {
			break
		}
	}
	if ok(t, err); !bytes.Equal(got, p[5:15]) {
		t.Error("after Stop, other bytes are read")
	}
}

func TestFile_smallReadsFetchWhatIsAroundThem(t *testing.T) {
	inner := memstore.New()
	const size = 2 << 20
	put(t, inner, folder.Table, 1, size)
	client := faultstore.NewServer(inner).Client(nil)
	f := newFolder(t, client)
	opened, err := f.OpenSized(folder.Table.Name(1), size)
	ok(t, err)
	read := func(from, to int64, want int) {
		t.Helper()
		before := client.Count()
		_, err := opened.ReadAt(make([]byte, to-from), from)
		ok(t, err)
		if got := client.Count() - before; got != want {
			t.Errorf("reading %d to %d takes %d requests, want %d", from, to, got, want)
		}
	}
	read(size-88, size, 1)
	read(size-40_000, size-88, 0)
	opened.(vfs.Distant).Expect(1<<20, 1<<20+200_000)
	read(1<<20+1000, 1<<20+1100, 1)
	read(1<<20, 1<<20+200_000, 0)
	read(1000, 20_000, 1)
	read(1000, 20_000, 0)
}

// late is a store where requests of so many bytes wait until open is closed.
type late struct {
	objstore.Store
	n    int64
	open chan struct{}
}

func (l late) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if n == l.n {
		<-l.open
	}
	return l.Store.Get(ctx, name, off, n)
}

// A large part that is fetched beside a small read of it serves a scan that comes then.
func TestFile_scansJoinWhatIsFetchedBesides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		const size, part = 8 << 20, 1 << 20
		put(t, inner, folder.Table, 1, size)
		open := make(chan struct{})
		client := faultstore.NewServer(inner).Client(nil)
		f := newFolder(t, late{client, part, open})
		opened, err := f.OpenSized(folder.Table.Name(1), size)
		ok(t, err)
		file := opened.(vfs.Distant)
		if file.Lead() <= 0 || file.Lead() > f.cache.Limit()/2 {
			t.Errorf("%d bytes of %d may be asked for ahead", file.Lead(), f.cache.Limit())
		}
		file.Expect(0, part)
		go func() { _, _ = file.ReadAt(make([]byte, 100), 0) }()
		synctest.Wait()
		file.WillNeed(1000, 300_000)
		read := make(chan error)
		go func() {
			_, err := file.ReadAt(make([]byte, 1000), 200_000)
			read <- err
		}()
		synctest.Wait()
		close(open)
		ok(t, <-read)
		synctest.Wait()
		if n := client.Count(); n != 2 {
			t.Errorf("%d requests, not only the small read and the part", n)
		}
	})
}

func TestFolder_tellsWhatIsMissing(t *testing.T) {
	store := memstore.New()
	put(t, store, folder.Table, 1, 100)
	put(t, store, folder.Values, 2, 100)
	f := newFolder(t, store)
	names, err := f.List("")
	ok(t, err)
	if want := []string{folder.Table.Name(1), folder.Values.Name(2)}; !slices.Equal(names, want) {
		t.Errorf("the files are %q", names)
	}
	file, err := f.Open("db/" + folder.Table.Name(1))
	ok(t, err)
	if size, err := file.Size(); size != 100 || err != nil {
		t.Errorf("the size is %d, %v", size, err)
	}
	for _, name := range []string{folder.Table.Name(3), "LOCK", folder.Manifest.Name(1)} {
		if _, err := f.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s opens: %v", name, err)
		}
	}
	for _, size := range []int64{101, 500 << 10} { // the object is shorter
		if file, err = f.OpenSized(folder.Table.Name(1), size); err == nil {
			_, err = file.ReadAt(make([]byte, 1), size-1)
		}
		if !errors.Is(err, corrupt.Err) {
			t.Errorf("beyond the end of an object: %v", err)
		}
	}
	ok(t, store.Delete(context.Background(), []string{history.DataName(folder.Values, 2)}))
	file, err = f.OpenSized(folder.Values.Name(2), 100)
	ok(t, err)
	if _, err := file.ReadAt(make([]byte, 1), 0); !errors.Is(err, corrupt.Err) {
		t.Errorf("without its object: %v", err)
	}
	if _, err := f.Create("a"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file is created: %v", err)
	}
}

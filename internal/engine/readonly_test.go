package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// reading is options to open a database read-only.
func reading() Options {
	o := calm()
	o.ReadOnly = true
	return o
}

// untouched returns a file system that fails the test when anything is changed through it.
func untouched(t *testing.T, disk *memfs.FS) *faultfs.FS {
	return faultfs.New(disk, func(op faultfs.Op) error {
		if op.Kind.Mutates() {
			t.Errorf("read-only, but: %v", op)
		}
		return nil
	})
}

func TestOpen_readOnlyChangesNothing(t *testing.T) {
	disk := killed(t)
	put(t, disk, "000901.table", []byte("half a table"))
	put(t, disk, "000000.log", []byte("an old log"))
	put(t, disk, "MANIFEST-000903", []byte("STOATMAN"))
	before := image(t, disk)
	e := mustOpen(t, untouched(t, disk), reading())
	wantWords(t, e, allWords...)
	for call, err := range map[string]error{
		"Begin": tryCommit(e, dataKey("b"), nil),
		"Flush": e.Flush(),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s gives %v, want ErrReadOnly", call, err)
		}
	}
	ok(t, e.Sync())
	ok(t, e.Close())
	ok(t, e.Close())
	if _, err := e.Snapshot(0); !errors.Is(err, ErrClosed) {
		t.Errorf("a snapshot after Close gives %v", err)
	}
	wantImage(t, disk, before)
}

// A folder that is shipped to object storage may lack thousands of files.
func TestOpen_readOnlyNamesOneOfTheFilesThatMayBeInAStore(t *testing.T) {
	disk := killed(t)
	tables := named(t, disk, tableSuffix)
	for _, name := range tables {
		ok(t, disk.Remove("db/"+name))
	}
	put(t, disk, folder.ClaimPrefix+"000001", nil)
	var logged bytes.Buffer
	o := reading()
	o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	e := mustOpen(t, disk, o)
	if n := strings.Count(logged.String(), "the file is missing"); len(tables) < 2 || n != 1 ||
		!strings.Contains(logged.String(), "in all, ") {
		t.Errorf("of %d tables that are missing, it names %d: %s", len(tables), n, logged.String())
	}
	s, err := e.Snapshot(0)
	ok(t, err)
	defer e.Release(0)
	s.Levels.Each(func(h superversion.Handle) {
		if err := h.Table.Open(); !errors.Is(err, corrupt.ErrElsewhere) {
			t.Errorf("a table that is read: %v", err)
		}
	})
}

func TestOpen_readOnlySeesWhatAWriterHasCommitted(t *testing.T) {
	disk := memfs.New()
	writer := mustOpen(t, disk, calm())
	mustCommit(t, writer, "a")
	ok(t, writer.Flush())
	mustCommit(t, writer, "b")
	reader := mustOpen(t, untouched(t, disk), reading())
	mustCommit(t, writer, "c")
	wantWords(t, reader, "a", "b")
	wantWords(t, mustOpen(t, untouched(t, disk), reading()), "a", "b", "c")
}

func TestOpen_readOnlyOutlivesTheWritersTables(t *testing.T) {
	disk := killed(t)
	before := named(t, disk, tableSuffix)
	reader := mustOpen(t, untouched(t, disk), reading())
	ok(t, mustOpen(t, disk, calm()).Close())
	for _, name := range before {
		if left := named(t, disk, name); len(left) > 0 {
			t.Fatalf("%v is left, so that nothing is tested", left)
		}
	}
	wantWords(t, reader, allWords...)
}

func TestOpen_readOnlyReadsAroundADamagedTable(t *testing.T) {
	for _, damage := range []func(t *testing.T, disk *memfs.FS, name string){
		func(t *testing.T, disk *memfs.FS, name string) { put(t, disk, name, nil) },
		func(t *testing.T, disk *memfs.FS, name string) {
			put(t, disk, name, flipped(content(t, disk, name), 1)) // then it says it is no table
		},
		func(t *testing.T, disk *memfs.FS, name string) {
			p := content(t, disk, name)
			put(t, disk, name, flipped(p, len(p)-2))
		},
		func(t *testing.T, disk *memfs.FS, name string) { ok(t, disk.Remove("db/"+name)) },
	} {
		disk := killed(t)
		table := mustOpen(t, disk, reading()).state.Load().Levels.Version.Young[0].Tables[0]
		name := folder.Table.Name(table.Number)
		damage(t, disk, name)
		before := image(t, disk)
		e := mustOpen(t, untouched(t, disk), reading())
		s, err := e.Snapshot(0)
		ok(t, err)
		_, _, err = s.Get(table.Smallest, new(superversion.Lookups))
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("reading from %s gives the error %v", name, err)
		}
		key := dataKey("%s", allWords[len(allWords)-1])
		if _, found, err := s.Get(key, new(superversion.Lookups)); !found || err != nil {
			t.Errorf("a key that lies elsewhere: found %v, error %v", found, err)
		}
		wantImage(t, disk, before)
	}
}

// TestOpen_readOnlyRefusesAnOlderState has a manifest without its last edit, and the files that
// this edit has made obsolete are gone.
func TestOpen_readOnlyRefusesAnOlderState(t *testing.T) {
	disk := memfs.New()
	o := calm()
	o.Tuning.JournalBytes = 1 << 20
	e := mustOpen(t, disk, o)
	name, before := "", []byte(nil)
	for _, word := range []string{"a", "b"} {
		mustCommit(t, e, word)
		ok(t, e.Flush())
		name = named(t, disk, "MANIFEST-")[0]
		before = content(t, disk, name)
	}
	ok(t, e.Compact(t.Context()))
	for _, lost := range []int{0, 1} {
		old := disk.CrashKeepAll()
		put(t, old, name, append(before, content(t, old, name)[len(before):len(before)+lost]...))
		e, err := Open(old, "db", reading())
		ok(t, err)
		wantWords(t, e, "a", "b") // by the copy
		ok(t, e.Close())
		removeCopies(t, old)
		if _, err := Open(old, "db", reading()); !errors.Is(err, corrupt.Err) {
			t.Errorf("error %v, want corrupt.Err", err)
		}
	}
	ok(t, e.Close())
}

func TestOpen_readOnlyUsesTheCopyOfADamagedManifest(t *testing.T) {
	disk := killed(t)
	name := named(t, disk, "MANIFEST-")[0]
	whole := content(t, disk, name)
	put(t, disk, name+".copy", whole)
	for _, damaged := range [][]byte{flipped(bytes.Clone(whole), 0), flipped(bytes.Clone(whole), 65)} {
		put(t, disk, name, damaged)
		wantWords(t, mustOpen(t, untouched(t, disk), reading()), allWords...)
	}
	ok(t, disk.Remove("db/"+name))
	wantWords(t, mustOpen(t, untouched(t, disk), reading()), allWords...)
	put(t, disk, "MANIFEST-000999", []byte("something else, that is newer"))
	if _, err := Open(disk, "db", reading()); err == nil {
		t.Error("the copy of an older manifest is used")
	}
}

// TestOpen_readOnlyUsesNoCopyOfAManifestThatIsBeingMade lets a writer make the manifest, and its
// copy, just before one of the times when the reader lists the folder, except the first.
func TestOpen_readOnlyUsesNoCopyOfAManifestThatIsBeingMade(t *testing.T) {
	for late := range 5 {
		disk := killed(t)
		name := named(t, disk, "MANIFEST-")[0]
		whole := content(t, disk, name)
		removeCopies(t, disk)
		ok(t, disk.Remove("db/"+name))
		lists := 0
		files := faultfs.New(disk, func(op faultfs.Op) error {
			if op.Kind == faultfs.List {
				if lists++; lists == 2+late {
					put(t, disk, name, whole)
					put(t, disk, name+".copy", whole)
				}
			}
			return nil
		})
		e, err := Open(files, "db", reading())
		if err != nil {
			t.Fatalf("made before list %d: %v", 2+late, err)
		}
		wantWords(t, e, allWords...)
		if e.installing.copied != nil {
			t.Errorf("made before list %d: the copy is used: %v", 2+late, e.installing.copied)
		}
	}
}

// TestOpen_readOnlyStartsOverWhenFilesVanish lets a writer compact away the first table that a
// reader opens, just before it does.
func TestOpen_readOnlyStartsOverWhenFilesVanish(t *testing.T) {
	for _, part := range []string{".table", ".log", "MANIFEST-"} {
		disk := killed(t)
		var once sync.Once
		files := faultfs.New(disk, func(op faultfs.Op) error {
			if is(faultfs.Open, part)(op) {
				once.Do(func() { ok(t, mustOpen(t, disk, calm()).Close()) })
			}
			return nil
		})
		wantWords(t, mustOpen(t, files, reading()), allWords...)
	}
}

// TestOpen_readOnlyBesideABusyWriter opens again and again while a writer commits, flushes and
// compacts. Each time there must be a prefix of the commits, with all that was acknowledged
// before.
func TestOpen_readOnlyBesideABusyWriter(t *testing.T) {
	disk := memfs.New()
	o := Options{Tuning: Tuning{MemtableBytes: 40 << 10, IdleAfter: 1, JournalBytes: 500}}
	writer := mustOpen(t, disk, o)
	var acknowledged atomic.Int64
	commit := func(i int64) {
		if err := tryCommit(writer, dataKey("%x-%d", i%16, i), make([]byte, 1000)); err != nil {
			t.Error(err)
		}
		acknowledged.Store(i + 1)
	}
	commit(0) // before that, the folder has no database
	var stop atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		for i := int64(1); !stop.Load(); i++ {
			commit(i)
		}
	})
	defer done.Wait()
	defer stop.Store(true)
	for range 50 {
		least := acknowledged.Load()
		reader := mustOpen(t, untouched(t, disk), reading())
		n := int64(len(wordsOf(t, reader)))
		if n < least {
			t.Errorf("a reader sees %d commits of %d", n, least)
		}
		for _, i := range []int64{0, n / 2, n - 1} {
			if _, ok := get(t, reader, dataKey("%x-%d", i%16, i)); n > 0 && !ok {
				t.Errorf("of %d commits, number %d is not there", n, i)
			}
		}
	}
	t.Log(acknowledged.Load(), "commits")
}

package engine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs/faultfs"
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
		"Begin": commit(e, dataKey("b"), nil),
		"Flush": e.Flush(),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s gives %v, want ErrReadOnly", call, err)
		}
	}
	ok(t, e.Sync())
	ok(t, e.Close())
	ok(t, e.Close())
	if _, err := e.Snapshot(); !errors.Is(err, ErrClosed) {
		t.Errorf("a snapshot after Close gives %v", err)
	}
	wantImage(t, disk, before)
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

func TestOpen_readOnlyOfADamagedTableFails(t *testing.T) {
	disk := killed(t)
	name := named(t, disk, tableSuffix)[0]
	whole := content(t, disk, name)
	for _, damaged := range [][]byte{nil, whole[:len(whole)-1], flipped(whole, len(whole)-2)} {
		put(t, disk, name, damaged)
		before := image(t, disk)
		_, err := Open(untouched(t, disk), "db", reading())
		var damage *corrupt.Error
		if !errors.As(err, &damage) || damage.File != "db/"+name {
			t.Errorf("error %v, want damage in %s", err, name)
		}
		wantImage(t, disk, before)
	}
}

// TestOpen_readOnlyStartsOverWhenFilesVanish lets a writer merge away the first table that a reader
// opens, just before it does.
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
// merges. Each time there must be a prefix of the commits, with all that was acknowledged before.
func TestOpen_readOnlyBesideABusyWriter(t *testing.T) {
	disk := memfs.New()
	o := Options{Tuning: Tuning{MemtableBytes: 40 << 10, IdleAfter: 1, JournalBytes: 500}}
	writer := mustOpen(t, disk, o)
	var acknowledged atomic.Int64
	var stop atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		value := make([]byte, 1000)
		for i := 0; !stop.Load(); i++ {
			if err := commit(writer, dataKey("%x-%d", i%16, i), value); err != nil {
				t.Error(err)
			}
			acknowledged.Store(int64(i + 1))
		}
	})
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
	stop.Store(true)
	done.Wait()
	t.Log(fmt.Sprint(acknowledged.Load()), "commits")
}

package engine

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// twoPlaces is a file system whose folders open files that they lack in another one.
type twoPlaces struct {
	vfs.FS
	far *memfs.FS
}

func (p twoPlaces) OpenFolder(dir string) (vfs.Folder, error) {
	opened, err := p.FS.OpenFolder(dir)
	return partOf{opened, p.far}, err
}

type partOf struct {
	vfs.Folder
	far *memfs.FS
}

func (p partOf) Open(name string) (vfs.File, error) {
	file, err := p.Folder.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return p.far.Open(name)
	}
	return file, err
}

func (p partOf) Elsewhere(name string) bool {
	_, err := p.IsRegular(name)
	_, far := p.far.IsRegular(name)
	return errors.Is(err, fs.ErrNotExist) && far == nil
}

// copyTables copies the tables of a disk to another one.
func copyTables(t testing.TB, from, to *memfs.FS) (numbers []uint64) {
	t.Helper()
	ok(t, to.MkdirAll("db"))
	for _, name := range named(t, from, tableSuffix) {
		put(t, to, name, content(t, from, name))
		_, number := folder.Parse(name)
		numbers = append(numbers, number)
	}
	return numbers
}

func TestEvict_leavesFilesToWhoHasThemOpen(t *testing.T) {
	disk, far := memfs.New(), memfs.New()
	e := mustOpen(t, twoPlaces{disk, far}, calm())
	for _, word := range []string{"a", "b", "c"} {
		mustCommit(t, e, word)
		ok(t, e.Flush())
	}
	before, err := e.Snapshot(0)
	ok(t, err)
	if got := strings.Join(wordsIn(t, before), ","); got != "a,b,c" { // so its files are open
		t.Fatalf("the database holds %q", got)
	}
	numbers := copyTables(t, disk, far)
	evicted, _, err := e.Evict(append(numbers, 999))
	if ok(t, err); !slices.Equal(evicted, numbers) {
		t.Errorf("%d are evicted, want %d", evicted, numbers)
	}
	if left := named(t, disk, tableSuffix); len(left) > 0 {
		t.Errorf("%q are left in the folder", left)
	}
	ok(t, far.Remove("db/"+folder.Table.Name(numbers[0])))
	if got := strings.Join(wordsIn(t, before), ","); got != "a,b,c" {
		t.Errorf("a snapshot from before holds %q", got)
	}
	after, err := e.Snapshot(0)
	ok(t, err)
	if _, _, err := after.Get(dataKey("a"), new(superversion.Lookups)); err == nil {
		t.Error("a later snapshot reads a file that is nowhere")
	}
	e.Release(0)
	e.Release(0)
}

func TestEvict_leavesAFolderThatOpens(t *testing.T) {
	disk, far := memfs.New(), memfs.New()
	e := mustOpen(t, twoPlaces{disk, far}, calm())
	mustCommit(t, e, "a", "c")
	ok(t, e.Flush())
	mustCommit(t, e, "b") // among them, so that no compaction only moves tables
	ok(t, e.Flush())
	numbers := copyTables(t, disk, far)
	_, _, err := e.Evict(numbers[:1])
	ok(t, err)
	wantWords(t, e, "a", "b", "c")
	for _, deep := range []bool{false, true} {
		ok(t, e.Check(t.Context(), deep))
	}
	ok(t, e.Backup(t.Context(), memfs.New(), "backup", false))
	ok(t, e.Close())
	if _, _, err := e.Evict(numbers); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed database removes files: %v", err)
	}
	e = mustOpen(t, twoPlaces{disk, far}, calm())
	wantWords(t, e, "a", "b", "c")
	ok(t, e.Compact(t.Context()))
	wantWords(t, e, "a", "b", "c")
	ok(t, e.Check(t.Context(), true))
	ok(t, e.Close())
	ok(t, mustOpen(t, disk, calm()).Close()) // nothing is missing any more
}

func TestEvict_keepsWhatItCannotRemove(t *testing.T) {
	disk, far, fail := memfs.New(), memfs.New(), ""
	e := mustOpen(t, twoPlaces{faultfs.New(disk, func(op faultfs.Op) error {
		if is(faultfs.Remove, tableSuffix)(op) && fail != "" && strings.HasSuffix(op.Name, fail) {
			return errBroken
		}
		return nil
	}), far}, calm())
	for _, word := range []string{"a", "b", "c"} {
		mustCommit(t, e, word)
		ok(t, e.Flush())
	}
	numbers := copyTables(t, disk, far)
	fail = folder.Table.Name(numbers[1])
	evicted, kept, err := e.Evict(numbers)
	ok(t, err)
	if !errors.Is(kept[numbers[1]], errBroken) || len(kept) != 1 ||
		!slices.Equal(evicted, []uint64{numbers[0], numbers[2]}) {
		t.Errorf("%d are evicted, and kept are %v", evicted, kept)
	}
	fail = ""
	wantWords(t, e, "a", "b", "c")
	if left := named(t, disk, tableSuffix); len(left) != 1 {
		t.Errorf("%q are left in the folder", left)
	}
	if evicted, kept, err = e.Evict(numbers[1:2]); err != nil || len(evicted) != 1 || len(kept) > 0 {
		t.Errorf("%d are evicted later, and kept are %v: %v", evicted, kept, err)
	}
	wantWords(t, e, "a", "b", "c")
}

// TestEvict_letsCommitsGoOn compacts while files are removed, so that nobody names them afterwards.
func TestEvict_letsCommitsGoOn(t *testing.T) {
	for _, fails := range []bool{false, true} {
		disk, far := memfs.New(), memfs.New()
		var evicting atomic.Bool
		var e *Engine
		e = mustOpen(t, twoPlaces{faultfs.New(disk, func(op faultfs.Op) error {
			if !is(faultfs.Remove, tableSuffix)(op) || !evicting.CompareAndSwap(true, false) {
				return nil // the log of a flush goes after Flush has returned
			}
			mustCommit(t, e, "d")
			ok(t, e.Flush())
			ok(t, e.Compact(t.Context()))
			if fails {
				return errBroken
			}
			return nil
		}), far}, calm())
		mustCommit(t, e, "a", "c")
		ok(t, e.Flush())
		mustCommit(t, e, "b")
		ok(t, e.Flush())
		numbers := copyTables(t, disk, far)
		evicting.Store(true)
		_, kept, err := e.Evict(numbers)
		if ok(t, err); len(kept) > 0 != fails {
			t.Errorf("kept are %v", kept)
		}
		wantWords(t, e, "a", "b", "c", "d")
		ok(t, e.Check(t.Context(), true)) // no file is left that nobody names
		ok(t, e.Close())
		ok(t, mustOpen(t, disk, calm()).Close()) // nothing is missing
	}
}

// TestFlush_readsNoFileThatIsElsewhere flushes a key that lies between those of a table.
func TestFlush_readsNoFileThatIsElsewhere(t *testing.T) {
	disk, far := memfs.New(), memfs.New()
	e := mustOpen(t, twoPlaces{disk, far}, calm())
	mustCommit(t, e, "a", "c")
	ok(t, e.Flush())
	numbers := copyTables(t, disk, far)
	_, _, err := e.Evict(numbers)
	ok(t, err)
	mustCommit(t, e, "b")
	ok(t, e.Flush())
	s, err := e.Snapshot(0)
	ok(t, err)
	defer e.Release(0)
	s.Levels.Each(func(h superversion.Handle) {
		if h.Meta.Number == numbers[0] && h.Table.Forget() {
			t.Error("the flush has opened a table that is elsewhere")
		}
	})
	wantWords(t, e, "a", "b", "c")
}

// TestOpen_saysThatFilesMayBeInAStore has a folder with a claim.
func TestOpen_saysThatFilesMayBeInAStore(t *testing.T) {
	for _, claimed := range []bool{false, true} {
		disk := closed(t, "a")
		ok(t, disk.Remove("db/"+named(t, disk, tableSuffix)[0]))
		if claimed {
			put(t, disk, folder.ClaimPrefix+"000001", nil)
		}
		_, err := Open(disk, "db", calm())
		if err == nil || strings.Contains(err.Error(), folder.ClaimPrefix+"000001") != claimed {
			t.Fatalf("with a claim: %t: %v", claimed, err)
		}
		if strings.Contains(err.Error(), "salvage would lose them") != claimed {
			t.Errorf("with a claim: %t: the advice is to salvage: %v", claimed, err)
		}
	}
}

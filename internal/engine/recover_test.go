package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestOpen_replaysLogsOverTables(t *testing.T) {
	disk := killed(t)
	if logs := named(t, disk, ".log"); len(logs) != 2 {
		t.Fatalf("logs %v, want two", logs)
	}
	e := mustOpen(t, disk, calm())
	wantWords(t, e, allWords...)
	mustCommit(t, e, "log f")
	again := mustOpen(t, disk.CrashKeepNone(), calm())
	wantWords(t, again, slices.Insert(slices.Clone(allWords), 3, "log f")...)
	if got := again.Stats().Commits; got != 7 {
		t.Errorf("%d commits, want 7", got)
	}
}

func TestOpen_makesReplayedCommitsDurable(t *testing.T) {
	disk := memfs.NewCrashable()
	o := calm()
	o.NoSync = true
	e := mustOpen(t, disk, o)
	w, err := e.Begin()
	ok(t, err)
	w.Rollback()
	log := named(t, disk, ".log")[0]
	empty := trimmed(content(t, disk, log))
	mustCommit(t, e, "a", "b")
	_ = e.poison(errBroken) // so that Close does as little as the end of the process
	if err := e.Close(); !errors.Is(err, ErrPoisoned) {
		t.Fatal(err)
	}
	if left := trimmed(content(t, disk.CrashKeepNone(), log)); len(left) > len(empty) {
		t.Fatalf("%d bytes of the log are durable without a sync", len(left)-len(empty))
	}
	wantWords(t, mustOpen(t, unflushed(disk), calm()), "a", "b")
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a", "b")
}

// unflushed keeps what is replayed from a disk in its logs, by taking no tables.
func unflushed(disk vfs.FS) vfs.FS {
	files, broken := failing(disk, errBroken, is(faultfs.Create, tableSuffix))
	broken.Store(true)
	return files
}

func TestOpen_replaysUpToATornTail(t *testing.T) {
	dead := killed(t)
	name := named(t, dead, ".log")[1]
	whole := trimmed(content(t, dead, name))
	last := len("log e") + len(dataKey("log e")) + 3 // its kind and lengths
	for _, cut := range []int{1, last, last + 1, last + 31} {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			disk := dead.CrashKeepAll()
			put(t, disk, name, whole[:len(whole)-cut])
			e := mustOpen(t, disk, calm())
			want := slices.DeleteFunc(slices.Clone(allWords), func(s string) bool {
				return s == "log e"
			})
			wantWords(t, e, want...)
			mustCommit(t, e, "z")
			wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), append(want, "z")...)
		})
	}
}

// trimmed returns a log without the zeros that were preallocated.
func trimmed(log []byte) []byte { return []byte(strings.TrimRight(string(log), "\x00")) }

func TestOpen_removesWhatACrashedJobLeft(t *testing.T) {
	disk := killed(t)
	want := unflushedImage(t, disk)
	put(t, disk, "000901.table", []byte("half a table"))
	put(t, disk, "000902.table", nil)
	put(t, disk, "000000.log", []byte("an old log"))
	put(t, disk, "MANIFEST-000000", []byte("an old manifest"))
	put(t, disk, "MANIFEST-000903", []byte("STOATMAN"))
	for _, name := range []string{
		"notes.txt", "904.table", "000905.table.bak", "905.log", "MANIFEST-9", "MANIFEST-000906~",
	} {
		put(t, disk, name, []byte("of the user"))
		want[name] = []byte("of the user")
	}
	e := mustOpen(t, unflushed(disk), calm())
	wantImage(t, disk, want)
	wantWords(t, e, allWords...)
	if next := e.nextNumber(); next <= 903 {
		t.Errorf("the next file is number %d, though there was one numbered 903", next)
	}
}

// unflushedImage returns what a disk holds after it was opened and nothing could be flushed.
func unflushedImage(t *testing.T, disk *memfs.FS) map[string][]byte {
	t.Helper()
	mustOpen(t, unflushed(disk.CrashKeepAll()), calm())
	return image(t, disk)
}

func TestOpen_ofAnEmptyFolderMakesADatabase(t *testing.T) {
	for _, names := range [][]string{
		{}, {folder.LockName}, {folder.LockName, "MANIFEST-000007"},
		{"000006.log", folder.LockName, "MANIFEST-000007"},
	} {
		disk := memfs.NewCrashable()
		ok(t, disk.MkdirAll("db"))
		for _, name := range names {
			put(t, disk, name, []byte("STOAT"))
		}
		e := mustOpen(t, disk, calm())
		if got := named(t, disk, ""); !slices.Equal(got, []string{folder.LockName}) {
			t.Errorf("of %v a database with the files %v was made, before any write", names, got)
		}
		mustCommit(t, e, "a")
		if got := named(t, disk, ""); len(got) != 4 || got[1] != folder.LockName {
			t.Errorf("of %v a database with the files %v was made", names, got)
		}
		wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a")
	}
}

// TestOpen_afterCrashesInARow crashes again and again, soon after each opening.
func TestOpen_afterCrashesInARow(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	disk := memfs.NewCrashable()
	var want []string
	for round := range 40 {
		o := calm()
		o.Tuning.MemtableBytes = 1 + rng.Int64N(40<<10)
		e := mustOpen(t, disk, o)
		wantWords(t, e, want...)
		for i := range rng.IntN(6) {
			want = append(want, fmt.Sprintf("%03d-%d", round, i))
			mustCommit(t, e, want[len(want)-1])
		}
		if rng.IntN(4) == 0 {
			ok(t, e.Flush())
		}
		disk = disk.Crash(rng)
		if t.Failed() {
			return
		}
	}
}

// A manifest that is cut off or lost is told as what it is, with the copy that is there.
func TestOpen_namesTheCopyOfADamagedManifest(t *testing.T) {
	disk := memfs.New()
	e := mustOpen(t, disk, calm())
	mustCommit(t, e, "a")
	ok(t, e.Close())
	name := named(t, disk, "MANIFEST")[0]
	whole := content(t, disk, name)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for what, left := range map[string][]byte{
		"is cut off": whole[:len(whole)/2], "cut off": {}, "no manifest": nil, "checksum": flipped,
	} {
		damaged := disk.CrashKeepAll()
		if put(t, damaged, name, left); left == nil {
			ok(t, damaged.Remove("db/"+name))
		}
		before := image(t, damaged)
		_, err := Open(damaged, "db", calm())
		if !errors.Is(err, corrupt.Err) || !strings.Contains(err.Error(), name+".copy is there") ||
			!strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s: the error is %v", what, err)
		}
		wantImage(t, damaged, before)
		o := calm()
		o.ReadOnly = true
		reader, err := Open(damaged, "db", o)
		ok(t, err)
		wantWords(t, reader, "a")
		ok(t, damaged.Remove("db/"+name+".copy"))
		_, err = Open(damaged, "db", calm())
		if !errors.Is(err, corrupt.Err) || strings.Contains(err.Error(), "copy") {
			t.Errorf("%s, and no copy: the error is %v", what, err)
		}
	}
}

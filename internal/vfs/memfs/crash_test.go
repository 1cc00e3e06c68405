package memfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newDisk returns a crashable file system with the directory "db".
func newDisk(t testing.TB) *FS {
	t.Helper()
	f := NewCrashable()
	ok(t, f.MkdirAll("db"))
	return f
}

// create returns a new file with some content; synced says whether file and directory are durable.
func create(t testing.TB, f *FS, name, content string, synced bool) vfs.File {
	t.Helper()
	file, err := f.Create(name)
	ok(t, err)
	write(t, file, content, 0)
	if synced {
		ok(t, file.Sync())
		ok(t, f.SyncDir("db"))
	}
	return file
}

func write(t testing.TB, file vfs.File, content string, off int64) {
	t.Helper()
	_, err := file.WriteAt([]byte(content), off)
	ok(t, err)
}

// read returns the content of a file, and false if there is none of that name.
func read(t testing.TB, f *FS, name string) (string, bool) {
	t.Helper()
	file, err := f.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	ok(t, err)
	size, err := file.Size()
	ok(t, err)
	content := make([]byte, size)
	if size > 0 {
		_, err = file.ReadAt(content, 0)
		ok(t, err)
	}
	return string(content), true
}

func want(t testing.TB, f *FS, name, content string) {
	t.Helper()
	got, there := read(t, f, name)
	if !there || got != content {
		t.Errorf("%s holds %.60q of %d bytes (there: %t), want %.60q of %d",
			name, got, len(got), there, content, len(content))
	}
}

func wantAbsent(t testing.TB, f *FS, name string) {
	t.Helper()
	if got, there := read(t, f, name); there {
		t.Errorf("%s is there and holds %.60q", name, got)
	}
}

// crashes calls fn with the results of many random crashes.
func crashes(t *testing.T, f *FS, n int, fn func(after *FS)) {
	t.Helper()
	for seed := range uint64(n) {
		fn(f.Crash(rand.New(rand.NewPCG(seed, 1))))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestCrash_keepsWhatWasSynced(t *testing.T) {
	f := newDisk(t)
	content := strings.Repeat("0123456789", 2000)
	create(t, f, "db/file", content, true)
	want(t, f.CrashKeepNone(), "db/file", content)
	want(t, f.CrashKeepAll(), "db/file", content)
	crashes(t, f, 50, func(after *FS) { want(t, after, "db/file", content) })
}

func TestCrash_keepsAllOrNothingOnDemand(t *testing.T) {
	f := newDisk(t)
	file := create(t, f, "db/file", "synced", true)
	write(t, file, "SYNCED and more", 0)
	create(t, f, "db/removed", "removed", true)
	create(t, f, "db/new", "new", false)
	ok(t, f.Remove("db/removed"))

	none := f.CrashKeepNone()
	want(t, none, "db/file", "synced")
	wantAbsent(t, none, "db/new")
	want(t, none, "db/removed", "removed")

	all := f.CrashKeepAll()
	want(t, all, "db/file", "SYNCED and more")
	want(t, all, "db/new", "new")
	wantAbsent(t, all, "db/removed")
}

func TestKill_leavesWhatIsNotDurableSo(t *testing.T) {
	f := newDisk(t)
	file := create(t, f, "db/file", "synced", true)
	write(t, file, "SYNCED and more", 0)
	create(t, f, "db/new", "new", false)
	killed := f.Kill()
	create(t, f, "db/later", "later", true)
	want(t, killed, "db/file", "SYNCED and more")
	want(t, killed, "db/new", "new")
	wantAbsent(t, killed, "db/later")

	after := killed.CrashKeepNone()
	want(t, after, "db/file", "synced")
	wantAbsent(t, after, "db/new")
}

func TestCrash_losesSectorsOneByOne(t *testing.T) {
	const sectors = 20 // several pages
	f := newDisk(t)
	file := create(t, f, "db/file", strings.Repeat("o", sectors*sectorBytes), true)
	write(t, file, strings.Repeat("n", sectors*sectorBytes), 0)
	var kept, lost [sectors]bool
	patterns := map[string]bool{}
	crashes(t, f, 300, func(after *FS) {
		got, _ := read(t, after, "db/file")
		pattern := ""
		for i := range sectors {
			sector := got[i*sectorBytes : (i+1)*sectorBytes]
			if strings.Count(sector, sector[:1]) != sectorBytes {
				t.Fatalf("sector %d is torn", i)
			}
			kept[i], lost[i] = kept[i] || sector[0] == 'n', lost[i] || sector[0] == 'o'
			pattern += sector[:1]
		}
		patterns[pattern] = true
	})
	for i := range sectors {
		if !kept[i] || !lost[i] {
			t.Errorf("sector %d was never kept or never lost", i)
		}
	}
	all, none := strings.Repeat("n", sectors), strings.Repeat("o", sectors)
	if len(patterns) < 100 || !patterns[all] || !patterns[none] {
		t.Errorf("%d patterns; all kept: %t; all lost: %t",
			len(patterns), patterns[all], patterns[none])
	}
}

func TestCrash_losesOnlyTheUnsyncedSectors(t *testing.T) {
	f := newDisk(t)
	file := create(t, f, "db/file", strings.Repeat("o", 40*sectorBytes), true)
	write(t, file, "n", 7*sectorBytes+100)
	crashes(t, f, 50, func(after *FS) {
		got, _ := read(t, after, "db/file")
		if n := strings.Count(got, "n"); n > 1 || strings.Count(got, "o") != 40*sectorBytes-n {
			t.Errorf("%d new bytes, %d old ones", n, strings.Count(got, "o"))
		}
	})
}

func TestCrash_leavesAnySizeInBetween(t *testing.T) {
	const old, grown = 700, 5*sectorBytes + 10
	f := newDisk(t)
	file := create(t, f, "db/file", strings.Repeat("o", old), true)
	write(t, file, strings.Repeat("n", grown-old), old)
	sizes := map[int]bool{}
	gaps := false
	crashes(t, f, 500, func(after *FS) {
		got, _ := read(t, after, "db/file")
		sizes[len(got)] = true
		if len(got) < old || got[:old] != strings.Repeat("o", old) {
			t.Errorf("the synced part is %.20q… of %d bytes", got, len(got))
		}
		gaps = gaps || strings.Contains(got, "\x00n")
		if rest := strings.Trim(got[min(old, len(got)):], "n\x00"); rest != "" {
			t.Errorf("%q was never written", rest)
		}
	})
	for _, size := range []int{old, 1024, 1536, 2048, 2560, grown} {
		if !sizes[size] {
			t.Errorf("no crash left %d bytes; sizes are %v", size, sizes)
		}
		delete(sizes, size)
	}
	if len(sizes) > 0 || !gaps {
		t.Errorf("impossible sizes %v; zeros before kept bytes: %t", sizes, gaps)
	}
}

func TestCrash_ofATruncatedFile(t *testing.T) {
	f := newDisk(t)
	file := create(t, f, "db/file", strings.Repeat("o", 3000), true)
	ok(t, file.Truncate(100))
	write(t, file, strings.Repeat("n", 900), 100)
	seen := map[byte]bool{}
	sizes := map[int]bool{}
	crashes(t, f, 500, func(after *FS) {
		got, _ := read(t, after, "db/file")
		sizes[len(got)] = true
		if len(got) < 100 || got[:100] != strings.Repeat("o", 100) {
			t.Errorf("the part that was never changed is %.20q… of %d bytes", got, len(got))
		}
		if len(got) > 999 {
			seen[got[999]] = true
		}
	})
	if !seen['o'] || !seen['n'] || !seen[0] {
		t.Errorf("the cut and rewritten part was only %v, want old, new and zeros", seen)
	}
	for _, size := range []int{100, 512, 1000, 2048, 3000} {
		if !sizes[size] {
			t.Errorf("no crash left %d bytes; sizes are %v", size, sizes)
		}
	}
	ok(t, file.Sync())
	crashes(t, f, 20, func(after *FS) {
		want(t, after, "db/file", strings.Repeat("o", 100)+strings.Repeat("n", 900))
	})
}

func TestCrash_losesAFileWhoseDirectoryWasNotSynced(t *testing.T) {
	f := newDisk(t)
	file := create(t, f, "db/file", "content", false)
	ok(t, file.Sync())
	wantAbsent(t, f.CrashKeepNone(), "db/file")
	there := 0
	crashes(t, f, 100, func(after *FS) {
		if _, found := read(t, after, "db/file"); found {
			there++
			want(t, after, "db/file", "content")
		}
	})
	if there == 0 || there == 100 {
		t.Errorf("the file survived %d of 100 crashes", there)
	}
}

func TestCrash_ofAReplacedFile(t *testing.T) {
	f := newDisk(t)
	create(t, f, "db/file", "old", true)
	ok(t, f.Remove("db/file"))
	file := create(t, f, "db/file", "new", false)
	ok(t, file.Sync())
	seen := map[string]int{}
	crashes(t, f, 200, func(after *FS) {
		content, _ := read(t, after, "db/file")
		seen[content]++
	})
	if len(seen) != 3 || seen["old"] == 0 || seen["new"] == 0 || seen[""] == 0 {
		t.Errorf("crashes left %v, want the old file, the new one and none", seen)
	}
	ok(t, f.SyncDir("db"))
	want(t, f.CrashKeepNone(), "db/file", "new")
	ok(t, f.Remove("db/file"))
	ok(t, f.SyncDir("db"))
	wantAbsent(t, f.CrashKeepNone(), "db/file")
}

func TestCrash_ofALinkedFile(t *testing.T) {
	f := newDisk(t)
	file := create(t, f, "db/file", "content", true)
	folder, err := f.OpenFolder("db")
	ok(t, err)
	ok(t, folder.Link("db/file", folder, "db/link"))
	crashes(t, f, 20, func(after *FS) {
		want(t, after, "db/file", "content")
		if _, found := read(t, after, "db/link"); found && !oneFile(t, after, "db/file", "db/link") {
			t.Error("the link has become a copy")
		}
	})
	wantAbsent(t, f.CrashKeepNone(), "db/link")
	ok(t, f.SyncDir("db"))
	ok(t, f.Remove("db/file"))
	write(t, file, "C", 0)
	crashes(t, f, 20, func(after *FS) {
		got, found := read(t, after, "db/link")
		if !found || got != "content" && got != "Content" {
			t.Errorf("the link holds %q", got)
		}
	})
}

// oneFile reports whether two names in db stand for one file.
func oneFile(t testing.TB, f *FS, a, b string) bool {
	t.Helper()
	folder, err := f.OpenFolder("db")
	ok(t, err)
	return folder.Same(a, folder, b)
}

func TestCrash_syncsOneDirectoryAtATime(t *testing.T) {
	f := newDisk(t)
	ok(t, f.MkdirAll("other"))
	create(t, f, "db/file", "", true)
	create(t, f, "other/file", "", true) // which syncs db only
	after := f.CrashKeepNone()
	want(t, after, "db/file", "")
	wantAbsent(t, after, "other/file")
	_, err := after.List("other")
	ok(t, err) // MkdirAll is durable
}

func TestCrash_isIndependentOfTheOriginal(t *testing.T) {
	f := newDisk(t)
	synced := strings.Repeat("s", 10_000)
	file := create(t, f, "db/file", synced, true)
	a, b := f.CrashKeepAll(), f.CrashKeepNone()
	write(t, file, "changed", 0)
	ok(t, file.Truncate(9000))
	ok(t, f.Remove("db/file"))
	want(t, a, "db/file", synced)

	second, err := a.Create("db/second")
	ok(t, err)
	write(t, second, "x", 0)
	ok(t, a.Remove("db/file"))
	want(t, b, "db/file", synced)
	wantAbsent(t, b, "db/second")
	wantAbsent(t, f, "db/second")
	want(t, a.CrashKeepNone(), "db/file", synced) // its own durable state

	reader, err := b.Open("db/file")
	ok(t, err)
	data, _, err := reader.Map(10_000)
	ok(t, err)
	third := b.CrashKeepAll()
	want(t, third, "db/file", synced)
	if string(data) != synced {
		t.Error("the map differs")
	}
}

func TestCrash_releasesLocks(t *testing.T) {
	f := newDisk(t)
	create(t, f, "db/LOCK", "", true)
	held, err := f.Lock("db/LOCK")
	ok(t, err)
	after := f.CrashKeepNone()
	l, err := after.Lock("db/LOCK")
	ok(t, err)
	ok(t, l.Close())
	ok(t, held.Close())
}

func TestCrash_isRepeatable(t *testing.T) {
	f := newDisk(t)
	for i := range 20 {
		file := create(t, f, fmt.Sprintf("db/%d", i), strings.Repeat("o", 2000), i%2 == 0)
		write(t, file, strings.Repeat("n", 3000), 1000)
	}
	for seed := range uint64(20) {
		a := f.Crash(rand.New(rand.NewPCG(seed, 0)))
		b := f.Crash(rand.New(rand.NewPCG(seed, 0)))
		for i := range 20 {
			name := fmt.Sprintf("db/%d", i)
			inA, thereA := read(t, a, name)
			inB, thereB := read(t, b, name)
			if inA != inB || thereA != thereB {
				t.Fatalf("seed %d gives two states of %s", seed, name)
			}
		}
	}
}

func TestCrash_ofAnUntrackedSystemKeepsEverything(t *testing.T) {
	f := New()
	file, err := f.Create("file")
	ok(t, err)
	write(t, file, "content", 0)
	for _, after := range []*FS{f.CrashKeepNone(), f.Crash(rand.New(rand.NewPCG(1, 1)))} {
		want(t, after, "file", "content")
		again := after.CrashKeepNone()
		write(t, file, "C", 0)
		want(t, again, "file", "content")
		write(t, file, "c", 0)
	}
}

// TestCrash_isOneMoment writes a record to one file and then, when that is durable, its number to
// another, while crashes happen: none may know a number without its record.
func TestCrash_isOneMoment(t *testing.T) {
	const records = 2000
	f := newDisk(t)
	data := create(t, f, "db/data", "", true)
	index := create(t, f, "db/index", "\x00", true)
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		for i := range int64(records) {
			_, e1 := data.WriteAt([]byte{byte(i%250 + 1)}, i)
			e2 := data.Sync()
			_, e3 := index.WriteAt(bytes.Repeat([]byte{byte(i%250 + 1)}, 1), 0)
			if err := errors.Join(e1, e2, e3, index.Sync()); err != nil {
				failed <- err
				return
			}
		}
	}()
	for seed, done := uint64(0), false; !done; seed++ {
		select {
		case err := <-failed:
			ok(t, err)
			done = true
		default:
			runtime.Gosched() // where there is one thread only
		}
		after := f.Crash(rand.New(rand.NewPCG(seed, 0)))
		number, _ := read(t, after, "db/index")
		content, _ := read(t, after, "db/data")
		if number != "\x00" && !strings.Contains(content[max(0, len(content)-2):], number) {
			t.Fatalf("record %d is known but the newest ones are %q", number[0],
				content[max(0, len(content)-2):])
		}
	}
}

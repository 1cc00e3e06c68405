package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// system is an implementation of vfs.FS, for one test, with an empty directory in it.
type system struct {
	vfs.FS
	dir string
}

// path returns the name of a file in the directory.
func (s system) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

// everywhere runs a test on every implementation.
func everywhere(t *testing.T, test func(t *testing.T, s system)) {
	noFault := func(faultfs.Op) error { return nil }
	key, err := cryptfs.NewKey(make([]byte, cryptfs.KeyBytes))
	ok(t, err)
	systems := map[string]func() vfs.FS{
		"OS":               vfs.OS,
		"OS writing zeros": vfs.WritingZeros,
		"memory":           func() vfs.FS { return memfs.New() },
		"crashable":        func() vfs.FS { return memfs.NewCrashable() },
		"fault":            func() vfs.FS { return faultfs.New(memfs.New(), noFault) },
		"fault OS":         func() vfs.FS { return faultfs.New(vfs.OS(), noFault) },
		"encrypted":        func() vfs.FS { return cryptfs.New(memfs.New(), key) },
		"encrypted OS":     func() vfs.FS { return cryptfs.New(vfs.OS(), key) },
	}
	for name, make := range systems {
		t.Run(name, func(t *testing.T) {
			s := system{make(), t.TempDir()}
			ok(t, s.MkdirAll(s.dir))
			test(t, s)
		})
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// create returns a new file with some content, which the test's end closes.
func create(t testing.TB, s system, name, content string) vfs.File {
	t.Helper()
	f, err := s.Create(s.path(name))
	ok(t, err)
	t.Cleanup(func() { f.Close() })
	write(t, f, content, 0)
	return f
}

func write(t testing.TB, f vfs.File, content string, off int64) {
	t.Helper()
	n, err := f.WriteAt([]byte(content), off)
	ok(t, err)
	if n != len(content) {
		t.Fatalf("%d bytes written, want %d", n, len(content))
	}
}

// wantContent wants a file to have this content and no more.
func wantContent(t testing.TB, f vfs.File, want string) {
	t.Helper()
	size, err := f.Size()
	ok(t, err)
	got := make([]byte, size)
	if n, err := f.ReadAt(got, 0); n != len(got) || err != nil && err != io.EOF {
		t.Fatalf("%d of %d bytes read: %v", n, size, err)
	}
	if string(got) != want {
		t.Errorf("content %.80q of %d bytes, want %.80q of %d", got, size, want, len(want))
	}
}

func wantList(t testing.TB, s system, dir string, want ...string) {
	t.Helper()
	got, err := s.List(dir)
	ok(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("list %q, want %q", got, want)
	}
}

func TestFS_reportsMissingNames(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		_, err := s.Open(s.path("absent"))
		wantErr(t, err, fs.ErrNotExist)
		wantErr(t, s.Remove(s.path("absent")), fs.ErrNotExist)
		_, err = s.Create(s.path("absent", "file"))
		wantErr(t, err, fs.ErrNotExist)
		_, err = s.Open(s.path("absent", "file"))
		wantErr(t, err, fs.ErrNotExist)
		wantErr(t, s.Remove(s.path("absent", "file")), fs.ErrNotExist)
		_, err = s.Lock(s.path("absent", "LOCK"))
		wantErr(t, err, fs.ErrNotExist)
		_, err = s.List(s.path("absent"))
		wantErr(t, err, fs.ErrNotExist)
		if !strings.Contains(err.Error(), s.path("absent")) {
			t.Errorf("the error %q does not name what is missing", err)
		}
	})
}

func TestCreate_refusesTakenNames(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		create(t, s, "file", "content")
		_, err := s.Create(s.path("file"))
		wantErr(t, err, fs.ErrExist)
		f, err := s.Open(s.path("file"))
		ok(t, err)
		defer f.Close()
		wantContent(t, f, "content")
		ok(t, s.MkdirAll(s.path("directory")))
		_, err = s.Create(s.path("directory"))
		wantErr(t, err, fs.ErrExist)
	})
}

func TestOpen_isForReadingOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		w := create(t, s, "file", "content")
		r, err := s.Open(s.path("file"))
		ok(t, err)
		defer r.Close()
		if _, err := r.WriteAt([]byte("x"), 0); err == nil {
			t.Error("a file opened for reading was written")
		}
		if err := r.Truncate(0); err == nil {
			t.Error("a file opened for reading was truncated")
		}
		if err := r.Preallocate(1000); err == nil {
			t.Error("a file opened for reading was extended")
		}
		ok(t, r.Sync())
		write(t, w, "ed", 7)
		wantContent(t, r, "contented")
	})
}

func TestReadAt_endsWithEOF(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		f := create(t, s, "file", "0123456789")
		for _, tt := range []struct {
			off  int64
			want string
			err  error
		}{
			{0, "0123", nil}, {6, "6789", nil}, {7, "789", io.EOF}, {10, "", io.EOF}, {99, "", io.EOF},
		} {
			buf := make([]byte, 4)
			n, err := f.ReadAt(buf, tt.off)
			if string(buf[:n]) != tt.want || err != tt.err {
				t.Errorf("at %d: %q, %v, want %q, %v", tt.off, buf[:n], err, tt.want, tt.err)
			}
		}
		if _, err := f.ReadAt(make([]byte, 1), -1); err == nil || err == io.EOF {
			t.Errorf("reading before the file gives %v", err)
		}
		if _, err := f.WriteAt([]byte("x"), -1); err == nil {
			t.Error("writing before the file gives no error")
		}
	})
}

func TestWriteAt_leavesZerosInGaps(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		f := create(t, s, "file", "start")
		write(t, f, "end", 300_000)
		write(t, f, "", 400_000)
		wantContent(t, f, "start"+strings.Repeat("\x00", 300_000-5)+"end")
		write(t, f, "START", 0)
		write(t, f, "-", 100_000)
		wantContent(t, f,
			"START"+strings.Repeat("\x00", 99_995)+"-"+strings.Repeat("\x00", 199_999)+"end")
	})
}

func TestTruncate_cutsAndExtends(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		for _, size := range []int64{0, 1, 511, 4096, 5000, 262_144, 262_145} {
			long := strings.Repeat("x", 300_000)
			f := create(t, s, fmt.Sprint(size), long)
			ok(t, f.Truncate(size))
			wantContent(t, f, long[:size])
			ok(t, f.Truncate(size+600))
			wantContent(t, f, long[:size]+strings.Repeat("\x00", 600))
			write(t, f, "y", size+300)
			wantContent(t, f,
				long[:size]+strings.Repeat("\x00", 300)+"y"+strings.Repeat("\x00", 299))
		}
	})
}

func TestPreallocate_growsAndNeverShrinks(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		f := create(t, s, "file", "content")
		ok(t, f.Preallocate(100_000))
		want := "content" + strings.Repeat("\x00", 100_000-7)
		wantContent(t, f, want)
		for _, size := range []int64{0, 7, 99_999, 100_000} {
			ok(t, f.Preallocate(size))
			wantContent(t, f, want)
		}
		write(t, f, "more", 7)
		ok(t, f.Sync())
		wantContent(t, f, "contentmore"+want[11:])
		ok(t, f.Truncate(11))
		wantContent(t, f, "contentmore")
	})
}

func TestPreallocate_addsZerosOfAnyLength(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		f := create(t, s, "file", "content")
		want := "content"
		for _, more := range []int{1, 4095, 65_536, 65_537, 1 << 20, 3_000_001} {
			want += strings.Repeat("\x00", more)
			ok(t, f.Preallocate(int64(len(want))))
			wantContent(t, f, want)
			write(t, f, "x", int64(len(want)))
			want += "x"
		}
	})
}

func TestPreallocate_mayRunWhileBytesBelowAreWritten(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		const size, writers, step = 4 * 10_007, 4, 100_003
		f := create(t, s, "file", strings.Repeat("-", size))
		var done sync.WaitGroup
		for i := range writers {
			done.Go(func() {
				part := bytes.Repeat([]byte{byte('a' + i)}, 7)
				for at := i * size / writers; at < (i+1)*size/writers; at += len(part) {
					n := min(len(part), (i+1)*size/writers-at)
					if _, err := f.WriteAt(part[:n], int64(at)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for n := int64(1); n <= 20; n++ {
			ok(t, f.Preallocate(size+n*step))
		}
		done.Wait()
		want := ""
		for i := range writers {
			want += strings.Repeat(string(rune('a'+i)), size/writers)
		}
		wantContent(t, f, want+strings.Repeat("\x00", 20*step))
	})
}

func TestList_isSortedAndHasBaseNames(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		wantList(t, s, s.dir)
		for _, name := range []string{"c", "a", "b"} {
			create(t, s, name, "")
		}
		ok(t, s.MkdirAll(s.path("ab", "inner")))
		wantList(t, s, s.dir, "a", "ab", "b", "c")
		wantList(t, s, s.path("ab")+string(filepath.Separator), "inner")
		ok(t, s.Remove(s.path("b")))
		wantList(t, s, s.dir, "a", "ab", "c")
	})
}

func TestMkdirAll_makesParents(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		dir := s.path("a", "b", "c")
		ok(t, s.MkdirAll(dir+string(filepath.Separator)))
		ok(t, s.MkdirAll(dir))
		ok(t, s.SyncDir(dir))
		create(t, s, filepath.Join("a", "b", "c", "file"), "")
		wantList(t, s, dir, "file")
		for _, name := range []string{filepath.Join(dir, "file"), filepath.Join(dir, "file", "x")} {
			if err := s.MkdirAll(name); err == nil {
				t.Errorf("made a directory at or below a file: %s", name)
			}
		}
	})
}

func TestRemove_freesTheName(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		f := create(t, s, "file", "old")
		ok(t, f.Close())
		ok(t, s.Remove(s.path("file")))
		ok(t, s.SyncDir(s.dir))
		f = create(t, s, "file", "")
		wantContent(t, f, "")
	})
}

func TestRemove_leavesHandlesUsable(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		f := create(t, s, "file", "content")
		ok(t, s.Remove(s.path("file")))
		create(t, s, "file", "another")
		wantContent(t, f, "content")
		write(t, f, "!", 7)
		wantContent(t, f, "content!")
	})
}

// open returns an open folder in the directory, or that itself if no name is given.
func (s system) open(t testing.TB, elem ...string) vfs.Folder {
	t.Helper()
	f, err := s.OpenFolder(s.path(elem...))
	ok(t, err)
	t.Cleanup(func() { _ = f.Close() }) // perhaps for the second time
	return f
}

func TestLink_givesAFileASecondName(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		ok(t, create(t, s, "file", "content").Close())
		ok(t, s.MkdirAll(s.path("a")))
		from, to := s.open(t), s.open(t, "a")
		ok(t, from.Link(s.path("file"), to, s.path("a", "link")))
		ok(t, to.SyncDir(s.path("a")))
		wantErr(t, from.Link(s.path("file"), to, s.path("a", "link")), fs.ErrExist)
		wantErr(t, from.Link(s.path("none"), to, s.path("a", "new")), fs.ErrNotExist)
		wantErr(t, from.Link(s.path("file"), to, s.path("new")), fs.ErrInvalid)
		ok(t, s.Remove(s.path("file")))
		f, err := s.Open(s.path("a", "link"))
		ok(t, err)
		defer f.Close()
		wantContent(t, f, "content")
		wantList(t, s, s.dir, "a")
	})
}

func TestSame_knowsALinkFromACopy(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		for _, name := range []string{"file", "copy"} {
			ok(t, create(t, s, name, "content").Close())
		}
		folder, again := s.open(t), s.open(t)
		ok(t, folder.Link(s.path("file"), folder, s.path("link")))
		for names, want := range map[[2]string]bool{
			{"file", "link"}: true, {"file", "copy"}: false, {"file", "none"}: false,
			{"none", "none"}: false,
		} {
			if got := folder.Same(s.path(names[0]), again, s.path(names[1])); got != want {
				t.Errorf("%q and %q: same is %v, want %v", names[0], names[1], got, want)
			}
		}
	})
}

func TestClose_endsTheHandleOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		f := create(t, s, "file", "content")
		other, err := s.Open(s.path("file"))
		ok(t, err)
		defer other.Close()
		ok(t, f.Close())
		wantErr(t, f.Close(), fs.ErrClosed)
		_, err = f.ReadAt(make([]byte, 1), 0)
		wantErr(t, err, fs.ErrClosed)
		_, err = f.WriteAt([]byte("x"), 0)
		wantErr(t, err, fs.ErrClosed)
		_, err = f.Size()
		wantErr(t, err, fs.ErrClosed)
		wantErr(t, f.Sync(), fs.ErrClosed)
		wantErr(t, f.Truncate(0), fs.ErrClosed)
		wantErr(t, f.Preallocate(100), fs.ErrClosed)
		wantContent(t, other, "content")
	})
}

// mapped returns the map of a file, or skips the test where there are none.
func mapped(t testing.TB, f vfs.File, size int64) []byte {
	t.Helper()
	data, unmap, err := f.Map(size)
	if errors.Is(err, vfs.ErrNoMap) {
		t.Skip(err)
	}
	ok(t, err)
	t.Cleanup(func() { ok(t, unmap()) })
	return data
}

func TestMap_showsTheContent(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		for _, size := range []int{0, 1, 5000, 1_000_000} {
			content := make([]byte, size)
			for i := range content {
				content[i] = byte(i * 7 >> 3)
			}
			f := create(t, s, fmt.Sprint(size), string(content))
			for _, part := range []int{size, size / 2, 0, size} {
				data := mapped(t, f, int64(part))
				if !bytes.Equal(data, content[:part]) || cap(data) != len(data) {
					t.Errorf("the map of %d of %d bytes differs", part, size)
				}
			}
			wantContent(t, f, string(content))
		}
	})
}

func TestMap_staysValidAfterCloseAndRemove(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		content := strings.Repeat("content", 100_000)
		f := create(t, s, "file", content)
		data := mapped(t, f, int64(len(content)))
		ok(t, f.Close())
		ok(t, s.Remove(s.path("file")))
		create(t, s, "file", strings.Repeat("another", 100_000))
		if string(data) != content {
			t.Error("the map has changed")
		}
	})
}

func TestMap_refusesMoreThanThereIs(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		f := create(t, s, "file", "content")
		mapped(t, f, 7)
		for _, size := range []int64{8, 1 << 40, -1} {
			if _, _, err := f.Map(size); err == nil {
				t.Errorf("a file of 7 bytes was mapped for %d", size)
			}
		}
		write(t, f, strings.Repeat("x", 1000), 7)
		if data := mapped(t, f, 1007); string(data[:8]) != "contentx" {
			t.Errorf("the map of the longer file starts with %q", data[:8])
		}
	})
}

func TestLock_excludesASecondHolder(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		_, err := s.Lock(s.path("LOCK"))
		wantErr(t, err, fs.ErrNotExist)
		ok(t, create(t, s, "LOCK", "").Close())
		ok(t, create(t, s, "ANOTHER", "").Close())
		l, err := s.Lock(s.path("LOCK"))
		ok(t, err)
		_, err = s.Lock(s.path("LOCK"))
		wantErr(t, err, vfs.ErrLocked)
		ok(t, l.Announce())
		_, err = s.Lock(s.path("LOCK"))
		wantErr(t, err, vfs.ErrLocked)
		if !strings.Contains(err.Error(), "already open in this process") ||
			!strings.Contains(err.Error(), s.path("LOCK")) {
			t.Errorf("the error %q does not say what and who", err)
		}
		another, err := s.Lock(s.path("ANOTHER"))
		ok(t, err)
		ok(t, another.Close())
		ok(t, l.Close())
		wantErr(t, l.Close(), fs.ErrClosed)
		wantErr(t, l.Announce(), fs.ErrClosed)
		l, err = s.Lock(s.path("LOCK"))
		ok(t, err)
		ok(t, l.Close())
	})
}

func TestLock_writesOnlyWhenAnnounced(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		const before = "123456789012345678\nsomething else\n"
		ok(t, create(t, s, "LOCK", before).Close())
		l, err := s.Lock(s.path("LOCK"))
		ok(t, err)
		defer l.Close()
		f, err := s.Open(s.path("LOCK"))
		ok(t, err)
		defer f.Close()
		wantContent(t, f, before)
		_, err = s.Lock(s.path("LOCK"))
		wantErr(t, err, vfs.ErrLocked)
		wantContent(t, f, before)
		for range 2 {
			ok(t, l.Announce())
			var line [20]byte
			n, err := f.ReadAt(line[:], 0)
			if err != io.EOF {
				ok(t, err)
			}
			if got := strings.TrimSpace(string(line[:n])); got != strconv.Itoa(os.Getpid()) {
				t.Errorf("the file says %q, want this process", got)
			}
		}
		wantList(t, s, s.dir, "LOCK")
	})
}

func TestFile_isSafeForConcurrentUseOfDifferentBytes(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		const parts, partBytes = 8, 70_000
		f := create(t, s, "file", "")
		var done sync.WaitGroup
		for i := range parts {
			done.Go(func() {
				part := bytes.Repeat([]byte{byte('a' + i)}, partBytes)
				got := make([]byte, partBytes)
				for range 3 {
					if _, err := f.WriteAt(part, int64(i*partBytes)); err != nil {
						t.Error(err)
					}
					if _, err := f.ReadAt(got, int64(i*partBytes)); err != nil && err != io.EOF {
						t.Error(err)
					}
					if !bytes.Equal(got, part) {
						t.Error("other bytes were read than were written")
					}
					if err := errors.Join(f.Sync(), s.SyncDir(s.dir)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done.Wait()
	})
}

// TestFile_behavesLikeASlice runs the same random operations on a file and on a slice of bytes.
func TestFile_behavesLikeASlice(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		seed := rand.Uint64()
		defer func() {
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		}()
		rng := rand.New(rand.NewPCG(seed, 0))
		f := create(t, s, "file", "")
		var want []byte
		resize := func(size int) {
			want = append(want[:min(len(want), size)], make([]byte, max(0, size-len(want)))...)
		}
		for step := range 200 {
			at, n := rng.IntN(1<<rng.IntN(20)), rng.IntN(1<<rng.IntN(17))
			switch rng.IntN(6) {
			case 0:
				ok(t, f.Truncate(int64(at)))
				resize(at)
			case 1:
				ok(t, f.Preallocate(int64(at)))
				resize(max(len(want), at))
			case 2:
				if data, _, err := f.Map(int64(len(want))); err == nil && !bytes.Equal(data, want) {
					t.Fatalf("step %d: the map differs", step)
				}
			case 3:
				ok(t, f.Sync())
			default:
				p := bytes.Repeat([]byte{byte(step)}, n+1)
				write(t, f, string(p), int64(at))
				resize(max(len(want), at+len(p)))
				copy(want[at:], p)
			}
			from := min(rng.IntN(len(want)+1), rng.IntN(len(want)+1))
			got := make([]byte, min(100_000, len(want)-from))
			if m, err := f.ReadAt(got, int64(from)); m != len(got) || err != nil && err != io.EOF {
				t.Fatalf("step %d: %d bytes read, want %d: %v", step, m, len(got), err)
			}
			if !bytes.Equal(got, want[from:from+len(got)]) {
				t.Fatalf("step %d: the content differs", step)
			}
		}
		wantContent(t, f, string(want))
	})
}

package cryptfs

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// sizes are those of contents around the ends of pages, chunks and blocks.
var sizes = []int{
	1, 15, 16, 17, 415, 416, 3999, 4000, 4001, 4079, 4080, 4081, 4096, 4097, 8079, 8080, 8081, 8160,
	32 << 10, 33000, 65536, 70001, 300_000,
}

func TestFile_readsWhatWasWritten(t *testing.T) {
	for _, name := range []string{"db/000007.table", "db/000007.values", "db/000007.log"} {
		for _, size := range sizes {
			for _, piece := range []int{1 << 20, 4080, 1000, 33} {
				inner := newMemory(t)
				files := newTestFS(t, inner, 1)
				want := text(size)
				var pieces [][]byte
				for rest := want; len(rest) > 0; {
					n := min(piece, len(rest))
					pieces, rest = append(pieces, rest[:n]), rest[n:]
				}
				write(t, files, name, pieces...)
				got, err := read(files, name)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s of %d bytes in pieces of %d: other content, %v", name, size, piece, err)
				}
				wantParts(t, files, name, want)
			}
		}
	}
}

// wantParts reads random parts of a file.
func wantParts(t *testing.T, files vfs.Files, name string, want []byte) {
	t.Helper()
	f, err := files.Open(name)
	ok(t, err)
	defer f.Close()
	rng := rand.New(rand.NewPCG(1, uint64(len(want))))
	for range 20 {
		from := rng.IntN(len(want))
		n := 1 + rng.IntN(len(want)-from)
		got := make([]byte, n)
		if _, err := f.ReadAt(got, int64(from)); err != nil && err != io.EOF {
			t.Fatalf("%s: %d bytes at %d: %v", name, n, from, err)
		}
		if !bytes.Equal(got, want[from:from+n]) {
			t.Fatalf("%s of %d bytes: other content of %d bytes at %d", name, len(want), n, from)
		}
	}
	if n, err := f.ReadAt(make([]byte, 10), int64(len(want))-1); n != 1 || err != io.EOF {
		t.Errorf("%d bytes at the end of %s, %v", n, name, err)
	}
}

func TestFile_isReadWhileItIsWritten(t *testing.T) {
	inner := newMemory(t)
	files := newTestFS(t, inner, 1)
	w, err := files.Create("db/000001.log")
	ok(t, err)
	ok(t, w.Preallocate(1<<20))
	r, err := files.Open("db/000001.log")
	ok(t, err)
	if size, err := r.Size(); size != 0 || err != nil {
		t.Errorf("a new file has %d bytes, %v", size, err)
	}
	ok(t, r.Close())
	want := text(100_000)
	for at := 0; at < len(want); at += 1000 {
		_, err := w.WriteAt(want[at:at+1000], int64(at))
		ok(t, err)
		got, err := read(files, "db/000001.log")
		ok(t, err)
		if !bytes.Equal(got, want[:at+1000]) {
			t.Fatalf("other content after %d bytes", at+1000)
		}
		got, err = read(newTestFS(t, inner, 1), "db/000001.log") // as another process does
		ok(t, err)
		if !bytes.Equal(got, want[:at+1000]) {
			t.Fatalf("other content after %d bytes for another process", at+1000)
		}
	}
	ok(t, w.Truncate(int64(len(want))))
	ok(t, w.Close())
}

func TestFile_isNoPlaintext(t *testing.T) {
	secret := []byte("the secret that nobody may see")
	content := bytes.Repeat(secret, 3000)
	for _, name := range []string{
		"000001.log", "000001.table", "000001.values", "MANIFEST-000001", "MANIFEST-000001.copy",
	} {
		inner := newMemory(t)
		write(t, newTestFS(t, inner, 1), "db/"+name, content)
		raw := stored(t, inner, "db/"+name)
		if len(raw) < len(content) || bytes.Contains(raw, secret[:8]) {
			t.Errorf("%s has plaintext", name)
		}
	}
}

func TestFile_withTheSameContentDiffers(t *testing.T) {
	inner := newMemory(t)
	files := newTestFS(t, inner, 1)
	write(t, files, "db/000001.table", text(10_000))
	write(t, files, "db/000002.table", text(10_000))
	a, b := stored(t, inner, "db/000001.table"), stored(t, inner, "db/000002.table")
	if bytes.Equal(a[saltAt:tagAt], b[saltAt:tagAt]) || bytes.Equal(a[100:200], b[100:200]) {
		t.Error("two files are encrypted alike")
	}
}

func TestFile_noticesEveryFlippedByte(t *testing.T) {
	for _, name := range []string{"db/000001.table", "db/000001.log"} {
		inner := newMemory(t)
		files := newTestFS(t, inner, 1)
		f, err := files.Create(name)
		ok(t, err)
		at := int64(0)
		for _, n := range []int{48, 200, 5000, 40_000, 10} {
			_, err := f.WriteAt(text(n), at)
			ok(t, err)
			if at += int64(n); strings.HasSuffix(name, ".log") {
				ok(t, f.Sync())
			}
		}
		ok(t, f.Close())
		raw := stored(t, inner, name)
		want, err := read(files, name)
		ok(t, err)
		for i := 0; i < len(raw); i += 1 + i/200 {
			flipped := bytes.Clone(raw)
			flipped[i] ^= 0x40
			store(t, inner, name, flipped)
			got, err := read(files, name)
			switch {
			case err != nil && !strings.Contains(err.Error(), name):
				t.Errorf("byte %d of %s: the error %q does not name the file", i, name, err)
			case err == nil && strings.HasSuffix(name, ".table"):
				t.Fatalf("byte %d of %s: no error", i, name)
			case err == nil && bytes.Equal(got, want) && len(bytes.TrimRight(raw[i:], "\x00")) > 0 &&
				!isPadding(raw, i):
				t.Fatalf("byte %d of %s: unnoticed", i, name)
			case err == nil && len(got) >= len(want)-10 &&
				!bytes.Equal(got[:len(want)-10], want[:len(want)-10]):
				t.Fatalf("byte %d of %s: durable content changed without an error", i, name)
			}
		}
	}
}

// isPadding reports whether a byte is one of those that leave a block empty.
func isPadding(raw []byte, at int) bool {
	end := (at/blockBytes + 1) * blockBytes
	return end <= len(raw) && len(bytes.TrimRight(raw[at:end], "\x00")) == 0
}

func TestFile_ofPagesNoticesEveryTruncation(t *testing.T) {
	inner := newMemory(t)
	files := newTestFS(t, inner, 1)
	write(t, files, "db/000001.table", text(5*pageData))
	raw := stored(t, inner, "db/000001.table")
	for n := range len(raw) {
		if n%pageBytes > 40 && n%pageBytes < pageBytes-40 && n%97 != 0 {
			continue
		}
		store(t, inner, "db/000001.table", raw[:n])
		if got, err := read(files, "db/000001.table"); err == nil {
			t.Fatalf("cut off at %d: %d bytes of content and no error", n, len(got))
		}
	}
}

func TestFile_noticesSwappedPages(t *testing.T) {
	inner := newMemory(t)
	files := newTestFS(t, inner, 1)
	write(t, files, "db/000001.table", text(5*pageData))
	write(t, files, "db/000002.table", text(5*pageData))
	a, b := stored(t, inner, "db/000001.table"), stored(t, inner, "db/000002.table")
	within, between := bytes.Clone(a), bytes.Clone(a)
	copy(within[pageBytes:], a[2*pageBytes:3*pageBytes])
	copy(within[2*pageBytes:], a[pageBytes:2*pageBytes])
	copy(between[pageBytes:2*pageBytes], b[pageBytes:])
	for _, raw := range [][]byte{within, between} {
		store(t, inner, "db/000001.table", raw)
		_, err := read(files, "db/000001.table")
		wantErr(t, err, corrupt.Err)
	}
}

func TestOpen_refusesOtherKeys(t *testing.T) {
	for _, name := range []string{"db/000001.table", "db/000001.log"} {
		inner := newMemory(t)
		write(t, newTestFS(t, inner, 1), name, text(100))
		_, err := read(newTestFS(t, inner, 2), name)
		wantErr(t, err, corrupt.ErrKey)
		store(t, inner, name, []byte("STOATTAB, which is not encrypted"))
		_, err = read(newTestFS(t, inner, 1), name)
		wantErr(t, err, corrupt.ErrKey)
	}
	_, err := NewKey(make([]byte, 31))
	if err == nil {
		t.Error("a key of 31 bytes is taken")
	}
}

func TestFile_takesWritesInOrderOnly(t *testing.T) {
	files := newTestFS(t, newMemory(t), 1)
	for _, name := range []string{"db/000001.table", "db/000001.log"} {
		f, err := files.Create(name)
		ok(t, err)
		_, err = f.WriteAt(text(100), 0)
		ok(t, err)
		for _, at := range []int64{0, 99, 101} {
			if n, err := f.WriteAt(text(10), at); err == nil || n != 0 {
				t.Errorf("%s: a write at %d behind 100 bytes is taken", name, at)
			}
		}
		ok(t, f.Close())
	}
}

// TestCrash_leavesWhatWasSynced writes files with syncs at random, crashes the disk, and wants the
// synced content, and zeros or the content behind it.
func TestCrash_leavesWhatWasSynced(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		disk := memfs.NewCrashable()
		ok(t, disk.MkdirAll("db"))
		files := newTestFS(t, disk, 1)
		f, err := files.Create("db/000001.log")
		ok(t, err)
		ok(t, files.SyncDir("db"))
		var content []byte
		durable := 0
		for range 1 + rng.IntN(20) {
			if rng.IntN(2) == 0 {
				ok(t, f.Preallocate(int64(len(content)+rng.IntN(200_000))))
			}
			p := text(1 + rng.IntN(1<<rng.IntN(17)))
			_, err := f.WriteAt(p, int64(len(content)))
			ok(t, err)
			content = append(content, p...)
			if rng.IntN(3) == 0 {
				ok(t, f.Sync())
				durable = len(content)
			}
		}
		got, err := read(newTestFS(t, disk.Crash(rng), 1), "db/000001.log")
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(got) < durable || !bytes.Equal(got[:durable], content[:durable]) {
			t.Fatalf("seed %d: %d bytes are left of %d synced, or others", seed, len(got), durable)
		}
		for i := durable; i < len(got); i++ {
			if got[i] != content[i] && got[i] != 0 {
				t.Fatalf("seed %d: byte %d is %d, which was never written", seed, i, got[i])
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{"db/000001.table", "db/000001.log"} {
		inner := newMemory(f)
		write(f, newTestFS(f, inner, 1), name, text(48), text(9000))
		f.Add(stored(f, inner, name), name == "db/000001.log", uint16(0), byte(0))
		f.Add(stored(f, inner, name), name == "db/000001.log", uint16(500), byte(8))
	}
	f.Fuzz(func(t *testing.T, raw []byte, log bool, at uint16, flip byte) {
		name := fmt.Sprintf("db/000001.%s", map[bool]string{false: "table", true: "log"}[log])
		if len(raw) > 0 {
			raw = bytes.Clone(raw)
			raw[int(at)%len(raw)] ^= flip
		}
		inner := newMemory(t)
		write(t, inner, name, raw)
		content, err := read(newTestFS(t, inner, 1), name)
		if err == nil && len(content) > len(raw) {
			t.Errorf("%d bytes of content in a file of %d", len(content), len(raw))
		}
	})
}

func TestFile_whoseHeaderAFullDiskCutOffIsEmpty(t *testing.T) {
	const name = "db/000001.log"
	inner := newMemory(t)
	files := newTestFS(t, inner, 1)
	write(t, files, name, text(100))
	whole := stored(t, inner, name)
	for cut := range headerBytes {
		if bytes.HasSuffix(whole[:headerBytes], make([]byte, headerBytes-cut)) {
			continue // nothing is missing
		}
		for _, preallocated := range []int{0, headerBytes - cut, 100_000} {
			p := append(bytes.Clone(whole[:cut]), make([]byte, preallocated)...)
			store(t, inner, name, p)
			if got, err := read(files, name); err != nil || len(got) > 0 {
				t.Errorf("cut off at %d, before %d zeros: %d bytes, %v", cut, preallocated, len(got), err)
			}
		}
		p := append(bytes.Clone(whole[:cut]), make([]byte, headerBytes-cut)...)
		store(t, inner, name, append(p, whole[headerBytes:]...))
		_, err := read(files, name)
		wantErr(t, err, corrupt.Err) // it has content
	}
}

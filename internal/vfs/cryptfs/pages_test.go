package cryptfs

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
)

const pagedName = "db/000001.table"

// openPaged returns a file of pages with a content, which the test closes.
func openPaged(t testing.TB, content []byte) vfs.File {
	t.Helper()
	files := newTestFS(t, newMemory(t), 1)
	write(t, files, pagedName, content)
	f, err := files.Open(pagedName)
	ok(t, err)
	t.Cleanup(func() { ok(t, f.Close()) })
	return f
}

func TestPages_areReadAcrossTheirEnds(t *testing.T) {
	want := text(40*pageData + 100)
	f := openPaged(t, want)
	lengths := []int{
		0, 1, 2, 17, 400, pageData - 1, pageData, pageData + 1, 2*pageData + 3, 20 * pageData,
	}
	for page := range 41 {
		border := page*pageData - headerBytes
		for _, off := range []int{border - 400, border - 1, border, border + 1} {
			for _, n := range lengths {
				if off < 0 || off >= len(want) {
					continue
				}
				got := bytes.Repeat([]byte{0xEE}, n+1)
				read, err := f.ReadAt(got[:n], int64(off))
				if left := want[off:min(len(want), off+n)]; !bytes.Equal(got[:read], left) ||
					(err != nil) != (read < n) || err != nil && !errors.Is(err, io.EOF) {
					t.Fatalf("%d bytes at %d: %d are read, %v", n, off, read, err)
				}
				if got[n] != 0xEE {
					t.Fatalf("%d bytes at %d: a byte behind them is written", n, off)
				}
			}
		}
	}
}

func TestPages_areReadWithoutGarbage(t *testing.T) {
	f := openPaged(t, text(20*pageData))
	for _, n := range []int{400, 10 * pageData} {
		p := make([]byte, n)
		got := testing.AllocsPerRun(100, func() {
			if _, err := f.ReadAt(p, 4000); err != nil {
				t.Error(err)
			}
		})
		if got > 2 { // a buffer now and then
			t.Errorf("reading %d bytes allocates %.0f times", n, got)
		}
	}
}

// A part of a file is read without the rest, so each read must notice what was done to its pages.
func TestPages_eachReadVerifiesItsOwn(t *testing.T) {
	inner := newMemory(t)
	files := newTestFS(t, inner, 1)
	want := text(6*pageData + 100)
	write(t, files, pagedName, want)
	raw := stored(t, inner, pagedName)
	last := len(raw) / pageBytes
	for page := range last + 1 {
		at := page * pageBytes
		changes := map[string]func(p []byte){
			"a bit":          func(p []byte) { p[at+90] ^= 1 },
			"a bit of a tag": func(p []byte) { p[min(len(p), at+pageBytes)-1] ^= 1 },
			"the page before": func(p []byte) {
				copy(p[at:min(len(p), at+pageBytes)], raw[max(0, at-pageBytes):])
			},
		}
		for what, change := range changes {
			if page == 0 && what == "the page before" {
				continue
			}
			p := bytes.Clone(raw)
			change(p)
			store(t, inner, pagedName, p)
			wantOnlyPageDamaged(t, files, what, page, want)
		}
	}
}

// wantOnlyPageDamaged reads a small piece of each page, and wants errors for those of one page.
func wantOnlyPageDamaged(t *testing.T, files vfs.Files, what string, page int, want []byte) {
	t.Helper()
	f, err := files.Open(pagedName)
	ok(t, err)
	defer f.Close()
	for i := 0; i*pageData < len(want)+headerBytes; i++ {
		from := max(0, i*pageData-headerBytes)
		p := make([]byte, min(50, len(want)-from))
		_, err := f.ReadAt(p, int64(from))
		switch {
		case i == page && !errors.Is(err, corrupt.Err):
			t.Errorf("%s in page %d: a read of it says %v", what, page, err)
		case i != page && (err != nil || !bytes.Equal(p, want[from:from+len(p)])):
			t.Errorf("%s in page %d: a read of page %d says %v", what, page, i, err)
		}
	}
}

func TestPages_areReadByManyAtOnce(t *testing.T) {
	want := text(50 * pageData)
	f := openPaged(t, want)
	var group sync.WaitGroup
	for seed := range uint64(4) {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			for range 300 {
				from := rng.IntN(len(want))
				p := make([]byte, min(1+rng.IntN(1<<rng.IntN(17)), len(want)-from))
				if _, err := f.ReadAt(p, int64(from)); err != nil || !bytes.Equal(p, want[from:from+len(p)]) {
					t.Errorf("seed %d: %d bytes at %d: %v", seed, len(p), from, err)
				}
			}
		})
	}
	group.Wait()
}

func TestOpen_knowsWhichFilesVerify(t *testing.T) {
	files := newTestFS(t, newMemory(t), 1)
	for name, want := range map[string]bool{pagedName: true, "db/000001.log": false} {
		write(t, files, name, text(100))
		f, err := files.Open(name)
		ok(t, err)
		if vfs.VerifiesReads(f) != want {
			t.Errorf("%s verifies what is read: %v, want %v", name, !want, want)
		}
		ok(t, f.Close())
	}
}

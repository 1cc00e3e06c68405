package wal

import (
	"bytes"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// walkImage returns the pieces of a log file, which must cover it without gaps.
func walkImage(t testing.TB, image []byte) ([]Piece, Ending) {
	t.Helper()
	fs := memfs.New()
	check(t, fs.MkdirAll(testDir))
	f, err := fs.Create(filepath.Join(testDir, folder.Log.Name(testNumber)))
	check(t, err)
	_, err = f.WriteAt(image, 0)
	check(t, err)
	var all []Piece
	at := int64(fileheader.Size)
	ending, err := Walk(f, "log", func(p Piece) error {
		if p.At != at || p.End <= p.At || p.End > int64(len(image)) {
			t.Fatalf("piece [%d, %d) follows offset %d", p.At, p.End, at)
		}
		zeros := len(bytes.Trim(image[p.At:p.End], "\x00")) == 0
		if !p.Frame && p.Zeros != zeros {
			t.Fatalf("of the piece [%d, %d), Zeros is %v", p.At, p.End, p.Zeros)
		}
		if p.Payload != nil && !bytes.Equal(p.Payload, image[p.At+HeaderBytes:p.End]) {
			t.Fatalf("payload at %d is %q", p.At, p.Payload)
		}
		at = p.End
		p.Payload = bytes.Clone(p.Payload)
		all = append(all, p)
		return nil
	})
	check(t, err)
	if at < int64(len(image)) {
		t.Fatalf("the pieces end at %d of %d", at, len(image))
	}
	return all, ending
}

// checkWalk checks that Walk and Replay agree about an image with a valid header.
func checkWalk(t testing.TB, image []byte, replayed []commit, replayErr error) {
	t.Helper()
	pieces, ending := walkImage(t, image)
	if replayErr == nil && ending.Damaged {
		t.Fatalf("damaged at %d, but it replays", ending.At)
	}
	if replayErr != nil && !ending.Damaged && (len(pieces) == 0 || pieces[0].Commit <= 1) {
		t.Fatalf("not damaged, but Replay says %v", replayErr)
	}
	var payloads [][]byte
	for _, p := range pieces {
		if p.Payload != nil {
			payloads = append(payloads, p.Payload)
		}
	}
	for _, c := range replayed {
		for _, p := range c.payloads {
			found := slices.IndexFunc(payloads, func(q []byte) bool { return bytes.Equal(p, q) })
			if found < 0 {
				t.Fatalf("payload %q of commit %d is in no piece", p, c.number)
			}
			payloads = payloads[found+1:]
		}
	}
}

func TestWalk_findsTheFramesAndTheZeros(t *testing.T) {
	commits := someCommits(4)
	image := append(logImage(t, Durable, commits...), make([]byte, 100)...)
	pieces, ending := walkImage(t, image)
	var kinds []string
	for _, p := range pieces {
		kinds = append(kinds, p.Kind)
		if p.Problem != "" || p.Frame != (p.Payload != nil) {
			t.Errorf("frame at %d: %q, payload %q", p.At, p.Problem, p.Payload)
		}
	}
	want := []string{"whole", "first", "last", "first", "middle", "last", "whole", ""}
	if !slices.Equal(kinds, want) || !pieces[7].Zeros {
		t.Errorf("the pieces are %q, want %q", kinds, want)
	}
	if end := int64(len(image) - 100); ending != (Ending{At: end}) || pieces[7].At != end {
		t.Errorf("the log ends as %v, want at %d", ending, end)
	}
	checkWalk(t, image, commits, nil)
}

func TestWalk_continuesAfterEveryFlippedByte(t *testing.T) {
	commits := someCommits(5)
	image := logImage(t, Durable, commits...)
	whole, _ := walkImage(t, image)
	for at := fileheader.Size; at < len(image); at++ {
		image[at] ^= 0x10
		got, err := replayImage(t, image, 0)
		checkWalk(t, image, got, err)
		pieces, ending := walkImage(t, image)
		intact := 0
		for _, p := range pieces {
			if p.Payload != nil {
				intact++
			}
		}
		if intact != len(whole)-1 || ending.At > int64(at) {
			t.Fatalf("byte %d is flipped: %d of %d frames are intact; the log ends as %v",
				at, intact, len(whole), ending)
		}
		image[at] ^= 0x10
	}
	t.Logf("trust: %d flipped bytes", len(image)-fileheader.Size)
}

func TestWalk_findsFramesAfterADamagedHeader(t *testing.T) {
	image := logImage(t, Durable, someCommits(3)...)
	for at := range fileheader.Size {
		image[at] ^= 0x10
		if pieces, _ := walkImage(t, image); len(pieces) != 6 || pieces[5].Payload == nil {
			t.Errorf("byte %d is flipped: %d pieces", at, len(pieces))
		}
		image[at] ^= 0x10
	}
}

func TestWalk_saysWhatIsWrongWithTheOrder(t *testing.T) {
	header, seed := testHeader.Bytes(), testHeader.Seed()
	for _, h := range []frameHeader{
		{commit: 7, kind: whole}, {commit: 9, kind: whole}, {commit: 8, kind: last},
		{commit: 8, kind: 5}, {commit: 8, kind: first, synced: 1 << 20}, {commit: 0, kind: whole},
	} {
		image := append(bytes.Clone(header[:]), make([]byte, 2*HeaderBytes)...)
		second := int64(fileheader.Size + HeaderBytes)
		frameHeader{commit: 7, kind: whole}.put(image[fileheader.Size:], seed, fileheader.Size)
		h.put(image[second:], seed, second)
		pieces, ending := walkImage(t, image)
		if pieces[0].Problem != "" || pieces[1].Problem == "" {
			t.Errorf("%+v: the problems are %q and %q", h, pieces[0].Problem, pieces[1].Problem)
		}
		if ending != (Ending{At: second, Damaged: true}) {
			t.Errorf("%+v: the log ends as %v", h, ending)
		}
	}
}

func TestWalk_readsALogThatIsCutOffAnywhere(t *testing.T) {
	image := logImage(t, Durable, someCommits(3)...)
	for n := fileheader.Size; n < len(image); n++ {
		got, err := replayImage(t, image[:n], 0)
		checkWalk(t, image[:n], got, err)
	}
	t.Logf("trust: %d cut lengths", len(image)-fileheader.Size)
}

// A false length can only come from a valid header, and does not cause an allocation.
func TestWalk_allocatesByNoLengthBeyondTheFile(t *testing.T) {
	header, seed := testHeader.Bytes(), testHeader.Seed()
	image := append(header[:], make([]byte, HeaderBytes)...)
	frameHeader{length: 0xFFFF_FFF0, commit: 1, kind: whole}.put(image[fileheader.Size:], seed,
		fileheader.Size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got, err := replayImage(t, image, 0); err != nil || len(got) > 0 {
		t.Errorf("%d commits are replayed: %v", len(got), err)
	}
	pieces, _ := walkImage(t, image)
	runtime.ReadMemStats(&after)
	if pieces[0].Payload != nil || pieces[0].Length != 0xFFFF_FFF0 {
		t.Errorf("the piece is %+v", pieces[0])
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated for a log of %d", n, len(image))
	}
}

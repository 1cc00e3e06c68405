package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
)

// seal overwrites the header of the frame at the offset at in a log image.
func seal(image []byte, at int, change func(h *frameHeader)) {
	seed := testHeader.Seed()
	h, _ := parseFrameHeader(image[at:], seed, int64(at))
	change(&h)
	h.put(image[at:], seed, int64(at))
}

func TestReplay_endsWhereTheFileIsCutOff(t *testing.T) {
	want := someCommits(6)
	image := logImage(t, Durable, want...)
	whole := ends(want)
	for cut := range image {
		n := 0
		for n < len(whole) && whole[n] <= cut {
			n++
		}
		got, err := replayImage(t, image[:cut], 0)
		if err != nil || len(got) != n || !isPrefix(got, want) {
			t.Fatalf("cut off at %d: replayed %d commits, want %d: %v", cut, len(got), n, err)
		}
		zeroed := append(bytes.Clone(image[:cut]), make([]byte, len(image)-cut)...)
		got, err = replayImage(t, zeroed, 0)
		if err != nil || len(got) < n || len(got) > n+1 || !isPrefix(got, want) {
			t.Fatalf("zeros from %d on: replayed %d commits, want %d: %v", cut, len(got), n, err)
		}
	}
}

func TestReplay_neverReturnsDamagedBytes(t *testing.T) {
	want := someCommits(6)
	for _, reach := range []Reach{Durable, Written} {
		image := logImage(t, reach, want...)
		durable := 0 // according to the last frame
		if reach == Durable {
			durable = ends(want)[4]
		}
		for i := range image {
			for bit := range 8 {
				damaged := bytes.Clone(image)
				damaged[i] ^= 1 << bit
				got, err := replayImage(t, damaged, 0)
				switch {
				case err != nil && !isDamage(err):
					t.Fatalf("bit %d of byte %d: %v", bit, i, err)
				case err == nil && i < durable:
					t.Fatalf("bit %d of byte %d is damaged, but was durable", bit, i)
				case len(got) == len(want) || !isPrefix(got, want):
					t.Fatalf("bit %d of byte %d: replayed %d commits", bit, i, len(got))
				}
			}
		}
	}
}

func TestReplay_saysWhereTheDamageIs(t *testing.T) {
	want := someCommits(4)
	image := logImage(t, Durable, want...)
	at := ends(want)[1] // where commit 3 starts
	image[at+HeaderBytes] ^= 1
	_, err := replayImage(t, image, 0)
	var damage *corrupt.Error
	if !errors.As(err, &damage) || damage.Offset != int64(at) {
		t.Errorf("damage at %d is reported as %v", at, err)
	}
}

func TestReplay_takesAHoleForATornTailUnlessItWasDurable(t *testing.T) {
	want := someCommits(5)
	image := logImage(t, Written, want...)
	whole := ends(want)
	clear(image[whole[1]:whole[2]]) // commit 3
	if got, err := replayImage(t, image, 0); err != nil || len(got) != 2 {
		t.Fatalf("replayed %d commits: %v", len(got), err)
	}
	seal(image, whole[3], func(h *frameHeader) { h.synced = uint64(whole[1]) })
	if got, err := replayImage(t, image, 0); err != nil || len(got) != 2 {
		t.Fatalf("what precedes the hole is durable: replayed %d commits: %v", len(got), err)
	}
	seal(image, whole[3], func(h *frameHeader) { h.synced = uint64(whole[2]) })
	if _, err := replayImage(t, image, 0); !errors.Is(err, corrupt.Err) {
		t.Fatalf("the hole was durable: %v", err)
	}
}

// The frame after the gap lies at every offset relative to the skipped bytes and the window.
func TestReplay_findsWhatFollowsAHole(t *testing.T) {
	for _, base := range []int{0, windowBytes - 2*HeaderBytes, 2*windowBytes - 3*HeaderBytes} {
		for hole := base; hole < base+3*HeaderBytes; hole++ {
			want := []commit{{1, [][]byte{make([]byte, hole)}}, {2, [][]byte{[]byte("later")}}}
			image := logImage(t, Durable, want...)
			clear(image[fileheader.Size : fileheader.Size+HeaderBytes])
			if _, err := replayImage(t, image, 0); !errors.Is(err, corrupt.Err) {
				t.Errorf("hole of %d bytes: %v", hole, err)
			}
		}
	}
}

func TestReplay_takesALostHeaderForACrashUnlessItWasDurable(t *testing.T) {
	const sector = 512
	want := []commit{{1, [][]byte{make([]byte, sector)}}, {2, [][]byte{[]byte("later")}}}
	for _, reach := range []Reach{Written, Durable} {
		image := logImage(t, reach, want...)
		clear(image[:sector])
		got, err := replayImage(t, image, 0)
		if len(got) > 0 || errors.Is(err, corrupt.Err) != (reach == Durable) {
			t.Errorf("reach %d: replayed %d commits: %v", reach, len(got), err)
		}
	}
}

func TestReplay_refusesOtherFiles(t *testing.T) {
	image := logImage(t, Durable, someCommits(2)...)
	sum := func(p []byte) {
		binary.LittleEndian.PutUint32(p[44:], checksum.Of(p[:44]))
	}
	for _, c := range []struct {
		name   string
		change func(p []byte)
		want   error
	}{
		{"magic", func(p []byte) { p[0] ^= 1 }, corrupt.ErrFormat},
		{"table's magic", func(p []byte) { copy(p, "STOATTAB"); sum(p) }, corrupt.ErrFormat},
		{"newer version", func(p []byte) { p[8]++; sum(p) }, corrupt.ErrFormat},
		{"other number", func(p []byte) { p[16]++; sum(p) }, corrupt.Err},
		{"other database", func(p []byte) { p[24]++; sum(p) }, corrupt.Err},
		{"checksum", func(p []byte) { p[44]++ }, corrupt.Err},
	} {
		other := bytes.Clone(image)
		c.change(other)
		got, err := replayImage(t, other, 0)
		if len(got) > 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: replayed %d commits: %v", c.name, len(got), err)
		}
	}
}

func TestReplay_refusesFramesThatCannotFollow(t *testing.T) {
	want := []commit{{1, frames([]byte("a"))}, {2, frames([]byte("b"), []byte("c"))}}
	image := logImage(t, Written, want...)
	at := ends(want)[0]
	for name, change := range map[string]func(h *frameHeader){
		"commit of before":    func(h *frameHeader) { h.commit = 1 },
		"commit left out":     func(h *frameHeader) { h.commit = 3 },
		"no first frame":      func(h *frameHeader) { h.kind = last },
		"unknown kind":        func(h *frameHeader) { h.kind = 5 },
		"no kind":             func(h *frameHeader) { h.kind = 0 },
		"synced before write": func(h *frameHeader) { h.synced = uint64(at) + 1 },
	} {
		changed := bytes.Clone(image)
		seal(changed, at, change)
		if got, err := replayImage(t, changed, 0); len(got) != 1 || !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: replayed %d commits: %v", name, len(got), err)
		}
	}
	changed := bytes.Clone(image)
	seal(changed, fileheader.Size, func(h *frameHeader) { h.commit = 0 })
	if got, err := replayImage(t, changed, 0); len(got) != 0 || !errors.Is(err, corrupt.Err) {
		t.Errorf("commit 0: replayed %d commits: %v", len(got), err)
	}
}

// Frames of another segment, of another database, and from another offset of the same file, all
// where the next frame would be.
func TestReplay_ignoresStaleFrames(t *testing.T) {
	want := someCommits(3)
	image := logImage(t, Durable, want...)
	at := len(image)
	own := logImage(t, Durable, append(slices.Clone(want), commit{4, [][]byte{[]byte("stale")}})...)
	stale := own[at:]
	got, err := replayImage(t, append(bytes.Clone(image), stale...), 0)
	if err != nil || len(got) != 4 {
		t.Fatalf("the frame itself: replayed %d commits: %v", len(got), err)
	}
	foreign := func(number uint64, database [16]byte, at int) []byte {
		p := bytes.Clone(stale)
		own := testHeader.Seed()
		h, ok := parseFrameHeader(p, own, int64(len(image)))
		if !ok {
			t.Fatal("the stale frame is not valid where it was")
		}
		seed := fileheader.New(fileheader.Log, number, database).Seed()
		h.put(p, seed, int64(at))
		return p
	}
	for name, p := range map[string][]byte{
		"other segment":  foreign(testNumber-1, testDatabase, at),
		"other database": foreign(testNumber, [16]byte{1}, at),
		"other place":    foreign(testNumber, testDatabase, at+HeaderBytes),
	} {
		got, err := replayImage(t, append(bytes.Clone(image), p...), 0)
		if err != nil || len(got) != 3 {
			t.Errorf("%s: replayed %d commits: %v", name, len(got), err)
		}
	}
}

// A torn frame does not count as damage because a copy of the log follows it in a value.
func TestReplay_ignoresALogWithinALog(t *testing.T) {
	inner := logImage(t, Durable, someCommits(6)...)
	want := []commit{{1, [][]byte{[]byte("torn")}}, {2, [][]byte{inner}}}
	image := logImage(t, Written, want...)
	image[fileheader.Size] ^= 1
	if got, err := replayImage(t, image, 0); err != nil || len(got) != 0 {
		t.Errorf("replayed %d commits: %v", len(got), err)
	}
}

func TestReplay_allocatesByNoLengthThatItHasNotChecked(t *testing.T) {
	image := logImage(t, Durable, commit{1, [][]byte{[]byte("a")}})
	seal(image, fileheader.Size, func(h *frameHeader) { h.length = math.MaxUint32 })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := replayImage(t, image, 0)
	runtime.ReadMemStats(&after)
	if err != nil || len(got) != 0 {
		t.Errorf("replayed %d commits: %v", len(got), err)
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1<<20 {
		t.Errorf("%d bytes allocated", bytes)
	}
}

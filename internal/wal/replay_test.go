package wal

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
)

// scribble runs random transactions: some large, some written while they run, some abandoned. It
// returns the finished ones.
func scribble(t testing.TB, s *Segment, rng *rand.Rand, n int) (finished []commit) {
	t.Helper()
	for len(finished) < n {
		c := commit{number: uint64(len(finished) + 1)}
		abandoned := rng.IntN(4) == 0
		parts := 1 + rng.IntN(3)
		for part := range parts {
			var payloads [][]byte
			for range rng.IntN(4) + 1 {
				p := make([]byte, rng.IntN(300))
				if rng.IntN(20) == 0 {
					p = make([]byte, rng.IntN(2*windowBytes))
				}
				for i := range p {
					p[i] = byte(rng.Uint32() >> 24)
				}
				payloads = append(payloads, p)
			}
			s.Append(frames(payloads...), c.number, !abandoned && part == parts-1)
			c.payloads = append(c.payloads, payloads...)
			if abandoned || rng.IntN(2) == 0 {
				_, err := s.Write(Reach(rng.IntN(3)))
				check(t, err)
			}
		}
		if abandoned {
			s.Abort()
			continue
		}
		finished = append(finished, c)
	}
	_, err := s.Write(Written)
	check(t, err)
	return finished
}

func TestReplay_returnsWhatWasAppended(t *testing.T) {
	rng := newRand(t)
	for range 5 {
		fs := newFS(t)
		s := create(t, fs)
		want := scribble(t, s, rng, 40)
		for _, after := range []uint64{0, 1, 17, 39, 40} {
			got, last, err := replayFile(fs, after)
			if err != nil || last != 40 || len(got) != 40-int(after) || !isPrefix(got, want[after:]) {
				t.Fatalf("after %d: replayed %d commits through %d: %v", after, len(got), last, err)
			}
		}
		check(t, s.Close())
		if got, _, err := replayFile(fs, 0); err != nil || len(got) != 40 || !isPrefix(got, want) {
			t.Fatalf("after closing: replayed %d commits: %v", len(got), err)
		}
	}
}

// The transactions span windows, with abandoned ones in between.
func TestReplay_saysWherePayloadsLie(t *testing.T) {
	rng := newRand(t)
	for range 3 {
		fs := newFS(t)
		s := create(t, fs)
		check(t, s.Reserve(100_000)) // leaves zeros at the end
		commits := scribble(t, s, rng, 30)
		image := readFile(t, fs)
		for _, after := range []uint64{0, 1, 13, 30} {
			want := 0
			for _, c := range commits[after:] {
				want += len(c.payloads)
			}
			if n := checkOffsets(t, fs, image, after); n != want {
				t.Errorf("after %d: %d payloads are replayed, want %d", after, n, want)
			}
		}
		check(t, s.Close())
	}
}

func TestReplay_startsWhereTheSegmentBefore(t *testing.T) {
	fs := newFS(t)
	s := create(t, fs)
	appendCommits(t, s, Durable, commit{8, frames([]byte("x"))}, commit{9, frames([]byte("y"))})
	if got, last, err := replayFile(fs, 7); err != nil || len(got) != 2 || last != 9 {
		t.Errorf("after 7: replayed %d commits through %d: %v", len(got), last, err)
	}
	if got, last, err := replayFile(fs, 20); err != nil || len(got) != 0 || last != 20 {
		t.Errorf("after 20: replayed %d commits through %d: %v", len(got), last, err)
	}
	if _, _, err := replayFile(fs, 6); !isDamage(err) {
		t.Errorf("after 6, commit 7 is missing: %v", err)
	}
}

func TestReplay_passesErrorsOn(t *testing.T) {
	disk := newFS(t)
	s := create(t, disk)
	appendCommits(t, s, Durable, someCommits(3)...)
	last, err := Replay(disk, testDir, testNumber, testDatabase, 0,
		func(number uint64, _ []Payload) error {
			if number == 2 {
				return errFault
			}
			return nil
		})
	if last != 1 || !errors.Is(err, errFault) {
		t.Errorf("Replay returns %d, %v", last, err)
	}
	for _, kind := range []faultfs.Kind{faultfs.Open, faultfs.Size, faultfs.ReadAt} {
		failing := faultfs.New(disk, func(op faultfs.Op) error {
			if op.Kind == kind {
				return errFault
			}
			return nil
		})
		if _, _, err := replayFile(failing, 0); !errors.Is(err, errFault) || isDamage(err) {
			t.Errorf("%v fails: Replay returns %v", kind, err)
		}
	}
	_, err = Replay(disk, testDir, testNumber+1, testDatabase, 0, nil)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: Replay returns %v", err)
	}
}

func TestReplay_skipsPreallocatedZeros(t *testing.T) {
	image := logImage(t, Durable, someCommits(5)...)
	for _, zeros := range []int{1, 7, HeaderBytes - 1, HeaderBytes, windowBytes + 3, 3 << 20} {
		got, err := replayImage(t, append(bytes.Clone(image), make([]byte, zeros)...), 0)
		if err != nil || len(got) != 5 {
			t.Errorf("%d zeros: replayed %d commits: %v", zeros, len(got), err)
		}
	}
}

func TestReplay_readsAFileThatIsBeingClosed(t *testing.T) {
	disk := newFS(t)
	s := create(t, disk)
	check(t, s.Reserve(1<<20))
	appendCommits(t, s, Durable, someCommits(5)...)
	closed := false
	got, _, err := replayFile(faultfs.New(disk, func(op faultfs.Op) error {
		if op.Kind == faultfs.ReadAt && !closed {
			closed = true
			return s.Close()
		}
		return nil
	}), 0)
	if err != nil || !closed || len(got) != 5 {
		t.Errorf("replayed %d commits: %v", len(got), err)
	}
}

func TestReplay_discardsAnUnfinishedTransaction(t *testing.T) {
	disk := newFS(t)
	s := create(t, disk)
	appendCommits(t, s, Durable, someCommits(2)...)
	s.Append(frames([]byte("not "), []byte("finished")), 3, false)
	_, err := s.Write(Durable)
	check(t, err)
	if got, last, err := replayFile(disk, 0); err != nil || len(got) != 2 || last != 2 {
		t.Errorf("replayed %d commits through %d: %v", len(got), last, err)
	}
	s.Abort()
	want := commit{3, [][]byte{[]byte("finished")}}
	appendCommits(t, s, Durable, want)
	got, _, err := replayFile(disk, 0)
	if err != nil || len(got) != 3 || !got[2].equal(want) {
		t.Errorf("replayed %q: %v", got, err)
	}
}

package wal

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestReplay_recoversAPrefixAfterACrash crashes before every operation on the disk, in several
// ways: the replayed commits are a prefix of the appended ones and include all that were synced.
func TestReplay_recoversAPrefixAfterACrash(t *testing.T) {
	rng := newRand(t)
	crashes := 0
	for range 12 {
		disk := newFS(t)
		w := &crasher{t: t, disk: disk, rng: rng}
		w.run(faultfs.New(disk, func(op faultfs.Op) error {
			if op.Kind.Mutates() {
				w.crash()
			}
			return nil
		}))
		w.crash()
		crashes += w.crashes
	}
	if crashes < 1000 {
		t.Errorf("only %d crashes", crashes)
	}
}

// crasher writes a log to a disk that crashes.
type crasher struct {
	t       *testing.T
	disk    *memfs.FS
	rng     *rand.Rand
	written []commit
	durable int // how many of them
	crashes int
}

// run writes random commits, with and without reserved room, with and without syncs.
func (w *crasher) run(fs *faultfs.FS) {
	s := create(w.t, fs)
	for range 25 {
		c := commit{number: uint64(len(w.written) + 1)}
		for range 1 + w.rng.IntN(3) {
			p := make([]byte, w.rng.IntN(1500))
			for i := range p {
				p[i] = byte(w.rng.Uint32()>>24) | 1
			}
			c.payloads = append(c.payloads, p)
		}
		if w.rng.IntN(2) == 0 {
			check(w.t, s.Reserve(int64(w.rng.IntN(10_000))))
		}
		if w.rng.IntN(5) == 0 {
			s.Append(frames(c.payloads...), c.number, false)
			_, err := s.Write(Reach(w.rng.IntN(3)))
			check(w.t, err)
			s.Abort()
		}
		s.Append(frames(c.payloads...), c.number, true)
		w.written = append(w.written, c)
		if w.rng.IntN(3) == 0 {
			continue
		}
		reach := Reach(w.rng.IntN(3))
		_, err := s.Write(reach)
		check(w.t, err)
		if reach == Durable {
			w.durable = len(w.written)
		}
	}
	check(w.t, s.Close())
}

// crash replays what is left after several kinds of crash at this moment.
func (w *crasher) crash() {
	w.t.Helper()
	after := []*memfs.FS{w.disk.CrashKeepNone(), w.disk.CrashKeepAll()}
	for range 6 {
		after = append(after, w.disk.Crash(w.rng))
	}
	for _, disk := range after {
		w.crashes++
		got, _, err := replayFile(disk, 0)
		if errors.Is(err, fs.ErrNotExist) && w.durable == 0 {
			continue
		}
		if err != nil || len(got) < w.durable || !isPrefix(got, w.written) {
			w.t.Fatalf("crash %d: replayed %d commits of %d, %d of them durable: %v",
				w.crashes, len(got), len(w.written), w.durable, err)
		}
	}
}

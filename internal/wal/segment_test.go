package wal

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
)

var errFault = errors.New("fault")

// writes returns a file system that records the lengths of writes.
func writes(t testing.TB, lengths *[]int) vfs.FS {
	return faultfs.New(newFS(t), func(op faultfs.Op) error {
		if op.Kind == faultfs.WriteAt {
			*lengths = append(*lengths, op.Bytes)
		}
		return nil
	})
}

func TestWrite_writesFramesThatAreNeighboursAtOnce(t *testing.T) {
	var lengths []int
	fs := writes(t, &lengths)
	s := create(t, fs)
	chunk := make([]byte, 3*HeaderBytes+30)
	other := make([]byte, HeaderBytes+7)
	s.Append([][]byte{chunk[:HeaderBytes+10]}, 1, true)
	s.Append([][]byte{chunk[HeaderBytes+10 : 2*HeaderBytes+20], other}, 2, true)
	s.Append([][]byte{chunk[2*HeaderBytes+20:]}, 3, true)
	lengths = nil
	through, err := s.Write(Written)
	check(t, err)
	want := []int{2*HeaderBytes + 20, HeaderBytes + 7, HeaderBytes + 10}
	if through != 3 || !slices.Equal(lengths, want) {
		t.Errorf("wrote %v through commit %d, want %v through 3", lengths, through, want)
	}
	if commits, _, err := replayFile(fs, 0); err != nil || len(commits) != 3 {
		t.Errorf("replayed %d commits: %v", len(commits), err)
	}
}

func TestWrite_endsATransactionOfWhichAllFramesWereAppended(t *testing.T) {
	fs := newFS(t)
	s := create(t, fs)
	s.Append(frames([]byte("a")), 1, false)
	if through, err := s.Write(Durable); err != nil || through != 0 {
		t.Fatalf("flushed through commit %d: %v", through, err)
	}
	s.Append(frames([]byte("b")), 1, false)
	s.Append(nil, 1, true)
	if through, err := s.Write(Durable); err != nil || through != 1 {
		t.Fatalf("flushed through commit %d: %v", through, err)
	}
	commits, _, err := replayFile(fs, 0)
	check(t, err)
	want := commit{1, [][]byte{[]byte("a"), []byte("b"), {}}}
	if len(commits) != 1 || !commits[0].equal(want) {
		t.Errorf("replayed %q", commits)
	}
}

func TestWrite_returnsTheNewestCommitWhenNothingIsQueued(t *testing.T) {
	s := create(t, newFS(t))
	appendCommits(t, s, Written, someCommits(3)...)
	if through, err := s.Write(Durable); err != nil || through != 3 {
		t.Errorf("flushed through commit %d: %v", through, err)
	}
}

func TestWrite_syncsOnceForWhatIsDurable(t *testing.T) {
	var synced []faultfs.Kind
	fs := faultfs.New(newFS(t), func(op faultfs.Op) error {
		if op.Kind == faultfs.Sync || op.Kind == faultfs.SyncDir {
			synced = append(synced, op.Kind)
		}
		return nil
	})
	s := create(t, fs)
	appendCommits(t, s, Durable, someCommits(2)...)
	_, err := s.Write(Durable)
	check(t, err)
	want := []faultfs.Kind{faultfs.Sync, faultfs.SyncDir, faultfs.Sync}
	if !slices.Equal(synced, want) {
		t.Errorf("synced %v, want %v", synced, want)
	}
}

func TestWrite_failsForGoodAfterTheFirstFailure(t *testing.T) {
	for _, kind := range []faultfs.Kind{faultfs.WriteAt, faultfs.Sync, faultfs.SyncDir} {
		t.Run(kind.String(), func(t *testing.T) {
			armed, failures := false, 0
			disk := newFS(t)
			fs := faultfs.New(disk, func(op faultfs.Op) error {
				if armed && op.Kind.Mutates() {
					if failures > 0 {
						t.Errorf("%v after a failure", op)
					}
					if op.Kind == kind {
						failures++
						return errFault
					}
				}
				return nil
			})
			s := create(t, fs)
			armed = true
			s.Append(frames([]byte("a")), 1, true)
			for range 2 {
				if _, err := s.Write(Durable); !errors.Is(err, errFault) {
					t.Errorf("Write returns %v", err)
				}
				s.Append(frames([]byte("b")), 2, true)
			}
			if err := s.Reserve(1 << 20); !errors.Is(err, errFault) {
				t.Errorf("Reserve returns %v", err)
			}
			check(t, s.Close())
		})
	}
}

func TestWrite_failsForFramesWithoutRoomForAHeader(t *testing.T) {
	s := create(t, newFS(t))
	s.Append([][]byte{make([]byte, HeaderBytes-1)}, 1, true)
	if _, err := s.Write(Written); err == nil {
		t.Error("a short frame is written")
	}
}

func TestReserve_survivesAFullDisk(t *testing.T) {
	quota := faultfs.NewQuota(fileheader.Size)
	fs := faultfs.New(newFS(t), quota.Hook)
	s := create(t, fs)
	if err := s.Reserve(100); !errors.Is(err, vfs.ErrNoSpace) {
		t.Fatalf("Reserve on a full disk returns %v", err)
	}
	quota.Add(100 + HeaderBytes)
	check(t, s.Reserve(100)) // exactly this fits
	appendCommits(t, s, Durable, commit{1, [][]byte{make([]byte, 100-HeaderBytes)}})
	if err := s.Reserve(100); !errors.Is(err, vfs.ErrNoSpace) {
		t.Fatalf("Reserve on a full disk returns %v", err)
	}
	quota.Add(64 << 20)
	check(t, s.Reserve(100))
	appendCommits(t, s, Durable, commit{2, [][]byte{[]byte("later")}})
	check(t, s.Close())
	if commits, _, err := replayFile(fs, 0); err != nil || len(commits) != 2 {
		t.Errorf("replayed %d commits: %v", len(commits), err)
	}
}

func TestReserve_growsTheFileInGrowingSteps(t *testing.T) {
	var sizes []int64
	fs := faultfs.New(newFS(t), func(op faultfs.Op) error {
		if op.Kind == faultfs.Preallocate {
			sizes = append(sizes, op.Offset)
		}
		return nil
	})
	s := create(t, fs)
	for commit := uint64(1); s.end < 64<<20; commit++ {
		check(t, s.Reserve(1<<20))
		s.Append(frames(make([]byte, 1<<20-HeaderBytes)), commit, true)
		_, err := s.Write(Written)
		check(t, err)
	}
	if len(sizes) > 12 {
		t.Errorf("%d steps to 64 MiB: %v", len(sizes), sizes)
	}
}

func TestClose_givesBackWhatWasPreallocated(t *testing.T) {
	fs := newFS(t)
	s := create(t, fs)
	check(t, s.Reserve(100_000))
	commits := someCommits(4)
	appendCommits(t, s, Durable, commits...)
	check(t, s.Close())
	if got, want := len(readFile(t, fs)), ends(commits)[3]; got != want {
		t.Errorf("the file has %d bytes, want %d", got, want)
	}
}

func TestCreate_leavesNothingWhenItFails(t *testing.T) {
	disk := newFS(t)
	fs := faultfs.New(disk, faultfs.NewQuota(10).Hook)
	if _, err := Create(fs, testDir, testNumber, testDatabase); !errors.Is(err, vfs.ErrNoSpace) {
		t.Errorf("Create returns %v", err)
	}
	if names, err := disk.List(testDir); err != nil || len(names) > 0 {
		t.Errorf("Create leaves %v: %v", names, err)
	}
}

func TestSegment_appendsWhileItWrites(t *testing.T) {
	fs := newFS(t)
	s := create(t, fs)
	const n = 500
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := uint64(1); i <= n; i++ {
			if err := s.Reserve(HeaderBytes + 1); err != nil {
				t.Error(err)
			}
			s.Append(frames([]byte{byte(i)}), i, true)
		}
	})
	for through := uint64(0); through < n; {
		next, err := s.Write(Reach(through % 3))
		check(t, err)
		if next < through {
			t.Fatalf("commit %d after %d", next, through)
		}
		through = next
	}
	wg.Wait()
	check(t, s.Close())
	if commits, last, err := replayFile(fs, 0); err != nil || len(commits) != n || last != n {
		t.Errorf("replayed %d commits through %d: %v", len(commits), last, err)
	}
}

func TestWrite_allocatesNothing(t *testing.T) {
	s := create(t, newFS(t))
	check(t, s.Reserve(1<<20))
	batch := frames(make([]byte, 100))
	number := uint64(0)
	allocs := testing.AllocsPerRun(200, func() {
		number++
		s.Append(batch, number, true)
		if _, err := s.Write(Written); err != nil {
			t.Error(err)
		}
	})
	if allocs >= 1 { // memfs sometimes grows
		t.Errorf("%v allocations a commit", allocs)
	}
}

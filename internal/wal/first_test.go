package wal

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
)

// wantFirst checks what First returns for the test's segment.
func wantFirst(t *testing.T, image []byte, commit uint64, found bool) {
	t.Helper()
	disk := newFS(t)
	f, err := disk.Create(filepath.Join(testDir, folder.Log.Name(testNumber)))
	check(t, err)
	_, err = f.WriteAt(image, 0)
	check(t, err)
	got, ok, err := First(disk, testDir, testNumber, testDatabase)
	check(t, err)
	if ok != found || ok && got != commit {
		t.Errorf("%d bytes start with commit %d, %t; want %d, %t", len(image), got, ok, commit, found)
	}
}

func TestFirst_readsTheFirstHeader(t *testing.T) {
	commits := someCommits(3)
	image := logImage(t, Durable, commits...)
	wantFirst(t, image, commits[0].number, true)
	wantFirst(t, image[:fileheader.Size+HeaderBytes], commits[0].number, true)
	wantFirst(t, image[:fileheader.Size+HeaderBytes-1], 0, false)
	wantFirst(t, append(image[:fileheader.Size:fileheader.Size], make([]byte, 4096)...), 0, false)
	wantFirst(t, nil, 0, false)
	for i := range fileheader.Size + HeaderBytes {
		damaged := append([]byte{}, image...)
		damaged[i] ^= 1
		wantFirst(t, damaged, 0, false)
	}
}

func TestFirst_reportsAMissingFile(t *testing.T) {
	_, _, err := First(newFS(t), testDir, testNumber, testDatabase)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
}

func TestReplayFrom_goesOnBehindAPayload(t *testing.T) {
	commits := someCommits(6)
	disk := newFS(t)
	s := create(t, disk)
	appendCommits(t, s, Durable, commits...)
	check(t, s.Close())
	var ends []int64
	_, err := Replay(disk, testDir, testNumber, testDatabase, 0, func(_ uint64, p []Payload) error {
		ends = append(ends, p[len(p)-1].At+int64(len(p[len(p)-1].Bytes)))
		return nil
	})
	check(t, err)
	for i, end := range ends {
		after, next := commits[i].number, i
		_, err := ReplayFrom(disk, testDir, testNumber, testDatabase, end, after,
			func(number uint64, p []Payload) error {
				if next++; !commits[next].equal(commit{number, bytesOf(p)}) {
					t.Errorf("behind commit %d comes another one than %d", after, commits[next].number)
				}
				return nil
			})
		check(t, err)
		if next != len(commits)-1 {
			t.Errorf("behind commit %d come %d commits, want %d", after, next-i, len(commits)-1-i)
		}
	}
}

// bytesOf returns the bytes of payloads.
func bytesOf(payloads []Payload) (all [][]byte) {
	for _, p := range payloads {
		all = append(all, p.Bytes)
	}
	return all
}

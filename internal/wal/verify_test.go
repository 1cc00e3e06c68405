package wal

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// verifyImage verifies a log file that should hold everything up to a commit.
func verifyImage(t testing.TB, image []byte, size int64, through uint64) (bytes uint64, err error) {
	t.Helper()
	fs := memfs.New()
	check(t, fs.MkdirAll(testDir))
	path := filepath.Join(testDir, folder.Log.Name(testNumber))
	file, err := fs.Create(path)
	check(t, err)
	_, err = file.WriteAt(image, 0)
	check(t, err)
	err = Verify(file, Extent{path, testNumber, testDatabase, size, through},
		func(n uint64) error { bytes += n; return nil })
	return bytes, err
}

func TestVerify_findsEveryFlippedByte(t *testing.T) {
	commits := someCommits(6)
	image := logImage(t, Durable, commits...)
	n, err := verifyImage(t, image, int64(len(image)), 6)
	if err != nil || n != uint64(len(image)-fileheader.Size) {
		t.Errorf("%d of %d bytes, error %v", n, len(image), err)
	}
	_, err = verifyImage(t, append(image, make([]byte, 1000)...), int64(len(image)+1000), 6)
	check(t, err)
	for at := range image {
		image[at] ^= 1 << (at % 8)
		if _, err := verifyImage(t, image, int64(len(image)), 6); !isDamage(err) {
			t.Errorf("byte %d is flipped, found: %v", at, err)
		}
		image[at] ^= 1 << (at % 8)
	}
	t.Logf("trust: %d flipped bytes", len(image))
}

func TestVerify_wantsEverythingUpToACommit(t *testing.T) {
	commits := someCommits(6)
	image := logImage(t, Durable, commits...)
	for i, end := range ends(commits) {
		_, err := verifyImage(t, image[:end], int64(len(image)), uint64(i+1))
		check(t, err)
		_, err = verifyImage(t, image[:end-1], int64(len(image)), uint64(i+1))
		if !errors.Is(err, corrupt.Err) {
			t.Errorf("commit %d is cut off, found: %v", i+1, err)
		}
	}
	_, err := verifyImage(t, image, fileheader.Size, 0)
	check(t, err)
	if _, err = verifyImage(t, image[:fileheader.Size], fileheader.Size, 1); err == nil {
		t.Error("a log without the commit that it is to have is fine")
	}
}

func TestVerify_leavesAloneWhatIsWrittenMeanwhile(t *testing.T) {
	fs := newFS(t)
	s := create(t, fs)
	commits := someCommits(4)
	check(t, s.Reserve(1<<10))
	appendCommits(t, s, Written, commits[:2]...)
	size, through := s.Written()
	appendCommits(t, s, Written, commits[2:]...)
	s.Append(frames([]byte("unfinished")), 5, false)
	_, err := s.Write(Written)
	check(t, err)
	image := readFile(t, fs)
	image[size+5] ^= 1
	_, err = verifyImage(t, image, size, through)
	check(t, err)
	image[size+5] ^= 1
	size, through = s.Written()
	_, err = verifyImage(t, image, size, through)
	check(t, err)
	if through != 4 {
		t.Errorf("commit %d is the newest, want 4", through)
	}
	check(t, s.Close())
}

func TestVerify_endsWhenItIsToldTo(t *testing.T) {
	fs := newFS(t)
	s := create(t, fs)
	appendCommits(t, s, Written, someCommits(4)...)
	var file vfs.File = s.file
	size, through := s.Written()
	enough, calls := errors.New("enough"), 0
	err := Verify(file, Extent{"log", testNumber, testDatabase, size, through}, func(uint64) error {
		calls++
		return enough
	})
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("error %v after %d calls", err, calls)
	}
	check(t, s.Close())
}

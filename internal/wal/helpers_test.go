package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const (
	testDir    = "db"
	testNumber = 13
)

// testDatabase is immutable.
var testDatabase = [16]byte{0xDA, 0x7A, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// testHeader is immutable.
var testHeader = fileheader.New(fileheader.Log, testNumber, testDatabase)

// commit is a transaction that was written or replayed.
type commit struct {
	number   uint64
	payloads [][]byte
}

func (c commit) equal(d commit) bool {
	return c.number == d.number && slices.EqualFunc(c.payloads, d.payloads, bytes.Equal)
}

// isPrefix reports whether want starts with got.
func isPrefix(got, want []commit) bool {
	return len(got) <= len(want) && slices.EqualFunc(got, want[:len(got)], commit.equal)
}

func newFS(t testing.TB) *memfs.FS {
	t.Helper()
	fs := memfs.NewCrashable()
	check(t, fs.MkdirAll(testDir))
	return fs
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// frames returns the payloads, each behind room for a header.
func frames(payloads ...[]byte) [][]byte {
	var all [][]byte
	for _, p := range payloads {
		all = append(all, append(make([]byte, HeaderBytes), p...))
	}
	return all
}

func create(t testing.TB, fs vfs.FS) *Segment {
	t.Helper()
	s, err := Create(fs, testDir, testNumber, testDatabase)
	check(t, err)
	return s
}

// appendCommits appends, flushes and perhaps syncs each commit.
func appendCommits(t testing.TB, s *Segment, reach Reach, commits ...commit) {
	t.Helper()
	for _, c := range commits {
		s.Append(frames(c.payloads...), c.number, true)
		through, err := s.Write(reach)
		check(t, err)
		if through != c.number {
			t.Fatalf("flushed through commit %d, want %d", through, c.number)
		}
	}
}

// logImage returns a log file with the commits.
func logImage(t testing.TB, reach Reach, commits ...commit) []byte {
	t.Helper()
	fs := newFS(t)
	s := create(t, fs)
	appendCommits(t, s, reach, commits...)
	check(t, s.Close())
	return readFile(t, fs)
}

func readFile(t testing.TB, fs vfs.FS) []byte {
	t.Helper()
	f, err := fs.Open(filepath.Join(testDir, folder.Log.Name(testNumber)))
	check(t, err)
	size, err := f.Size()
	check(t, err)
	data := make([]byte, size)
	if n, err := f.ReadAt(data, 0); n < len(data) {
		t.Fatal(err)
	}
	check(t, f.Close())
	return data
}

func replayFile(fs vfs.FS, after uint64) (commits []commit, last uint64, err error) {
	last, err = Replay(fs, testDir, testNumber, testDatabase, after,
		func(number uint64, payloads []Payload) error {
			c := commit{number: number}
			for _, p := range payloads {
				c.payloads = append(c.payloads, bytes.Clone(p.Bytes))
			}
			commits = append(commits, c)
			return nil
		})
	return commits, last, err
}

// checkOffsets checks that replayed payloads, with or without an error, are at their offsets in the
// file and in order, and returns how many there are.
func checkOffsets(t testing.TB, fs vfs.FS, image []byte, after uint64) (n int) {
	t.Helper()
	end := int64(fileheader.Size)
	_, err := Replay(fs, testDir, testNumber, testDatabase, after,
		func(number uint64, payloads []Payload) error {
			for i, p := range payloads {
				if p.At < end+HeaderBytes || !bytes.HasPrefix(image[p.At:], p.Bytes) {
					t.Fatalf("payload %d of commit %d is not at %d in the file", i, number, p.At)
				}
				if header := image[p.At-HeaderBytes:]; i > 0 && p.At != end+HeaderBytes ||
					binary.LittleEndian.Uint32(header[4:]) != uint32(len(p.Bytes)) {
					t.Fatalf("payload %d of commit %d has no header before %d", i, number, p.At)
				}
				end = p.At + int64(len(p.Bytes))
				n++
			}
			return nil
		})
	if err != nil && !isDamage(err) {
		t.Fatal(err)
	}
	return n
}

func replayImage(t testing.TB, image []byte, after uint64) (commits []commit, err error) {
	t.Helper()
	fs := memfs.New()
	check(t, fs.MkdirAll(testDir))
	f, err := fs.Create(filepath.Join(testDir, folder.Log.Name(testNumber)))
	check(t, err)
	_, err = f.WriteAt(image, 0)
	check(t, err)
	check(t, f.Close())
	commits, last, err := replayFile(fs, after)
	want := after
	if len(commits) > 0 {
		want = commits[len(commits)-1].number
	}
	if last != want {
		t.Fatalf("Replay returns %d after commit %d", last, want)
	}
	checkOffsets(t, fs, image, after)
	return commits, err
}

// isDamage reports whether damage may cause err.
func isDamage(err error) bool {
	return errors.Is(err, corrupt.Err) || errors.Is(err, corrupt.ErrFormat)
}

// someCommits returns the commits 1 to n, with one to three small payloads each.
func someCommits(n int) []commit {
	commits := make([]commit, n)
	for i := range commits {
		commits[i].number = uint64(i + 1)
		for j := range i%3 + 1 {
			payload := bytes.Repeat([]byte{byte('a' + i), byte(j)}, 3+i*5)
			commits[i].payloads = append(commits[i].payloads, payload)
		}
	}
	return commits
}

// ends returns the offset in the file at which each commit ends.
func ends(commits []commit) []int {
	var all []int
	at := fileheader.Size
	for _, c := range commits {
		for _, p := range c.payloads {
			at += HeaderBytes + len(p)
		}
		all = append(all, at)
	}
	return all
}

// newRand returns a random number generator, whose seed is logged if the test fails.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

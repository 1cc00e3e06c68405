package wal

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// salvageImage returns what Salvage finds in a log with these bytes.
func salvageImage(t testing.TB, image []byte) (commits []commit, d Damage) {
	t.Helper()
	fs := memfs.New()
	check(t, fs.MkdirAll(testDir))
	f, err := fs.Create(filepath.Join(testDir, folder.Log.Name(testNumber)))
	check(t, err)
	_, err = f.WriteAt(image, 0)
	check(t, err)
	check(t, f.Close())
	d, err = Salvage(fs, testDir, testNumber, testDatabase,
		func(number uint64, payloads []Payload) error {
			c := commit{number: number}
			for _, p := range payloads {
				c.payloads = append(c.payloads, bytes.Clone(p.Bytes))
				if !bytes.HasPrefix(image[p.At:], p.Bytes) {
					t.Fatalf("a payload of commit %d is not at %d in the file", number, p.At)
				}
			}
			commits = append(commits, c)
			return nil
		})
	check(t, err)
	return commits, d
}

func sameCommit(a, b commit) bool {
	return a.number == b.number && slices.EqualFunc(a.payloads, b.payloads, bytes.Equal)
}

func TestSalvage_returnsAllOfAnIntactLog(t *testing.T) {
	want := someCommits(6)
	image := logImage(t, Written, want...)
	for _, image := range [][]byte{image, append(bytes.Clone(image), make([]byte, 5000)...)} {
		got, d := salvageImage(t, image)
		if !slices.EqualFunc(got, want, sameCommit) || d != (Damage{}) {
			t.Errorf("%d of %d commits, %+v", len(got), len(want), d)
		}
	}
}

func TestSalvage_losesOnlyTheTransactionThatIsDamaged(t *testing.T) {
	want := someCommits(6)
	image := logImage(t, Written, want...)
	whole := ends(want)
	for i := range image {
		damaged := bytes.Clone(image)
		damaged[i] ^= 0x10
		hit, _ := slices.BinarySearch(whole, i+1)
		left := slices.Clone(want)
		if i >= fileheader.Size {
			left = slices.Delete(left, hit, hit+1)
		}
		got, d := salvageImage(t, damaged)
		if !slices.EqualFunc(got, left, sameCommit) {
			t.Fatalf("byte %d of commit %d: got %d commits", i, hit+1, len(got))
		}
		if seen := d.Gaps > 0 || d.Tail > 0; seen != (i >= fileheader.Size) {
			t.Fatalf("byte %d: %+v", i, d)
		}
	}
	t.Logf("trust: %d flipped bytes", len(image))
}

func TestSalvage_endsWhereTheFileIsCutOff(t *testing.T) {
	want := someCommits(6)
	image := logImage(t, Written, want...)
	whole := ends(want)
	for cut := range image {
		n, _ := slices.BinarySearch(whole, cut+1)
		got, d := salvageImage(t, image[:cut])
		if !slices.EqualFunc(got, want[:n], sameCommit) || d.Gaps > 0 {
			t.Fatalf("cut off at %d: %d commits, want %d, %+v", cut, len(got), n, d)
		}
	}
	t.Logf("trust: %d cut lengths", len(image))
}

func TestSalvage_findsFramesAfterMuchDamage(t *testing.T) {
	want := []commit{
		{1, [][]byte{[]byte("first")}},
		{2, [][]byte{bytes.Repeat([]byte("x"), 3*windowBytes)}},
		{3, [][]byte{[]byte("last")}},
	}
	image := logImage(t, Written, want...)
	for _, fill := range []byte{0, 2} { // zero is not a kind of frame; twos look like one
		damaged := bytes.Clone(image)
		for i := ends(want)[0]; i < ends(want)[1]-1; i++ {
			damaged[i] = fill
		}
		got, d := salvageImage(t, damaged)
		if len(got) != 2 || !sameCommit(got[1], want[2]) || d.Gaps != 1 {
			t.Errorf("%d commits, %+v", len(got), d)
		}
	}
}

// brokenAt returns a file system with a log of these bytes that is unreadable around an offset.
func brokenAt(t testing.TB, image []byte, at int) vfs.FS {
	t.Helper()
	fs := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if end := op.Offset + int64(op.Bytes); op.Kind == faultfs.ReadAt &&
			op.Offset <= int64(at) && int64(at) < end {
			return errors.New("input/output error")
		}
		return nil
	})
	check(t, fs.MkdirAll(testDir))
	f, err := fs.Create(filepath.Join(testDir, folder.Log.Name(testNumber)))
	check(t, err)
	_, err = f.WriteAt(image, 0)
	check(t, err)
	check(t, f.Close())
	return fs
}

func TestSalvage_losesOnlyUnreadableTransactions(t *testing.T) {
	const sector = 4 << 10
	var want []commit
	for i := range 9 {
		want = append(want, commit{uint64(i + 1), [][]byte{bytes.Repeat([]byte{byte(i)}, 3000)}})
	}
	image := logImage(t, Written, want...)
	image = append(image, make([]byte, 6*sector-len(image)%sector)...)
	whole := ends(want)
	for hole := 0; hole < len(image); hole += sector {
		var left []commit
		for i, c := range want {
			if whole[i] <= hole || whole[i]-3000-HeaderBytes >= hole+sector {
				left = append(left, c)
			}
		}
		var got []commit
		d, err := Salvage(brokenAt(t, image, hole+100), testDir, testNumber, testDatabase,
			func(number uint64, payloads []Payload) error {
				got = append(got, commit{number, [][]byte{bytes.Clone(payloads[0].Bytes)}})
				return nil
			})
		check(t, err)
		if !slices.EqualFunc(got, left, sameCommit) {
			t.Fatalf("hole at %d: got %d commits, want %d", hole, len(got), len(left))
		}
		first := int64(max(hole, fileheader.Size)) // where reading starts
		if d.Unread != int64(hole+sector)-first || d.Hole != first || d.HoleErr == nil ||
			d.Gaps+int(d.Tail) == 0 {
			t.Fatalf("hole at %d: %+v", hole, d)
		}
	}
}

func TestWalk_continuesAfterUnreadableBytes(t *testing.T) {
	payload := bytes.Repeat([]byte("x"), 9000)
	image := logImage(t, Written, commit{1, [][]byte{payload}}, commit{2, [][]byte{payload}},
		commit{3, [][]byte{payload}})
	image = append(image, make([]byte, 9000)...)
	for at, want := range map[int][]uint64{5000: {2, 3}, 14_000: {1, 3}, 30_000: {1, 2, 3}} {
		file, err := brokenAt(t, image, at).Open(filepath.Join(testDir, folder.Log.Name(testNumber)))
		check(t, err)
		var commits []uint64
		_, err = Walk(file, "log", func(p Piece) error {
			if p.Payload != nil {
				commits = append(commits, p.Commit)
			}
			if p.Zeros && at > int(p.At) && at < int(p.End) {
				t.Errorf("zeros from %d to %d, though %d cannot be read", p.At, p.End, at)
			}
			return nil
		})
		check(t, err)
		if !slices.Equal(commits, want) {
			t.Errorf("%d cannot be read: commits %d are whole, want %d", at, commits, want)
		}
	}
}

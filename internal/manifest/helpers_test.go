package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const (
	testDir    = "db"
	testNumber = 12
)

// testDatabase is immutable.
var testDatabase = [16]byte{0xDA, 0x7A, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// testHeader is immutable.
var testHeader = fileheader.New(fileheader.Manifest, testNumber, testDatabase)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newFS(t testing.TB) *memfs.FS {
	t.Helper()
	files := memfs.NewCrashable()
	check(t, files.MkdirAll(testDir))
	return files
}

// tableOf returns a table with these keys of bucket 7.
func tableOf(number uint64, smallest, largest string) *Table {
	prefix := keyspace.AppendPrefix(nil, 7)
	key := func(s string) []byte { return append(prefix[:len(prefix):len(prefix)], s...) }
	return &Table{
		Number: number, Size: 4096 * number, Entries: 300, Tombstones: 3, RawBytes: 1 << 20,
		Compressed: number%2 == 0, Smallest: key(smallest), Largest: key(largest),
	}
}

func numbers(r Run) (all []uint64) {
	for _, t := range r.Tables {
		all = append(all, t.Number)
	}
	return all
}

// runOf returns one run, as a field of an edit.
func runOf(tables ...*Table) []Run { return []Run{{Tables: tables}} }

// deletion returns a range deletion in bucket 7, up to the end of the bucket if end is empty.
func deletion(start, end string) keyspace.Span {
	prefix := keyspace.AppendPrefix(nil, 7)
	s := keyspace.Span{Start: append(prefix[:len(prefix):len(prefix)], start...)}
	if end != "" {
		s.End = append(prefix, end...)
	}
	return s
}

// someEdits returns consecutive edits, starting from an empty version. They use all fields.
func someEdits() []*Edit {
	moved, flushed, late := tableOf(20, "a", "c"), tableOf(23, "b", "x"), tableOf(31, "m", "z")
	moved.Values = []ValueShare{{File: 2, Count: 3, Bytes: 900}}
	flushed.Values = []ValueShare{{2, 1, 50}, {3, 200, 70_000}}
	late.DropEpoch = 1
	late.Values = []ValueShare{{32, 170, 60_000}}
	expiring, full := tableOf(33, "b", "d"), tableOf(35, "a", "c")
	expiring.StaleAt = 1_700_000_000_000
	expiring.Buckets = []BucketShare{
		{Bucket: 0, Entries: 9, Bytes: 200},
		{Bucket: 7, Entries: 1, Bytes: 5, Stored: 4, Zstd: 3, Pattern: 2},
	}
	full.StaleAt, full.Buckets = 5, []BucketShare{{Bucket: 7, Entries: 297, Bytes: 1 << 20}}
	full.Values = []ValueShare{{2, 1, 10}, {32, 1, 0}}
	words := Dictionary{Number: 28, Bucket: 7, Fit: 440, Data: []byte("words")}
	late.Dictionaries, full.Dictionaries = []uint64{28}, []uint64{28, 29}
	first := ValueFile{Number: 2, Size: 2000, Log: true}
	return []*Edit{
		{
			AddYoung: runOf(moved, tableOf(21, "d", "k")), AddValues: []ValueFile{first},
			LogNumber: 3, LastCommit: 9, NextNumber: 22,
		},
		{
			AddYoung: []Run{{
				Tables:  []*Table{flushed},
				Deleted: keyspace.Spans{deletion("c", "cc"), deletion("e", "q")},
			}},
			AddValues: []ValueFile{{Number: 3, Size: 90_000, Log: true}, first},
			LogNumber: 4, LastCommit: 17, NextNumber: 24,
		},
		{Drop: []uint64{7, 8, 9, 300}},
		{
			RemoveYoung: YoungRuns{Older: 0, Count: 1},
			AddBottom:   []*Table{tableOf(30, "d", "k"), moved}, NextNumber: 31,
		},
		{
			RemoveYoung: YoungRuns{Older: 0, Count: 1}, AddBottom: []*Table{late},
			AddValues:       []ValueFile{{Number: 32, Size: 60_100}},
			AddDictionaries: []Dictionary{words}, NextNumber: 33,
		},
		{AddYoung: []Run{{Deleted: keyspace.Spans{deletion("b", "d"), deletion("y", "")}}}},
		{AddYoung: runOf(expiring), NextNumber: 34},
		{
			AddYoung:   slices.Concat(runOf(tableOf(34, "a", "a")), runOf(tableOf(36, "a", "b"))),
			NextNumber: 37,
		},
		{
			RemoveYoung: YoungRuns{Older: 1, Count: 2}, AddYoung: runOf(full), Remove: []uint64{30},
			AddDictionaries: []Dictionary{{Number: 29}, words},
		},
	}
}

// outcomes returns the versions before the first edit and after each edit.
func outcomes(t testing.TB, edits []*Edit) []*Version {
	t.Helper()
	versions := []*Version{{NextNumber: 2, Branch: 1 << 62}}
	for _, e := range edits {
		versions = append(versions, applied(t, versions[len(versions)-1], e))
	}
	return versions
}

func applied(t testing.TB, v *Version, e *Edit) *Version {
	t.Helper()
	next, err := v.Apply(e)
	check(t, err)
	return next
}

// text returns v as text, for comparisons.
func text(v *Version) string {
	runs := func(runs ...Run) (s string) {
		for _, r := range runs {
			s += "["
			for _, t := range r.Tables {
				s += fmt.Sprintf("%+v ", *t)
			}
			for _, d := range r.Deleted {
				s += fmt.Sprintf("deleted %q to %q (%v) ", d.Start, d.End, d.End != nil)
			}
			s += "]"
		}
		return s
	}
	return fmt.Sprintf("young %s bottom %s values %+v dictionaries %v log %d last %d next %d "+
		"dropped %v epoch %d branch %x backup %v",
		runs(v.Young...), runs(v.Bottom), v.ValueFiles, v.Dictionaries,
		v.LogNumber, v.LastCommit, v.NextNumber, v.Dropped, v.DropEpoch, v.Branch, v.Backup)
}

// write writes a manifest with the version v and the edits, and closes it.
func write(t testing.TB, files vfs.FS, number uint64, v *Version, edits []*Edit) {
	t.Helper()
	j, err := Create(files, testDir, number, testDatabase, v)
	check(t, err)
	for _, e := range edits {
		check(t, j.Append(e))
	}
	check(t, j.Close())
}

// imageOf returns the bytes of a manifest, and where each of its frames ends.
func imageOf(t testing.TB, v *Version, edits []*Edit) (data []byte, ends []int) {
	t.Helper()
	files := newFS(t)
	j, err := Create(files, testDir, testNumber, testDatabase, v)
	check(t, err)
	ends = append(ends, int(j.Size()))
	for _, e := range edits {
		check(t, j.Append(e))
		ends = append(ends, int(j.Size()))
	}
	check(t, j.Close())
	f, err := files.Open(filepath.Join(testDir, folder.Manifest.Name(testNumber)))
	check(t, err)
	data = make([]byte, j.Size())
	_, err = f.ReadAt(data, 0)
	check(t, err)
	return data, ends
}

// putFile writes a file.
func putFile(t testing.TB, files vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := files.Create(filepath.Join(testDir, name))
	check(t, err)
	_, err = f.WriteAt(data, 0)
	check(t, err)
	check(t, f.Sync())
	check(t, f.Close())
}

// loadImage loads a folder with only this manifest.
func loadImage(t testing.TB, data []byte) (*State, error) {
	t.Helper()
	files := memfs.New()
	check(t, files.MkdirAll(testDir))
	putFile(t, files, folder.Manifest.Name(testNumber), data)
	return Load(files, testDir)
}

// isDamage reports whether damage may cause err.
func isDamage(err error) bool {
	return errors.Is(err, corrupt.Err) || errors.Is(err, corrupt.ErrFormat)
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

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

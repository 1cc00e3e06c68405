package inspect

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/pattern"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// newYear is when 2026 starts.
const newYear = 1_767_225_600_000

// testDatabase is immutable.
var testDatabase = [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newFS(t testing.TB) vfs.FS {
	t.Helper()
	fs := memfs.New()
	ok(t, fs.MkdirAll("db"))
	return fs
}

func createFile(t testing.TB, fs vfs.FS, name string) vfs.File {
	t.Helper()
	f, err := fs.Create("db/" + name)
	ok(t, err)
	return f
}

// readFile returns the content of a file.
func readFile(t testing.TB, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open("db/" + name)
	ok(t, err)
	size, err := f.Size()
	ok(t, err)
	data := make([]byte, size)
	_, err = f.ReadAt(data, 0)
	ok(t, err)
	ok(t, f.Close())
	return data
}

// inBucket returns a user's key in a bucket.
func inBucket(id uint64, k string) []byte { return append(keyspace.AppendPrefix(nil, id), k...) }

// inCatalog returns the key of a bucket in another.
func inCatalog(parent uint64, name string) []byte {
	return append(keyspace.AppendCatalog(nil, parent), name...)
}

// logImage returns a log segment with a bit of everything, preallocated zeros too.
func logImage(t testing.TB) []byte {
	t.Helper()
	fs := newFS(t)
	s, err := wal.Create(fs, "db", 13, testDatabase)
	ok(t, err)
	a := batch.NewArena(wal.HeaderBytes)
	commit := func(number uint64, fill func()) {
		a.Begin()
		fill()
		s.Append(a.Take(s.Size()), number, true)
		a.Commit()
		_, err := s.Write(wal.Durable)
		ok(t, err)
	}
	put := func(key []byte, value string) { a.Append(keyspace.KindPut, 0, key, []byte(value)) }
	commit(201, func() {
		put(inBucket(0, "a"), "1")
		put(inCatalog(0, "users"), "\x03")
		put(keyspace.AppendNextID(nil), "\x04")
	})
	commit(202, func() {
		a.Append(keyspace.KindPut, newYear, inBucket(3, "ann"), []byte("expires"))
		s.Append(a.Take(s.Size()), 202, false)
		a.Append(keyspace.KindDelete, 0, inBucket(0, "b"), nil)
		a.Append(keyspace.KindDeleteRange, 0, inBucket(0, "c"), inBucket(0, "d"))
	})
	commit(203, func() {
		put(keyspace.AppendSequence(nil, 3), "\xac\x02")
		a.Append(keyspace.KindDelete, 0, inCatalog(0, "old"), nil)
		put(keyspace.AppendDropped(nil, 2), "")
		put(inBucket(3, "\x00\xff"), "binary")
	})
	ok(t, s.Close())
	return append(readFile(t, fs, folder.Log.Name(13)), make([]byte, 100)...)
}

// manifestImage returns a manifest with a version and edits that have everything.
func manifestImage(t testing.TB) []byte {
	t.Helper()
	fs := newFS(t)
	tableOf := func(number uint64, first, last string) *manifest.Table {
		return &manifest.Table{
			Number: number, Size: 4096, Entries: 20, Tombstones: 2, RawBytes: 9000,
			Compressed: true, Smallest: inBucket(3, first), Largest: inBucket(3, last),
		}
	}
	full := tableOf(14, "a", "k")
	full.StaleAt = newYear
	full.Values = []manifest.ValueShare{{File: 9, Count: 3, Bytes: 15_000}}
	full.Buckets = []manifest.BucketShare{
		{Bucket: 3, Entries: 18, Bytes: 9000, Stored: 700, Zstd: 100, Pattern: 600},
	}
	full.Dictionaries = []uint64{11}
	v := &manifest.Version{
		Bottom:       manifest.Run{Tables: []*manifest.Table{full, tableOf(15, "m", "z")}},
		ValueFiles:   []manifest.ValueFile{{Number: 9, Size: 20_000, Live: 15_000, Count: 3}},
		Dictionaries: []manifest.Dictionary{{Number: 11, Bucket: 3, Fit: 440, Data: []byte("words")}},
		LogNumber:    13, LastCommit: 200, NextNumber: 16, DropEpoch: 1, Branch: 1<<62 + 300,
		Dropped: []manifest.Drop{{First: 5, Last: 7, Epoch: 1}},
	}
	j, err := manifest.Create(fs, "db", 12, testDatabase, v)
	ok(t, err)
	young := tableOf(17, "b", "c")
	young.DropEpoch, young.Values = 1, []manifest.ValueShare{{File: 13, Count: 1, Bytes: 5000}}
	ok(t, j.Append(&manifest.Edit{
		AddYoung: []manifest.Run{{
			Tables: []*manifest.Table{young},
			Deleted: keyspace.Spans{
				{Start: inBucket(0, "c"), End: inBucket(0, "d")}, {Start: inBucket(4, "")},
			},
		}},
		AddValues: []manifest.ValueFile{{Number: 13, Size: 5169, Log: true}},
		LogNumber: 16, LastCommit: 203, NextNumber: 18,
	}))
	ok(t, j.Append(&manifest.Edit{Drop: []uint64{9}}))
	merged := tableOf(18, "b", "d")
	merged.DropEpoch = 2
	ok(t, j.Append(&manifest.Edit{
		RemoveYoung: manifest.YoungRuns{Count: 1}, Remove: []uint64{14},
		AddBottom: []*manifest.Table{merged}, NextNumber: 19,
	}))
	ok(t, j.Close())
	return readFile(t, fs, folder.Manifest.Name(12))
}

// tableImage returns a table with blocks of all codecs, entries of all kinds, and a filter.
func tableImage(t testing.TB) []byte {
	t.Helper()
	fs := newFS(t)
	w := table.NewWriter(createFile(t, fs, "table"), table.WriterOptions{
		Number: 14, Database: testDatabase, BlockBytes: 300, Filter: true,
	})
	put := func(key []byte, value string, until uint64) {
		e := keyspace.Entry{Kind: keyspace.KindPut, Value: []byte(value), Until: until}
		ok(t, w.Add(key, e))
	}
	put(inCatalog(0, "users"), "\x03", 0)
	put(keyspace.AppendSequence(nil, 3), "\xac\x02", 0)
	put(inBucket(0, "apple"), "red", 0)
	ok(t, w.Add(inBucket(0, "kiwi"), keyspace.Entry{Kind: keyspace.KindDelete}))
	put(inBucket(0, "pear"), "green", newYear)
	large := valuelog.NewPointer(9, 48, bytes.Repeat([]byte("x"), 5000)).Append(nil)
	ok(t, w.Add(inBucket(0, "zebra"), keyspace.Entry{Kind: keyspace.KindPointer, Value: large}))
	compressor, err := block.NewCompressor()
	ok(t, err)
	ok(t, w.Encode(block.Encoding{Compressor: compressor}))
	for i := range 6 {
		put(inBucket(3, fmt.Sprint("text", i)), "a text a text a text a text a text a text", 0)
	}
	var samples [][]byte
	for i := range 40 {
		samples = append(samples, fmt.Appendf(nil, "user number %d of the test", i*i))
	}
	dictionary := block.NewDictionary(11, 3, 0, pattern.Train(samples).Append(nil))
	encoder, err := dictionary.NewEncoder()
	ok(t, err)
	ok(t, w.Encode(block.Encoding{Encoder: encoder}))
	for i, s := range samples[:12] {
		put(inBucket(3, fmt.Sprintf("user%02d", i)), string(s), 0)
	}
	_, err = w.Finish()
	ok(t, err)
	return readFile(t, fs, "table")
}

// valuesImage returns a value file.
func valuesImage(t testing.TB) []byte {
	t.Helper()
	fs := newFS(t)
	w := valuelog.NewWriter(createFile(t, fs, "values"), 9, testDatabase)
	for _, value := range []string{"one", "two"} {
		_, err := w.Append([]byte(value))
		ok(t, err)
	}
	_, err := w.Finish()
	ok(t, err)
	return readFile(t, fs, "values")
}

package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const testDir = "db"

var errFault = errors.New("injected fault")

func testDatabase() [16]byte { return [16]byte{0xDA, 7} }

// entry is one entry of a run under test.
type entry struct {
	kind       keyspace.Kind
	key, value string
	until      uint64
}

func put(key, value string) entry { return entry{kind: keyspace.KindPut, key: key, value: value} }

// size returns what the entry adds to a table's shares, wherever its value is.
func (e entry) size() uint64 {
	if e.kind == keyspace.KindPointer {
		return uint64(len(e.key)) + uint64(e.pointer().Length)
	}
	return uint64(len(e.key) + len(e.value))
}

// pointer returns what the entry points to, or nothing if its value is not a pointer.
func (e entry) pointer() valuelog.Pointer {
	p, err := valuelog.ParsePointer([]byte(e.value))
	if err != nil {
		return valuelog.Pointer{}
	}
	return p
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newFS(t testing.TB) *memfs.FS {
	t.Helper()
	files := memfs.New()
	check(t, files.MkdirAll(testDir))
	return files
}

// list returns the names of all files.
func list(t testing.TB, files vfs.Files) []string {
	t.Helper()
	names, err := files.List(testDir)
	check(t, err)
	return names
}

// config returns a configuration with small tables and blocks, whose file numbers start at 5.
func config(files vfs.Files) Config {
	number := uint64(4)
	return Config{
		FS: files, Dir: testDir, Database: testDatabase(), TableBytes: 1500, BlockBytes: 200,
		NextNumber: func() uint64 { number++; return number },
	}
}

func dataKey(bucket uint64, key string) string {
	return string(keyspace.AppendPrefix(nil, bucket)) + key
}

func catalogKey(parent uint64, name string) string {
	return string(keyspace.AppendCatalog(nil, parent)) + name
}

func sequenceKey(bucket uint64) string { return string(keyspace.AppendSequence(nil, bucket)) }

func droppedKey(bucket uint64) string { return string(keyspace.AppendDropped(nil, bucket)) }

func nextIDKey() string { return string(keyspace.AppendNextID(nil)) }

// puts returns an entry for each of the keys.
func puts(keys ...string) (all []entry) {
	for _, key := range keys {
		all = append(all, put(key, fmt.Sprintf("value of %q", key)))
	}
	return all
}

// numbered returns n entries of bucket 7, from number first on, of about 60 bytes each. Every fifth
// is a tombstone.
func numbered(first, n int) (all []entry) {
	for i := first; i < first+n; i++ {
		e := put(dataKey(7, fmt.Sprintf("key%05d", i)), fmt.Sprintf("%050d", i))
		if i%5 == 0 {
			e.kind, e.value = keyspace.KindDelete, ""
		}
		all = append(all, e)
	}
	return all
}

// add adds entries and returns how many files they completed.
func add(w *Writer, entries []entry) (completed int, err error) {
	before := w.Files()
	for _, e := range entries {
		key, value := []byte(e.key), []byte(e.value)
		err := w.Add(key, keyspace.Entry{Value: value, Until: e.until, Kind: e.kind})
		clear(key) // the writer must have copied both
		clear(value)
		if err != nil {
			return w.Files() - before, err
		}
	}
	return w.Files() - before, nil
}

// write writes a whole run.
func write(t testing.TB, c Config, entries []entry) Output {
	t.Helper()
	w := NewWriter(c)
	_, err := add(w, entries)
	check(t, err)
	output, err := w.Finish()
	check(t, err)
	return output
}

// writeTables writes a whole run that has no value files.
func writeTables(t testing.TB, c Config, entries []entry) []*manifest.Table {
	t.Helper()
	output := write(t, c, entries)
	if len(output.Values) > 0 {
		t.Fatalf("value files %v were written", output.Values)
	}
	return output.Tables
}

func open(files vfs.Files, meta *manifest.Table) *table.Table { return openWith(files, meta, nil) }

func openWith(
	files vfs.Files, meta *manifest.Table, dictionaries []*block.Dictionary,
) *table.Table {
	return table.New(table.Config{
		FS: files, Path: filepath.Join(testDir, folder.Table.Name(meta.Number)), Number: meta.Number,
		Database: testDatabase(), Size: int64(meta.Size), Cache: table.NewCache(1 << 20),
		Dictionaries: dictionaries,
	})
}

// read returns what a table's file holds.
func read(t testing.TB, files vfs.Files, meta *manifest.Table) (all []entry) {
	t.Helper()
	var c table.Cursor
	c.Init(open(files, meta), &table.Scope{Read: table.ReadValues})
	for ok := c.First(); ok; ok = c.Next() {
		all = append(all, entry{c.Kind(), string(c.Key()), string(c.Value()), c.Until()})
	}
	check(t, c.Err())
	return all
}

func readAll(t testing.TB, files vfs.Files, tables []*manifest.Table) (all []entry) {
	t.Helper()
	for _, meta := range tables {
		all = append(all, read(t, files, meta)...)
	}
	return all
}

// foundWithoutHash returns how many entries are found with a wrong hash: all of them if the table
// has no filter, and hardly any otherwise.
func foundWithoutHash(t testing.TB, files vfs.Files, meta *manifest.Table) (found int) {
	t.Helper()
	for _, e := range read(t, files, meta) {
		wrong := ^filter.Hash([]byte(e.key))
		ok, err := open(files, meta).FindHashed([]byte(e.key), wrong, new(keyspace.Entry))
		check(t, err)
		if ok {
			found++
		}
	}
	return found
}

package merge

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const testDir = "db"

var errFault = errors.New("injected fault")

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writes is what one run says: a nil value is a tombstone.
type writes map[string][]byte

// puts returns writes that put the value, and the key, under each of the keys.
func puts(value string, keys ...string) writes {
	w := writes{}
	for _, key := range keys {
		w[key] = []byte(value + " of " + key)
	}
	return w
}

// deletes returns tombstones for the keys.
func deletes(keys ...string) writes {
	w := writes{}
	for _, key := range keys {
		w[key] = nil
	}
	return w
}

// over returns what both say, where they differ w.
func (w writes) over(older writes) writes {
	older = maps.Clone(older)
	maps.Copy(older, w)
	return older
}

// visible returns what a reader sees of w: all but the tombstones.
func (w writes) visible() writes {
	w = maps.Clone(w)
	maps.DeleteFunc(w, func(_ string, v []byte) bool { return v == nil })
	return w
}

func dataKey(bucket uint64, key string) string {
	return string(keyspace.AppendPrefix(nil, bucket)) + key
}

// keys returns the keys of the bucket 7 with the numbers from first to last.
func keys(first, last int) (all []string) {
	for i := first; i <= last; i++ {
		all = append(all, dataKey(7, fmt.Sprintf("key%04d", i)))
	}
	return all
}

// store is the tables of a database.
type store struct {
	t          testing.TB
	files      vfs.FS
	version    *manifest.Version
	numbers    uint64 // of files, handed out so far
	tableBytes int64
	blockBytes int
}

func newStore(t testing.TB) *store {
	t.Helper()
	files := memfs.New()
	check(t, files.MkdirAll(testDir))
	return &store{
		t: t, files: files, version: &manifest.Version{}, tableBytes: 500, blockBytes: 100,
	}
}

func (s *store) config() run.Config {
	return run.Config{
		FS: s.files, Dir: testDir, TableBytes: s.tableBytes, BlockBytes: s.blockBytes,
		NextNumber: func() uint64 { s.numbers++; return s.numbers },
	}
}

func (s *store) path(number uint64) string { return filepath.Join(testDir, run.Name(number)) }

func (s *store) open(meta *manifest.Table) *table.Table {
	return table.New(table.Config{
		FS: s.files, Path: s.path(meta.Number), Number: meta.Number, Size: int64(meta.Size),
		Cache: table.NewCache(1 << 20),
	})
}

// write writes the tables of a run.
func (s *store) write(w writes, filter bool) []*manifest.Table {
	s.t.Helper()
	c := s.config()
	c.Filter = filter
	writer := run.NewWriter(c)
	for _, key := range slices.Sorted(maps.Keys(w)) {
		kind := keyspace.KindPut
		if w[key] == nil {
			kind = keyspace.KindDelete
		}
		_, err := writer.Add(kind, []byte(key), w[key])
		check(s.t, err)
	}
	tables, err := writer.Finish()
	check(s.t, err)
	return tables
}

func (s *store) apply(edit *manifest.Edit) {
	s.t.Helper()
	version, err := s.version.Apply(edit)
	check(s.t, err)
	s.version = version
}

// young adds a young run, newer than all others.
func (s *store) young(w writes) {
	s.t.Helper()
	s.apply(&manifest.Edit{AddYoung: s.write(w, true)})
}

// bottom adds tables to the bottom run.
func (s *store) bottom(w writes) {
	s.t.Helper()
	s.apply(&manifest.Edit{AddBottom: s.write(w, false)})
}

func (s *store) levels() *superversion.Levels {
	return superversion.NewLevels(s.version, nil, s.open)
}

// job returns a job for the n oldest young runs and the bottom tables that they span.
func (s *store) job(n int) Job {
	levels := s.levels()
	j := Job{
		Young: levels.Young[len(levels.Young)-n:], Output: s.config(),
		Cancelled: func() bool { return false },
	}
	j.Output.Dropped, j.Output.DropEpoch = s.version.IsDropped, s.version.DropEpoch
	var bounds []string
	for _, r := range j.Young {
		bounds = append(bounds, string(r[0].Meta.Smallest), string(r[len(r)-1].Meta.Largest))
	}
	for _, h := range levels.Bottom {
		if n > 0 && string(h.Meta.Smallest) <= slices.Max(bounds) &&
			string(h.Meta.Largest) >= slices.Min(bounds) {
			j.Bottom = append(j.Bottom, h)
		}
	}
	return j
}

// run runs a job and makes its outcome the store's version.
func (s *store) run(j Job) *manifest.Edit {
	s.t.Helper()
	edit, err := j.Run()
	check(s.t, err)
	s.apply(edit)
	return edit
}

// with returns the store on another file system, with the same version.
func (s *store) with(files vfs.FS) *store {
	other := *s
	other.files = files
	return &other
}

// list returns the names of all files.
func (s *store) list() []string {
	s.t.Helper()
	names, err := s.files.List(testDir)
	check(s.t, err)
	return names
}

// read returns what the tables hold.
func (s *store) read(tables []*manifest.Table) writes {
	s.t.Helper()
	w := writes{}
	for _, meta := range tables {
		var c table.Cursor
		c.Init(s.open(meta), false)
		for ok := c.First(); ok; ok = c.Next() {
			if w[string(c.Key())] = nil; c.Kind() == keyspace.KindPut {
				w[string(c.Key())] = append([]byte{}, c.Value()...)
			}
		}
		check(s.t, c.Err())
	}
	return w
}

// state returns what the whole store says, tombstones included, of buckets that are not dropped.
func (s *store) state() writes {
	s.t.Helper()
	all := s.read(s.version.Bottom.Tables)
	for _, r := range slices.Backward(s.version.Young) {
		all = s.read(r.Tables).over(all)
	}
	maps.DeleteFunc(all, func(key string, _ []byte) bool {
		id, ok := keyspace.BucketOf([]byte(key))
		return ok && s.version.IsDropped(id)
	})
	return all
}

// checkSame fails the test unless both say the same.
func checkSame(t testing.TB, what string, got, want writes) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		v, ok := got[key]
		if !ok || !bytes.Equal(v, want[key]) || (v == nil) != (want[key] == nil) {
			t.Fatalf("%s: %q is %q, %v, want %q", what, key, v, ok, want[key])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d keys, want %d", what, len(got), len(want))
	}
}

func numbers(tables []*manifest.Table) (all []uint64) {
	for _, meta := range tables {
		all = append(all, meta.Number)
	}
	return all
}

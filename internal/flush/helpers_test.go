package flush

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
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

// writes is what a memtable says: a nil value is a tombstone.
type writes map[string][]byte

func (w writes) root() memtable.Root {
	edit := memtable.New(0).Begin()
	for _, key := range slices.Sorted(maps.Keys(w)) {
		if w[key] == nil {
			edit.Delete([]byte(key))
		} else {
			edit.Put([]byte(key), w[key])
		}
	}
	return edit.Commit()
}

// puts returns writes that put something under each of the keys.
func puts(keys ...string) writes {
	w := writes{}
	for _, key := range keys {
		w[key] = fmt.Appendf(nil, "value of %q", key)
	}
	return w
}

// bucket adds the bucket id to w: its catalog entry, its sequence, and a key in it.
func (w writes) bucket(parent, id uint64) {
	w[catalogKey(parent, id)] = binary.AppendUvarint(nil, id)
	w[string(keyspace.AppendSequence(nil, id))] = []byte{1}
	w[dataKey(id, "key")] = []byte("value")
}

// drop adds what dropping the bucket id leaves in the memtable.
func (w writes) drop(parent, id uint64) {
	w[catalogKey(parent, id)] = nil
	w[string(keyspace.AppendDropped(nil, id))] = []byte{}
}

// catalogKey returns the key of the catalog's entry for a bucket, whose name says its id.
func catalogKey(parent, id uint64) string {
	return fmt.Sprintf("%sbucket %d", keyspace.AppendCatalog(nil, parent), id)
}

func dataKey(bucket uint64, key string) string {
	return string(keyspace.AppendPrefix(nil, bucket)) + key
}

// store is the tables of a database.
type store struct {
	t       testing.TB
	files   vfs.FS
	version *manifest.Version
	numbers uint64 // of files, handed out so far
}

func newStore(t testing.TB) *store {
	t.Helper()
	files := memfs.New()
	check(t, files.MkdirAll(testDir))
	return &store{t: t, files: files, version: &manifest.Version{}}
}

// job returns a job with small tables and blocks.
func (s *store) job(w writes) Job {
	return Job{
		Root:   w.root(),
		Levels: superversion.NewLevels(s.version, nil, s.open),
		Output: run.Config{
			FS: s.files, Dir: testDir, TableBytes: 600, BlockBytes: 100,
			NextNumber: func() uint64 { s.numbers++; return s.numbers },
		},
		LogNumber: s.version.LogNumber + 1, LastCommit: s.version.LastCommit + 5,
	}
}

func (s *store) open(meta *manifest.Table) *table.Table {
	return table.New(table.Config{
		FS: s.files, Path: s.path(meta), Number: meta.Number, Size: int64(meta.Size),
		Cache: table.NewCache(1 << 20),
	})
}

func (s *store) path(meta *manifest.Table) string {
	return filepath.Join(testDir, run.Name(meta.Number))
}

// run runs a job and makes its outcome the store's version.
func (s *store) run(j Job) *manifest.Edit {
	s.t.Helper()
	edit, err := j.Run()
	check(s.t, err)
	s.version, err = s.version.Apply(edit)
	check(s.t, err)
	return edit
}

func (s *store) flush(w writes) *manifest.Edit {
	s.t.Helper()
	return s.run(s.job(w))
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

// visible returns what a reader of the store's tables sees.
func (s *store) visible() writes {
	s.t.Helper()
	w := writes{}
	var c superversion.Cursor
	levels := superversion.NewLevels(s.version, nil, s.open)
	c.Init(&superversion.Superversion{Levels: levels}, nil, nil, false)
	for ok := c.First(); ok; ok = c.Next() {
		w[string(c.Key())] = append([]byte{}, c.Value()...)
	}
	check(s.t, c.Err())
	return w
}

// filtered reports whether a table of many entries has a filter: whether it finds few of them with
// a wrong hash.
func (s *store) filtered(meta *manifest.Table) bool {
	s.t.Helper()
	keys := slices.Collect(maps.Keys(s.read([]*manifest.Table{meta})))
	found := 0
	for _, key := range keys {
		_, _, ok, err := s.open(meta).Get([]byte(key), ^filter.Hash([]byte(key)))
		check(s.t, err)
		if ok {
			found++
		}
	}
	return found < len(keys)/2
}

// checkSame fails the test unless both say the same.
func checkSame(t testing.TB, what string, got, want writes) {
	t.Helper()
	if maps.EqualFunc(got, want, bytes.Equal) {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if v, ok := got[key]; !ok || !bytes.Equal(v, want[key]) {
			t.Fatalf("%s: %q is %q, %v, want %q (%d keys, want %d)", what, key, v, ok, want[key],
				len(got), len(want))
		}
	}
	t.Fatalf("%s: %d keys, want %d", what, len(got), len(want))
}

func entries(tables []*manifest.Table) (n uint64) {
	for _, meta := range tables {
		n += meta.Entries
	}
	return n
}

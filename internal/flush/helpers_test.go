package flush

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const testDir = "db"

var errFault = errors.New("injected fault")

func testDatabase() [16]byte { return [16]byte{0xDA, 8} }

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
			edit.PutUntil([]byte(key), w[key], 0)
		}
	}
	return edit.Commit()
}

// puts returns writes that put a value under each of the keys.
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

// catalogKey returns the key of the catalog's entry for a bucket that is named after its id.
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
	numbers *atomic.Uint64 // of files, handed out so far
	values  run.Values
	now     uint64
}

func newStore(t testing.TB) *store {
	t.Helper()
	files := memfs.New()
	check(t, files.MkdirAll(testDir))
	return &store{t: t, files: files, version: &manifest.Version{}, numbers: new(atomic.Uint64)}
}

// job returns a job with small tables and blocks.
func (s *store) job(w writes) Job {
	return Job{
		Root:   w.root(),
		Levels: s.levels(),
		Output: run.Config{
			FS: s.files, Dir: testDir, Database: testDatabase(), TableBytes: 600, BlockBytes: 100,
			NextNumber: s.nextNumber, Values: s.values,
		},
		LogNumber: s.version.LogNumber + 1, LastCommit: s.version.LastCommit + 5,
	}
}

func (s *store) nextNumber() uint64 {
	return s.numbers.Add(1)
}

// levels returns the store's version, ready to be read.
func (s *store) levels() *superversion.Levels {
	return superversion.NewLevels(s.version, nil, superversion.Opener{
		Table: s.open, Values: s.openValues, Now: func() uint64 { return s.now },
	})
}

func (s *store) open(meta *manifest.Table, dictionaries []*block.Dictionary) *table.Table {
	return table.New(table.Config{
		FS: s.files, Path: filepath.Join(testDir, folder.Table.Name(meta.Number)), Number: meta.Number,
		Database: testDatabase(), Size: int64(meta.Size), Cache: table.NewCache(1 << 20),
		Dictionaries: dictionaries,
	})
}

func (s *store) openValues(f manifest.ValueFile) *valuelog.File {
	name := folder.Values.Name(f.Number)
	if f.Log {
		name = folder.Log.Name(f.Number)
	}
	return valuelog.New(valuelog.Config{
		FS: s.files, Path: filepath.Join(testDir, name), Number: f.Number, Database: testDatabase(),
		Size: int64(f.Size), Log: f.Log,
	})
}

// run runs a job and makes its outcome the store's version.
func (s *store) run(j Job) *manifest.Edit {
	s.t.Helper()
	edit, err := j.Do()
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

// stored returns the entries of the tables as they are stored.
func (s *store) stored(tables []*manifest.Table) map[string]keyspace.Entry {
	s.t.Helper()
	all := map[string]keyspace.Entry{}
	for _, meta := range tables {
		var c table.Cursor
		c.Init(s.open(meta, nil), &table.Scope{Read: table.ReadValues})
		for ok := c.First(); ok; ok = c.Next() {
			all[string(c.Key())] = keyspace.Entry{
				Value: append([]byte{}, c.Value()...), Until: c.Until(), Kind: c.Kind(),
			}
		}
		check(s.t, c.Err())
	}
	return all
}

// read returns what the tables, which the version has, say.
func (s *store) read(tables []*manifest.Table) writes {
	s.t.Helper()
	w, levels := writes{}, s.levels()
	for key, e := range s.stored(tables) {
		if w[key] = nil; e.Kind != keyspace.KindDelete {
			value, err := levels.Resolve(&e, nil)
			check(s.t, err)
			w[key] = append([]byte{}, value...)
		}
	}
	return w
}

// visible returns what a reader of the store's tables sees.
func (s *store) visible() writes {
	s.t.Helper()
	w := writes{}
	var c superversion.Cursor
	c.Init(&superversion.Superversion{Levels: s.levels()},
		superversion.Scope{Read: superversion.ReadValues})
	for ok := c.First(); ok; ok = c.Next() {
		value, err := c.Value()
		check(s.t, err)
		w[string(c.Key())] = append([]byte{}, value...)
	}
	check(s.t, c.Err())
	return w
}

// filtered reports whether a table of many entries has a filter, by whether it finds few of them
// with a wrong hash.
func (s *store) filtered(meta *manifest.Table) bool {
	s.t.Helper()
	keys := slices.Collect(maps.Keys(s.read([]*manifest.Table{meta})))
	found := 0
	for _, key := range keys {
		wrong := ^filter.Hash([]byte(key))
		ok, err := s.open(meta, nil).FindHashed([]byte(key), wrong, new(keyspace.Entry))
		check(s.t, err)
		if ok {
			found++
		}
	}
	return found < len(keys)/2
}

// checkSame fails the test unless both are the same.
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

// young returns the tables of the young run that an edit adds, if it adds one.
func young(edit *manifest.Edit) []*manifest.Table {
	if len(edit.AddYoung) == 0 {
		return nil
	}
	return edit.AddYoung[0].Tables
}

// tables returns all tables that an edit adds.
func tables(edit *manifest.Edit) []*manifest.Table {
	return slices.Concat(young(edit), edit.AddBottom)
}

func entries(tables []*manifest.Table) (n uint64) {
	for _, meta := range tables {
		n += meta.Entries
	}
	return n
}

package compaction

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const (
	testDir = "db"
	now     = 1000 // the time of all compactions
)

var errFault = errors.New("injected fault")

func testDatabase() [16]byte { return [16]byte{0xDA, 9} }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// store is the files of a database.
type store struct {
	t          testing.TB
	files      vfs.FS
	version    *manifest.Version
	numbers    uint64 // of files, handed out so far
	tableBytes int64
	blockBytes int
	values     run.Values
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
		FS: s.files, Dir: testDir, Database: testDatabase(), TableBytes: s.tableBytes,
		BlockBytes: s.blockBytes, Values: s.values,
		NextNumber: func() uint64 { s.numbers++; return s.numbers },
	}
}

func (s *store) open(meta *manifest.Table, dictionaries []*block.Dictionary) *table.Table {
	return table.New(table.Config{
		FS: s.files, Path: filepath.Join(testDir, folder.Table.Name(meta.Number)), Number: meta.Number,
		Database: testDatabase(), Size: int64(meta.Size), Cache: table.NewCache(1 << 20),
		Dictionaries: dictionaries,
	})
}

func (s *store) openValues(f manifest.ValueFile) *valuelog.File {
	return valuelog.New(valuelog.Config{
		FS: s.files, Path: filepath.Join(testDir, folder.Values.Name(f.Number)), Number: f.Number,
		Database: testDatabase(), Size: int64(f.Size),
	})
}

// table returns the reader of a table of the version.
func (s *store) table(meta *manifest.Table) *table.Table {
	return s.open(meta, s.levels().Dictionaries())
}

func (s *store) levels() *superversion.Levels {
	return superversion.NewLevels(s.version, nil, superversion.Opener{
		Table: s.open, Values: s.openValues, Now: func() uint64 { return now },
	})
}

// write writes the files of a run.
func (s *store) write(w writes, filter bool) run.Output {
	s.t.Helper()
	c := s.config()
	c.Filter = filter
	writer := run.NewWriter(c)
	for _, key := range slices.Sorted(maps.Keys(w)) {
		e := keyspace.Entry{Kind: keyspace.KindPut, Value: w[key].value, Until: w[key].until}
		if w[key].value == nil {
			e.Kind = keyspace.KindDelete
		}
		err := writer.Add([]byte(key), e)
		check(s.t, err)
	}
	output, err := writer.Finish()
	check(s.t, err)
	return output
}

func (s *store) apply(edit *manifest.Edit) {
	s.t.Helper()
	version, err := s.version.Apply(edit)
	check(s.t, err)
	s.version = version
}

// young adds a young run, newer than all others, that deletes the spans of what is older.
func (s *store) young(w writes, deleted ...keyspace.Span) {
	s.t.Helper()
	output := s.write(w, true)
	added := manifest.Run{Tables: output.Tables, Deleted: keyspace.Spans(nil).With(deleted...)}
	s.apply(&manifest.Edit{AddYoung: []manifest.Run{added}, AddValues: output.Values})
}

// bottom adds tables to the bottom run.
func (s *store) bottom(w writes) {
	s.t.Helper()
	output := s.write(w, false)
	s.apply(&manifest.Edit{AddBottom: output.Tables, AddValues: output.Values})
}

// job returns a job that compacts the n oldest young runs into the bottom run.
func (s *store) job(n int) Job {
	j := s.youngJob(0, n)
	return s.intoBottom(j, func(meta *manifest.Table) bool { return s.touches(j, meta) })
}

// part returns a job that compacts all young runs into the bottom run, up to end, or goes on with
// the newest front.
func (s *store) part(end []byte) Job {
	front, begun := s.version.Front()
	if !begun {
		return s.partAnew(end)
	}
	j := s.youngJob(0, len(s.version.Young)-front.At)
	j.Inputs, j.Done = j.Inputs[1:], front.Done
	return s.upTo(j, end)
}

// partAnew is part that takes a front for any young run.
func (s *store) partAnew(end []byte) Job { return s.upTo(s.youngJob(0, len(s.version.Young)), end) }

// upTo adds the bottom tables that a job needs, which ends before end.
func (s *store) upTo(j Job, end []byte) Job {
	j.End = end
	return s.intoBottom(j, func(meta *manifest.Table) bool {
		return s.touches(j, meta) && (end == nil || bytes.Compare(meta.Smallest, end) < 0)
	})
}

// touches reports whether the young runs of a job may have or delete a key within a bottom table.
func (s *store) touches(j Job, meta *manifest.Table) bool {
	runs, _, err := j.Young.Of(s.version)
	check(s.t, err)
	return slices.ContainsFunc(runs, func(r manifest.Run) bool {
		return r.Deleted.Meets(meta.Smallest, meta.Largest) ||
			slices.ContainsFunc(r.Tables, func(y *manifest.Table) bool {
				return bytes.Compare(y.Smallest, meta.Largest) <= 0 &&
					bytes.Compare(meta.Smallest, y.Largest) <= 0
			})
	})
}

// intoBottom adds the chosen bottom tables to a job's inputs.
func (s *store) intoBottom(j Job, input func(*manifest.Table) bool) Job {
	j.ToBottom, j.Output.Filter = true, false
	j.Inputs = append(j.Inputs, j.Levels.Bottom.Only(input))
	for _, meta := range s.version.Bottom.Tables {
		if input(meta) {
			j.Bottom = append(j.Bottom, meta.Number)
		} else {
			j.Output.Cuts = append(j.Output.Cuts, meta.Smallest)
		}
	}
	return j
}

// youngJob returns a job that compacts n young runs into one, above the given number of older ones.
func (s *store) youngJob(older, n int) Job {
	j := Job{
		Levels: s.levels(), Young: manifest.YoungRuns{Older: older, Count: n}, Output: s.config(),
		Now: now, Cancelled: func() bool { return false },
	}
	end := len(j.Levels.Young) - older
	j.Inputs = slices.Clone(j.Levels.Young[end-n : end])
	j.Output.Filter = true
	j.Output.Dropped, j.Output.DropEpoch = s.version.IsDropped, s.version.DropEpoch
	return j
}

// run runs a job and makes its outcome the store's version.
func (s *store) run(j Job) *manifest.Edit {
	s.t.Helper()
	edit, err := j.Do()
	check(s.t, err)
	s.apply(edit)
	return edit
}

// moved returns the tables that an edit moves from the young runs of a version.
func moved(edit *manifest.Edit, before *manifest.Version) (tables []*manifest.Table) {
	for _, r := range before.Young {
		for _, t := range r.Tables {
			if slices.Contains(edit.AddBottom, t) {
				tables = append(tables, t)
			}
		}
	}
	return tables
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

// read returns what the tables, which the version has, say.
func (s *store) read(tables []*manifest.Table) writes {
	s.t.Helper()
	w, levels := writes{}, s.levels()
	for _, meta := range tables {
		var c table.Cursor
		c.Init(s.table(meta), &table.Scope{Read: table.ReadValues})
		for ok := c.First(); ok; ok = c.Next() {
			if w[string(c.Key())] = (cell{}); c.Kind() == keyspace.KindDelete {
				continue
			}
			value, err := levels.Resolve(&keyspace.Entry{Value: c.Value(), Kind: c.Kind()}, nil)
			check(s.t, err)
			w[string(c.Key())] = cell{append([]byte{}, value...), c.Until()}
		}
		check(s.t, c.Err())
	}
	return w
}

// state returns what the store says, with tombstones, of buckets that are not dropped.
func (s *store) state() writes {
	s.t.Helper()
	all := s.read(s.version.Bottom.Tables)
	for _, r := range slices.Backward(s.version.Young) {
		all = s.read(r.Tables).over(all.without(r.Deleted...))
	}
	maps.DeleteFunc(all, func(key string, _ cell) bool {
		id, ok := keyspace.BucketOf([]byte(key))
		return ok && s.version.IsDropped(id)
	})
	return all
}

func numbers(tables []*manifest.Table) (all []uint64) {
	for _, meta := range tables {
		all = append(all, meta.Number)
	}
	return all
}

func dataKey(bucket uint64, key string) string {
	return string(keyspace.AppendPrefix(nil, bucket)) + key
}

// keys returns the keys of bucket 7 with the numbers from first to last.
func keys(first, last int) (all []string) {
	for i := first; i <= last; i++ {
		all = append(all, dataKey(7, fmt.Sprintf("key%04d", i)))
	}
	return all
}

// between returns the span of just these keys.
func between(first, last int) keyspace.Span {
	return keyspace.Span{Start: []byte(keys(first, first)[0]), End: []byte(keys(last+1, last+1)[0])}
}

func dropping(ids ...uint64) *manifest.Edit { return &manifest.Edit{Drop: ids} }

// keys returns the keys that the tables mention.
func (s *store) keys(tables []*manifest.Table) map[string]bool {
	s.t.Helper()
	all := map[string]bool{}
	for _, meta := range tables {
		var c table.Cursor
		c.Init(s.table(meta), &table.Scope{Read: table.ReadKeys})
		for ok := c.First(); ok; ok = c.Next() {
			all[string(c.Key())] = true
		}
		check(s.t, c.Err())
	}
	return all
}

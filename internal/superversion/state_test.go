package superversion

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// entries is what there is for each key.
type entries map[string]keyspace.Entry

// layer is what one memtable or run says: the keys deleted as ranges, and what was written since.
type layer struct {
	written entries
	deleted keyspace.Spans
	edit    *memtable.Edit
}

func newLayer() *layer {
	return &layer{written: entries{}, edit: memtable.New(0).Begin()}
}

func (l *layer) put(key, value string, until uint64) {
	l.edit.PutUntil([]byte(key), []byte(value), until)
	l.written[key] = keyspace.Entry{Kind: keyspace.KindPut, Value: []byte(value), Until: until}
}

func (l *layer) delete(key string) {
	l.edit.Delete([]byte(key))
	l.written[key] = keyspace.Entry{Kind: keyspace.KindDelete}
}

func (l *layer) deleteRange(start, end string) {
	span := keyspace.Span{Start: []byte(start), End: []byte(end)}
	l.edit.DeleteRange(span)
	l.deleted = l.deleted.With(span)
	maps.DeleteFunc(l.written, func(key string, _ keyspace.Entry) bool {
		return span.Contains([]byte(key))
	})
}

// over makes older what it is beneath l, tombstones included.
func (l *layer) over(older entries) {
	maps.DeleteFunc(older, func(key string, _ keyspace.Entry) bool {
		return l.deleted.Contains([]byte(key))
	})
	maps.Copy(older, l.written)
}

// visible returns the values that a reader sees at the time now.
func (e entries) visible(now uint64) map[string]string {
	seen := map[string]string{}
	for key, entry := range e {
		if entry.Kind != keyspace.KindDelete && (entry.Until == 0 || entry.Until > now) {
			seen[key] = string(entry.Value)
		}
	}
	return seen
}

// disk is the files that runs are written to, and the time.
type disk struct {
	t       testing.TB
	files   vfs.FS
	numbers uint64
	now     uint64

	dictionaries []manifest.Dictionary // of all runs
}

func newDisk(t testing.TB) *disk { return &disk{t: t, files: memfs.New(), now: 1000} }

// separate is the size from which the values of runs go to value files.
const separate = 24

// run writes a layer into tiny tables, and its larger values into tiny value files.
func (d *disk) run(l *layer, filter bool) (manifest.Run, []manifest.ValueFile) {
	d.t.Helper()
	known := NewLevels(&manifest.Version{Dictionaries: d.dictionaries}, nil, d.opener())
	w := run.NewWriter(run.Config{
		FS: d.files, TableBytes: 300 + int64(d.numbers%7)*200, BlockBytes: 32 << (d.numbers % 4),
		Filter: filter, Compress: d.numbers%2 == 0, Patterns: true, SampleBytes: 1 << 10,
		Dictionaries: known.Dictionaries(),
		NextNumber:   func() uint64 { d.numbers++; return d.numbers },
		Values:       run.Values{Separate: separate, FileBytes: 200},
	})
	for _, key := range slices.Sorted(maps.Keys(l.written)) {
		if err := w.Add([]byte(key), l.written[key]); err != nil {
			d.t.Fatal(err)
		}
	}
	out, err := w.Finish()
	if err != nil {
		d.t.Fatal(err)
	}
	for _, added := range out.Dictionaries {
		if !slices.ContainsFunc(d.dictionaries, func(old manifest.Dictionary) bool {
			return old.Number == added.Number
		}) {
			d.dictionaries = append(d.dictionaries, added)
		}
	}
	return manifest.Run{Tables: out.Tables, Deleted: l.deleted}, out.Values
}

func (d *disk) opener() Opener {
	return Opener{
		Table: func(meta *manifest.Table, dictionaries []*block.Dictionary) *table.Table {
			return table.New(table.Config{
				FS: d.files, Path: filepath.Join(".", folder.Table.Name(meta.Number)), Number: meta.Number,
				Size: int64(meta.Size), Cache: table.NewCache(1 << 20),
				Dictionaries: dictionaries,
			})
		},
		Values: func(f manifest.ValueFile) *valuelog.File {
			return valuelog.New(valuelog.Config{
				FS: d.files, Path: filepath.Join(".", folder.Values.Name(f.Number)), Number: f.Number,
				Size: int64(f.Size),
			})
		},
		Now: func() uint64 { return d.now },
	}
}

// state is a database of random layers: what it is made of, and the superversion that shows it.
type state struct {
	*Superversion
	disk   *disk
	mem    *layer   // nil if there is none
	sealed []*layer // newest first, like young
	young  []*layer
	bottom *layer
}

// randomKey returns one of the keys that layers write, a few of which are long.
func randomKey(rng *rand.Rand) string {
	key := fmt.Sprintf("k%03d", rng.IntN(700))
	if rng.IntN(8) == 0 {
		key += "/a longer key with the same start"
	}
	return key
}

// randomLayer returns up to n writes in a part of the keys or all over: of all kinds, or only such
// as a [Cursor.Walk] takes without looking.
func (d *disk) randomLayer(rng *rand.Rand, n int, bottom bool) *layer {
	l, plain := newLayer(), rng.IntN(2) == 0
	small := rng.IntN(2) == 0                   // many ranges are deleted, of a key or two
	low, span := rng.IntN(300), 1+rng.IntN(400) // layers that interleave, and layers that do not
	for range rng.IntN(n + 1) {
		key := fmt.Sprintf("k%03d", low+rng.IntN(span))
		if rng.IntN(8) == 0 {
			key += "/a longer key with the same start"
		}
		value, until := fmt.Sprint(key, "=", rng.IntN(1e6)), uint64(0)
		switch op := rng.IntN(8); {
		case plain:
		case op < 2:
			value += strings.Repeat("!", separate+rng.IntN(100))
		case op < 4:
			until = d.now - 50 + uint64(rng.IntN(100))
		}
		switch op := rng.IntN(20); {
		case small && !bottom && op%2 == 0:
			start := fmt.Sprintf("k%03d", low+rng.IntN(span))
			l.deleteRange(start, start+[]string{"/", "~"}[rng.IntN(2)])
		case bottom || op < 14:
			l.put(key, value, until)
		case plain || op < 18:
			l.delete(key)
		default:
			end := fmt.Sprintf("k%03d~", low+rng.IntN(span)+1+rng.IntN(20))
			l.deleteRange(min(key, end), max(key, end))
		}
	}
	return l
}

func randomState(t testing.TB, rng *rand.Rand) *state {
	t.Helper()
	d := newDisk(t)
	s := &state{disk: d, bottom: d.randomLayer(rng, 600*rng.IntN(2), true)}
	version := &manifest.Version{}
	version.Bottom, version.ValueFiles = d.run(s.bottom, false)
	for range rng.IntN(4) {
		l := d.randomLayer(rng, 150, false)
		if len(l.written)+len(l.deleted) == 0 {
			continue
		}
		young, files := d.run(l, true)
		version.Young = slices.Insert(version.Young, 0, young)
		version.ValueFiles = append(version.ValueFiles, files...)
		s.young = slices.Insert(s.young, 0, l)
	}
	version.Dictionaries = d.dictionaries
	s.Superversion = &Superversion{Levels: NewLevels(version, nil, d.opener())}
	for range rng.IntN(3) {
		l := d.randomLayer(rng, 150, false)
		s.sealed = slices.Insert(s.sealed, 0, l)
		s.Sealed = slices.Insert(s.Sealed, 0, l.edit.Commit())
	}
	if rng.IntN(3) > 0 {
		s.mem = d.randomLayer(rng, 300, false)
		s.Mem = s.mem.edit.Root()
	}
	return s
}

// below returns what lies below the memtable.
func (s *state) below() entries {
	all := maps.Clone(s.bottom.written)
	for _, l := range slices.Backward(s.young) {
		l.over(all)
	}
	for _, l := range slices.Backward(s.sealed) {
		l.over(all)
	}
	return all
}

// all returns the newest entry of each key.
func (s *state) all() entries {
	all := s.below()
	if s.mem != nil {
		s.mem.over(all)
	}
	return all
}

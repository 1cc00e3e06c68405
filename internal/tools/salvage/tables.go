package salvage

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/vfs"
)

// tableSource is the entries of a run of tables. If no manifest names a table, only its number is
// known.
type tableSource struct {
	plan     *plan
	recorder *recorder
	tables   []*manifest.Table // the current one first, and those that come next
	hidden   keyspace.Spans    // keys that do not count
	file     vfs.File          // of the current one; nil before it is opened
	layout   *table.Layout     // of the current one
	block    int               // the next block of it

	keys   block.Keys
	full   block.Column // the keys
	at     int
	values block.Values
	loaded bool   // values are those of the block
	broken string // why they cannot be
	last   []byte // the key of the entry before
}

func (s *tableSource) next() bool {
	for {
		for s.at++; s.at < s.keys.Len(); s.at++ {
			key := s.full.At(s.at)
			possible := len(key) > 0 && len(key) <= keyspace.MaxInternalKeyBytes
			if possible && bytes.Compare(key, s.last) > 0 {
				if s.last = key; s.hidden.Contains(key) {
					continue
				}
				return true
			}
			s.recorder.value(key, s.name()+" has it out of order")
		}
		if !s.nextBlock() {
			return false
		}
	}
}

func (s *tableSource) key() []byte { return s.full.At(s.at) }

func (s *tableSource) name() string { return folder.Table.Name(s.tables[0].Number) }

func (s *tableSource) nextBlock() bool {
	for len(s.tables) > 0 {
		if s.file == nil && !s.open() || s.block == len(s.layout.Blocks) {
			s.close()
			s.tables = s.tables[1:]
			continue
		}
		i := s.block
		s.block++
		keys, err := s.layout.ReadKeys(i)
		if err != nil {
			s.lose(i, err)
			continue
		}
		s.keys, s.full, s.at = keys, keys.Expand(), -1
		s.loaded, s.broken = false, ""
		return true
	}
	s.keys, s.at = block.Keys{}, 0
	return false
}

func (s *tableSource) close() {
	if s.file != nil {
		_ = s.file.Close() // it was only read
		s.file = nil
	}
}

// open opens the current table, or notes that it is lost.
func (s *tableSource) open() bool {
	t, name := s.tables[0], s.name()
	if !s.plan.has(folder.Table, t.Number) {
		s.recorder.problem(name, 0, "the file is missing")
		s.recorder.span(name, spanOf(t))
		return false
	}
	file, layout, damage := s.plan.table(t)
	if file == nil {
		last := damage[len(damage)-1]
		s.recorder.problem(name, last.At, "all of it is lost: "+reasonOf(last.Err))
		s.recorder.span(name, spanOf(t))
		return false
	}
	for _, d := range damage {
		s.recorder.problem(name, d.At, reasonOf(d.Err))
	}
	s.recorder.made.Tables++
	s.file, s.layout, s.block = file, layout, 0
	return true
}

// table opens a table of which at least the number is known. The file is nil if the table has no
// blocks; the last damage says why.
func (p *plan) table(t *manifest.Table) (vfs.File, *table.Layout, []table.Damage) {
	path := p.path(folder.Table.Name(t.Number))
	file, err := p.original.Open(path)
	if err != nil {
		return nil, nil, []table.Damage{{Err: err}}
	}
	layout, damage := table.ReadLayout(file, path, table.Want{
		Number: t.Number, Database: p.database, Size: int64(t.Size),
	})
	if len(layout.Blocks) == 0 {
		_ = file.Close() // it was only read
		return nil, nil, damage
	}
	return file, layout, damage
}

func (s *tableSource) lose(i int, err error) {
	span := s.layout.Span(i)
	if span.End == nil {
		span.End = spanOf(s.tables[0]).End
	}
	s.recorder.problem(s.name(), s.layout.Blocks[i].Keys, reasonOf(err))
	s.recorder.made.Blocks++
	s.recorder.span(s.name(), span)
}

// spanOf returns the keys that a table may have.
func spanOf(t *manifest.Table) keyspace.Span {
	if t.Largest == nil {
		return keyspace.Span{}
	}
	return keyspace.Span{Start: t.Smallest, End: append(slices.Clip(t.Largest), 0)}
}

func (s *tableSource) entry() (e keyspace.Entry, problem string) {
	if e.Kind = s.keys.Kind(s.at); e.Kind == keyspace.KindDelete {
		return e, ""
	}
	e.Until = s.keys.Until(s.at)
	if !s.loaded {
		s.load()
	}
	switch {
	case s.broken != "":
		return e, s.broken
	case s.values.Codec == block.Pattern:
		s.values.Encoded.Entry(s.at, &e)
	default:
		e.Value = s.values.Plain.At(s.at)
	}
	return e, ""
}

// load reads the values of the block, in new memory.
func (s *tableSource) load() {
	s.loaded, s.values = true, block.Values{}
	i := s.block - 1
	var err error
	s.values, err = s.layout.ReadValues(i, s.keys.Len(), &s.plan.decompressor)
	if err != nil {
		s.broken = fmt.Sprintf("%s: the values of its block cannot be read", s.name())
		s.recorder.made.Blocks++
		s.recorder.problem(s.name(), s.layout.Blocks[i].Values, reasonOf(err))
	}
}

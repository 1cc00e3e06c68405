package superversion

import (
	"bytes"
	"iter"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/table"
)

// Sample yields entries of a bucket from so many places of the runs at most, evenly apart: at each
// the neighbours from the start of a block on, with about so many bytes of values. They are as they
// are stored, and what newer runs hide or delete is among them. They stay valid as long as the runs
// are reachable.
func Sample(
	runs []Run, bucket uint64, places, bytes int,
) iter.Seq2[keyspace.Entry, error] {
	return func(yield func(keyspace.Entry, error) bool) {
		s := sampler{lower: keyspace.AppendPrefix(nil, bucket), bytes: bytes, yield: yield}
		s.upper = keyspace.Successor(s.lower)
		if err := s.find(runs); err != nil {
			yield(keyspace.Entry{}, err)
			return
		}
		before, next := 0, 0 // blocks of earlier sections; of all places, the next
		for _, from := range s.sections {
			end := before + from.end - from.first
			for ; next < places && next*s.blocks/places < end; next++ {
				if !s.take(from.table, from.first+next*s.blocks/places-before) {
					return
				}
			}
			before = end
		}
	}
}

// sampler takes entries with keys in [lower, upper) from many places.
type sampler struct {
	lower, upper []byte
	bytes        int // from each place
	sections     []section
	blocks       int // in all sections
	yield        func(keyspace.Entry, error) bool
}

// section is the blocks of a table that may have keys of the bucket.
type section struct {
	table      *table.Table
	first, end int
}

// find finds the sections.
func (s *sampler) find(runs []Run) (err error) {
	for i := range runs {
		for _, h := range runs[i].Tables {
			if bytes.Compare(h.Meta.Largest, s.lower) < 0 ||
				bytes.Compare(h.Meta.Smallest, s.upper) >= 0 {
				continue
			}
			from := section{table: h.Table}
			if from.first, from.end, err = h.Table.Blocks(s.lower, s.upper); err != nil {
				return err
			}
			s.blocks += from.end - from.first
			s.sections = append(s.sections, from)
		}
	}
	return nil
}

// take yields what is taken from block b on, and reports whether more is wanted.
func (s *sampler) take(t *table.Table, b int) bool {
	var c table.Cursor
	c.Init(t, table.ReadStored)
	left := s.bytes
	for ok := c.SeekBlock(b); ok && left > 0 && bytes.Compare(c.Key(), s.upper) < 0; ok = c.Next() {
		if bytes.Compare(c.Key(), s.lower) < 0 {
			continue
		}
		if err := c.Load(); err != nil {
			return s.yield(keyspace.Entry{}, err)
		}
		e := c.Entry()
		if left -= e.Size(); !s.yield(e, nil) {
			return false
		}
	}
	return c.Err() == nil || s.yield(keyspace.Entry{}, c.Err())
}

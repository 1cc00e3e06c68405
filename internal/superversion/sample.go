package superversion

import (
	"bytes"
	"iter"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// Sample says what [Levels.Sample] takes.
type Sample struct {
	Bucket uint64
	Places int    // how many places to take entries from, at most; evenly apart
	Bytes  int    // about how many bytes of neighbouring entries to take at each place
	Now    uint64 // entries that have expired by then are left out, in milliseconds since 1970

	EntryBytes func(value int) int // what an entry with a value of that size counts for; above 0

	// Fetch reports whether to read values that lie in a file outside of tables; nil reads none.
	Fetch func(file uint64) bool
}

// Sample yields puts, as they are stored, from many places of some runs of l, newest run first.
// They are among what a compaction of these runs would keep. Sample ends where something cannot be
// read. Entries stay valid as long as l is reachable.
func (l *Levels) Sample(runs []Run, what Sample) iter.Seq[keyspace.Entry] {
	return func(yield func(keyspace.Entry) bool) {
		lower := keyspace.AppendPrefix(nil, what.Bucket)
		upper := keyspace.Successor(lower)
		places, err := places(runs, lower, upper, what.Places)
		if err != nil {
			return
		}
		var c EntryCursor
		c.Init(l, runs)
		var last []byte
		for _, place := range places {
			if last != nil && bytes.Compare(place, last) <= 0 {
				continue
			}
			ok := c.Seek(place)
			for left := what.Bytes; ok && left > 0 && bytes.Compare(c.Key(), upper) < 0; ok = c.Next() {
				last = c.Key()
				left -= what.EntryBytes(0)
				if c.Kind() == keyspace.KindDelete {
					continue
				}
				e, err := l.sampled(&c, what.Fetch)
				if err != nil {
					return
				}
				if e.Kind != keyspace.KindPut {
					continue
				}
				left -= what.EntryBytes(e.Size()) - what.EntryBytes(0)
				if expired := e.Until != 0 && e.Until <= what.Now; !expired && !yield(e) {
					return
				}
			}
		}
	}
}

// sampled returns the cursor's entry, with its value if that lies in a file to fetch values from.
func (l *Levels) sampled(
	c *EntryCursor, fetch func(file uint64) bool,
) (e keyspace.Entry, err error) {
	if e, err = c.Entry(); err != nil || e.Kind != keyspace.KindPointer || fetch == nil {
		return e, err
	}
	p, err := valuelog.ParsePointer(e.Value)
	if err != nil || !fetch(p.File) {
		return e, err
	}
	value, err := l.Resolve(&e, nil)
	return keyspace.Entry{Kind: keyspace.KindPut, Value: value, Until: e.Until}, err
}

// section is the blocks of a table that may hold keys of the bucket.
type section struct {
	table      *table.Table
	first, end int
}

// places returns about n keys in [lower, upper) at which the runs have blocks, in order, with
// equally many blocks between them.
func places(runs []Run, lower, upper []byte, n int) ([][]byte, error) {
	sections, blocks, err := sections(runs, lower, upper)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	before := 0 // blocks of earlier sections
	for _, s := range sections {
		end := before + s.end - s.first
		for len(all) < n && len(all)*blocks/n < end {
			key, err := s.table.FirstKey(s.first + len(all)*blocks/n - before)
			if err != nil {
				return nil, err
			}
			if bytes.Compare(key, lower) < 0 {
				key = lower
			}
			all = append(all, key)
		}
		before = end
	}
	slices.SortFunc(all, bytes.Compare)
	return all, nil
}

// sections returns where the runs have keys in [lower, upper), and in how many blocks.
func sections(runs []Run, lower, upper []byte) (all []section, blocks int, err error) {
	for i := range runs {
		for _, h := range runs[i].Tables {
			if bytes.Compare(h.Meta.Largest, lower) < 0 ||
				bytes.Compare(h.Meta.Smallest, upper) >= 0 {
				continue
			}
			s := section{table: h.Table}
			if s.first, s.end, err = h.Table.Blocks(lower, upper); err != nil {
				return nil, 0, err
			}
			blocks += s.end - s.first
			all = append(all, s)
		}
	}
	return all, blocks, nil
}

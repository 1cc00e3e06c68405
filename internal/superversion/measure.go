package superversion

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// Measure is how much of a bucket is in memtables and tables.
type Measure struct {
	Entries uint64
	Bytes   uint64 // of their keys, as the user knows them, and of their values
	// Stored, Zstd and Pattern are bytes of value blocks, as in [manifest.BucketShare]. Tables that
	// are not described by bucket do not count.
	Stored, Zstd, Pattern uint64
}

// Measure returns how much memtables and tables have for the keys of a bucket. Tombstones do not
// count. Older entries of a key do, and so do entries that newer runs delete as part of a range and
// expired ones. It reads only what the tables' descriptions leave open, and no value outside of
// tables.
func (s *Superversion) Measure(bucket uint64) (Measure, error) {
	m := measure{bucket: bucket, lower: keyspace.AppendPrefix(nil, bucket)}
	m.upper = keyspace.Successor(m.lower)
	m.addMemtable(s.Mem)
	for _, root := range s.Sealed {
		m.addMemtable(root)
	}
	for i := range s.Levels.Young {
		if err := m.addRun(&s.Levels.Young[i]); err != nil {
			return Measure{}, err
		}
	}
	if err := m.addRun(&s.Levels.Bottom); err != nil {
		return Measure{}, err
	}
	m.Bytes -= m.Entries * uint64(len(m.lower))
	return m.Measure, nil
}

// measure adds up what there is for one bucket.
type measure struct {
	Measure      // Bytes are of internal keys and values
	bucket       uint64
	lower, upper []byte // its keys are in [lower, upper), and start with lower
}

func (m *measure) add(entries, bytes uint64) {
	m.Entries += entries
	m.Bytes += bytes
}

func (m *measure) addMemtable(root memtable.Root) {
	var c memtable.Cursor
	c.Init(root)
	for ok := c.Seek(m.lower); ok && bytes.Compare(c.Key(), m.upper) < 0; ok = c.Next() {
		if c.Kind() != keyspace.KindDelete {
			m.add(1, uint64(len(c.Key())+len(c.Value())))
		}
	}
}

// addRun adds what the descriptions of a run's tables say, and counts the entries of tables that
// are not described by bucket.
func (m *measure) addRun(r *Run) error {
	for _, h := range r.Tables[r.search(m.lower):] {
		if bytes.Compare(h.Meta.Smallest, m.upper) >= 0 {
			return nil
		}
		if len(h.Meta.Buckets) == 0 {
			if err := m.count(h.Table); err != nil {
				return err
			}
			continue
		}
		i, ok := slices.BinarySearchFunc(h.Meta.Buckets, m.bucket,
			func(s manifest.BucketShare, id uint64) int { return cmp.Compare(s.Bucket, id) })
		if ok {
			share := h.Meta.Buckets[i]
			m.add(share.Entries, share.Bytes)
			m.Stored += share.Stored
			m.Zstd += share.Zstd
			m.Pattern += share.Pattern
		}
	}
	return nil
}

// count counts the entries of a table one by one. It reads blocks with their values, because
// nothing else tells how long those are. That is few blocks, unless one bucket has nearly all of a
// table that has many.
func (m *measure) count(t *table.Table) error {
	var c table.Cursor
	c.Init(t, &table.Scope{Read: table.ReadStored})
	for ok := c.Seek(m.lower); ok && bytes.Compare(c.Key(), m.upper) < 0; ok = c.Next() {
		if err := c.Load(); err != nil {
			return err
		}
		e := c.Entry()
		size := uint64(e.Size())
		switch e.Kind {
		case keyspace.KindDelete:
			continue
		case keyspace.KindPointer:
			p, err := valuelog.ParsePointer(e.Value)
			if err != nil {
				return corrupt.New("a table", 0, "%v", err)
			}
			size = uint64(p.Length)
		}
		m.add(1, uint64(len(c.Key()))+size)
	}
	return c.Err()
}

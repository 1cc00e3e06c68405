package engine

import (
	"time"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// maxWhole is the size up to which a table of the catalog is read as a whole, as every program that
// opens the database looks its buckets up. So large a one has about two thousand.
const maxWhole = 64 << 10

// store opens the files of one database. Immutable, except for what memory counts.
type store struct {
	directory
	database [16]byte // the identity that all its files carry
	claimed  string   // the name of a file with a claim; "" if none is known
	memory   *memory
	clock    func() time.Time
}

func newStore(d directory, database [16]byte, o Options) store {
	return store{
		directory: d, database: database, memory: newMemory(&o), clock: o.Tuning.Now,
	}
}

// levelsOf returns the levels of a version none of whose files are open.
func (s store) levelsOf(version *manifest.Version) *superversion.Levels {
	return superversion.NewLevels(version, nil, s.opener())
}

// opener returns what makes the readers of the database's files.
func (s store) opener() superversion.Opener {
	return superversion.Opener{Table: s.openTable, Values: s.openValues, Now: s.now}
}

func (s store) openTable(t *manifest.Table, dictionaries []*block.Dictionary) *table.Table {
	return table.New(table.Config{
		FS:       s.folder,
		Path:     s.tablePath(t),
		Number:   t.Number,
		Database: s.database,
		Size:     int64(t.Size),
		Cache:    s.memory.cache,
		Whole:    wantsWhole(t),
		Claim:    s.claimed,

		Dictionaries: dictionaries,
	})
}

// wantsWhole reports whether all of a table is read when it is opened.
func wantsWhole(t *manifest.Table) bool {
	return t.Size <= maxWhole && t.IsCatalog()
}

func (s store) openValues(f manifest.ValueFile) *valuelog.File {
	return valuelog.New(valuelog.Config{
		FS:       s.folder,
		Path:     s.valuePath(f),
		Number:   f.Number,
		Database: s.database,
		Size:     int64(f.Size),
		Log:      f.Log,
		Claim:    s.claimed,
	})
}

// now returns the time by which entries expire, in milliseconds since 1970.
func (s store) now() uint64 { return uint64(s.clock().UnixMilli()) }

package superversion

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
)

// EntryCursor walks the newest entries of some runs forwards, whatever those say: tombstones,
// expired entries, values as they are stored. It is what compactions read. The zero EntryCursor
// must be initialised with Init and not be copied afterwards. Not safe for concurrent use.
type EntryCursor struct {
	levels *Levels
	merge  merge
}

// Init makes c a cursor over the given runs of l, newest first, that is on no entry. It leaves out
// what newer runs of l delete as ranges.
func (c *EntryCursor) Init(l *Levels, runs []Run) {
	c.levels = l
	c.merge.init(Scope{Read: table.ReadStored})
	for i := range runs {
		c.merge.addRun(&runs[i])
	}
}

// First moves to the first entry and reports whether there is one.
func (c *EntryCursor) First() bool { return c.merge.seek(nil) }

// Seek moves to the first entry whose key is not below key and reports whether there is one.
func (c *EntryCursor) Seek(key []byte) bool { return c.merge.seek(key) }

// Next moves to the next entry and reports whether there is one.
func (c *EntryCursor) Next() bool { return c.merge.next(keyspace.Forward) }

// Key returns the current entry's key.
func (c *EntryCursor) Key() []byte { return c.merge.winner.currentKey() }

// Kind returns what the current entry does.
func (c *EntryCursor) Kind() keyspace.Kind { return c.merge.winner.kind() }

// Entry returns what is stored for the current key.
func (c *EntryCursor) Entry() (keyspace.Entry, error) {
	in := c.merge.winner
	if err := in.run.Load(); err != nil {
		return keyspace.Entry{}, err
	}
	return in.entry(), nil
}

// Value returns the current entry's value, wherever it lies. Entry must have been called for it.
func (c *EntryCursor) Value() ([]byte, error) { return c.merge.load(c.levels) }

// Whole returns the table that the current entry is in, if the entry is the first of a block that
// comes next as a whole: nothing in it is hidden, and all of its entries are puts that do not
// expire. Otherwise it returns nil.
func (c *EntryCursor) Whole() *manifest.Table {
	in := c.merge.winner
	if in.run.Puts() && c.merge.free == in.ahead(keyspace.Forward) {
		return in.run.run.Tables[in.run.at].Meta
	}
	return nil
}

// Block returns the block that the current entry is in.
func (c *EntryCursor) Block() (table.Block, error) { return c.merge.winner.run.Copy() }

// SkipBlock moves past the block that the current entry is in, which must come next as a whole, and
// reports whether there is an entry.
func (c *EntryCursor) SkipBlock() bool {
	c.merge.winner.run.ToBlockEnd()
	c.merge.free = 0
	return c.Next()
}

// Err returns the error that ended the last move, or nil if the move met the end.
func (c *EntryCursor) Err() error { return c.merge.err }

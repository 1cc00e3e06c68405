package run

import (
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/table"
)

// AddBlock appends a block of another table as it is. All of its entries must be puts that do not
// expire, and it must be compressed as the run is to be. If it returns false, the caller has to add
// the entries one by one: some may have to be skipped, to move to a value file, or to be
// re-encoded, or a table has to end within the block or would be worse for it.
func (w *Writer) AddBlock(b table.Block) (added bool, err error) {
	if !w.mayCopy(b) {
		return false, nil
	}
	if err := w.enterBucket(b.First); err != nil {
		return false, err
	}
	if err := w.release(partOfBucket); err != nil {
		return false, err
	}
	if err := w.prepareTable(b.First); err != nil {
		return false, err
	}
	bucket, _ := keyspace.BucketOf(b.First)
	if added, err = w.tables.addBlock(bucket, b); err != nil || !added {
		return false, err
	}
	w.sample.copied = true
	return true, w.endFullTable()
}

// mayCopy reports whether nothing in the block has to be decided entry by entry.
func (w *Writer) mayCopy(b table.Block) bool {
	bucket, ok := keyspace.BucketOf(b.First)
	last, _ := keyspace.BucketOf(b.Last)
	if !ok || bucket != last || !keyspace.IsData(b.First) || w.skips(b.First) ||
		w.tables.cutsWithin(b.First, b.Last) {
		return false
	}
	c := &w.config
	if least := c.Values.Separate; least > 0 && b.Longest >= least &&
		(!c.Compress || b.Codec == block.Raw) { // compressed, large values stay in tables
		return false
	}
	return b.Codec != block.Pattern ||
		c.Patterns && !Replaced(c.Dictionaries, b.Dictionary)
}

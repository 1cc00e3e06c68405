package run

import (
	"bytes"
	"fmt"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/table"
)

// AddBlock appends a block of another table as it is, all of whose entries must be puts that do not
// expire, and reports whether it has completed a file, as [Writer.Add] does. Unless added is true,
// the entries are to be added one by one: where some of them may be left out or have their values
// elsewhere, where a table ends within the block, or for the sake of the table. The caller knows
// that the block is compressed as it should be.
func (w *Writer) AddBlock(b table.Block) (added, completed bool, err error) {
	bucket, ok := keyspace.BucketOf(b.First)
	last, _ := keyspace.BucketOf(b.Last)
	if !ok || bucket != last || !keyspace.IsData(b.First) || w.leftOut(b.First) ||
		w.cutWithin(b.First, b.Last) || w.values.separates(b) ||
		b.Codec == block.Pattern &&
			(!w.config.Patterns || Replaced(w.config.Dictionaries, b.Dictionary)) {
		return false, false, nil
	}
	if completed, err = w.enter(b.First); err != nil {
		return false, completed, err
	}
	more, err := w.release(false)
	if completed = completed || more; err != nil {
		return false, completed, err
	}
	if err := w.prepare(b.First); err != nil {
		return false, false, err
	}
	before := w.table.Stored()
	if added, err = w.table.AddBlock(b); err != nil || !added {
		if err != nil {
			err = fmt.Errorf("write table %06d: %w", w.number, err)
		}
		return false, completed, err
	}
	w.choice.copied = true
	w.shares.addPuts(bucket, before, uint64(b.Keys.Len()), uint64(b.Keys.Bytes()+b.ValueBytes))
	if w.table.Size() < w.config.TableBytes {
		return true, completed, nil
	}
	return true, true, w.close()
}

// cutWithin reports whether a table must end between two keys.
func (w *Writer) cutWithin(first, last []byte) bool {
	for _, cut := range w.config.Cuts {
		if bytes.Compare(cut, first) > 0 {
			return bytes.Compare(cut, last) <= 0
		}
	}
	return false
}

// separates reports whether a block may have values that belong into value files.
func (v *valueWriter) separates(b table.Block) bool {
	least := v.config.Values.Separate
	if least <= 0 || b.Longest < least {
		return false
	}
	return !(v.config.Compress && b.Codec != block.Raw) // where large values are for being compressed
}

// addPuts counts so many entries of one bucket that neither expire nor point elsewhere.
func (s *shares) addPuts(bucket uint64, stored table.Stored, entries, bytes uint64) {
	s.bytes += bytes
	if b := s.bucket(bucket, stored); b != nil {
		b.Entries += entries
		b.Bytes += bytes
	}
}

package run

import (
	"bytes"
	"fmt"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
)

// tableWriter writes the tables of a run.
type tableWriter struct {
	files    // config.Cuts are removed as keys pass them
	finished []*manifest.Table
	filled   int // tables that ended because they had reached their size

	writer   *table.Writer  // of the open table; nil between tables
	data     bool           // it holds user data, not catalog entries
	encoding block.Encoding // of the next value
	shares   shares
}

// mustEndBefore reports whether the open table must end before key: at a cut, and where the catalog
// ends.
func (t *tableWriter) mustEndBefore(key []byte) bool {
	cut := false
	for len(t.config.Cuts) > 0 && bytes.Compare(key, t.config.Cuts[0]) >= 0 {
		t.config.Cuts, cut = t.config.Cuts[1:], true
	}
	return t.writer != nil && (cut || keyspace.IsData(key) != t.data)
}

// cutsWithin reports whether a table must end between two keys.
func (t *tableWriter) cutsWithin(first, last []byte) bool {
	for _, cut := range t.config.Cuts {
		if bytes.Compare(cut, first) > 0 {
			return bytes.Compare(cut, last) <= 0
		}
	}
	return false
}

// open opens a table that starts with key, unless one is open.
func (t *tableWriter) open(key []byte) error {
	if t.writer != nil {
		return nil
	}
	if n := len(t.finished); n > 0 && bytes.Compare(key, t.finished[n-1].Largest) <= 0 {
		return fmt.Errorf("a key is not above the keys of table %06d, which precedes it",
			t.finished[n-1].Number)
	}
	if err := t.create(); err != nil {
		return err
	}
	t.data, t.encoding, t.shares = keyspace.IsData(key), block.Encoding{}, shares{}
	t.writer = table.NewWriter(t.file, table.WriterOptions{
		Number:     t.number,
		Database:   t.config.Database,
		Filter:     t.config.Filter,
		BlockBytes: t.config.BlockBytes,
	})
	return nil
}

func (t *tableWriter) encode(e block.Encoding) error {
	if e == t.encoding {
		return nil
	}
	t.encoding = e
	return t.failed(t.writer.Encode(e))
}

func (t *tableWriter) add(key []byte, e keyspace.Entry) error {
	if err := t.shares.add(key, e, t.writer.Stored()); err != nil {
		return err
	}
	return t.failed(t.writer.Add(key, e))
}

// addBlock adds a block of puts of one bucket to the open table as it is. If it returns false, the
// entries have to be added one by one.
func (t *tableWriter) addBlock(bucket uint64, b table.Block) (added bool, err error) {
	before := t.writer.Stored()
	if added, err = t.writer.AddBlock(b); added && err == nil {
		t.shares.addPuts(bucket, before, uint64(b.Keys.Len()), uint64(b.Keys.Bytes()+b.ValueBytes))
	}
	return added, t.failed(err)
}

func (t *tableWriter) full() bool {
	reach := t.config.Reach
	return t.writer.Size() >= t.config.TableBytes || reach > 0 && t.shares.pointed >= uint64(reach)
}

func (t *tableWriter) end() error {
	if t.writer == nil {
		return nil
	}
	s, err := t.writer.Finish()
	if err != nil {
		return t.failed(err)
	}
	t.writer = nil
	meta := &manifest.Table{
		Number:       t.number,
		Size:         s.Size,
		Entries:      s.Entries,
		Tombstones:   s.Tombstones,
		RawBytes:     s.RawBytes,
		DropEpoch:    t.config.DropEpoch,
		Compressed:   t.config.Compress,
		Smallest:     s.Smallest,
		Largest:      s.Largest,
		Dictionaries: s.Dictionaries,
	}
	t.shares.endBucket(s.Stored)
	t.shares.describe(meta)
	t.finished = append(t.finished, meta)
	return t.complete()
}

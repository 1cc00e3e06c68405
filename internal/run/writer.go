package run

import (
	"errors"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Writer writes one run.
type Writer struct {
	config  Config
	values  valueWriter
	tables  tableWriter
	sample  sample  // entries that wait for the choice of a codec
	chooser chooser // of codecs
	choice  choice  // for the current bucket, once sample.decided
	decoded []byte  // memory for values that have to be decoded

	// besideLarge says that the block in progress is not encoded with the choice's dictionary,
	// because of a value above the choice's limit.
	besideLarge bool

	droppedBucket uint64 // the last bucket that Dropped was asked about
	dropped       bool   // that bucket was dropped
}

// NewWriter returns a writer. It creates no file before the first entry.
func NewWriter(c Config) *Writer {
	if c.SampleBytes <= 0 {
		c.SampleBytes = DefaultSampleBytes
	}
	w := &Writer{config: c}
	w.values.files = files{config: &w.config, kind: folder.Values}
	w.tables.files = files{config: &w.config, kind: folder.Table}
	w.chooser = chooser{
		config:       &w.config,
		dictionaries: dictionaries{existing: c.Dictionaries, trained: make(map[uint64]bool)},
	}
	return w
}

// Add appends an entry. It skips entries of dropped buckets, and those that only record a drop.
// Keys must be strictly increasing.
func (w *Writer) Add(key []byte, e keyspace.Entry) error {
	if w.skips(key) {
		return nil
	}
	if e.Kind == keyspace.KindDelete {
		e = keyspace.Entry{Kind: e.Kind}
	}
	var err error
	if e.Dictionary != 0 && !w.config.Compress { // uncompressed, it may belong in a value file
		if e, err = w.chooser.dictionaries.decode(e, nil); err != nil {
			return err
		}
	}
	if e, err = w.values.separate(e); err != nil {
		return err
	}
	return w.collect(key, e)
}

// Files returns how many files are complete. A job can check for cancellation when it grows.
func (w *Writer) Files() int { return len(w.tables.finished) + len(w.values.finished) }

// StopCompressing makes the writer put all further entries into uncompressed tables with the given
// Reach.
func (w *Writer) StopCompressing(reach int64) error {
	if err := w.release(partOfBucket); err != nil {
		return err
	}
	err := w.endTable()
	w.config.Compress, w.config.Reach = false, reach
	return err
}

// Finish completes the open files and returns all files of the run. An empty run has none.
func (w *Writer) Finish() (Output, error) {
	if err := w.release(wholeBucket); err != nil {
		return Output{}, err
	}
	if err := w.tables.end(); err != nil {
		return Output{}, err
	}
	if err := w.values.end(); err != nil {
		return Output{}, err
	}
	described, err := w.chooser.dictionaries.describe(w.tables.finished)
	return Output{w.tables.finished, w.values.finished, described}, err
}

// Abort removes every file that the writer created.
func (w *Writer) Abort() error { return errors.Join(w.tables.abort(), w.values.abort()) }

// Close closes the open files and leaves everything on disk. A caller that must not remove files
// uses it in place of Finish and Abort; after either, it does nothing.
func (w *Writer) Close() error { return errors.Join(w.tables.close(), w.values.close()) }

// skips reports whether key does not belong in a table. Keys of a bucket are adjacent, so the
// answer for its first key serves the others.
func (w *Writer) skips(key []byte) bool {
	if _, marker := keyspace.ParseDropped(key); marker {
		return true
	}
	if w.config.Dropped == nil {
		return false
	}
	id, ok := keyspace.BucketOf(key)
	if !ok {
		return false
	}
	if id != w.droppedBucket {
		w.droppedBucket, w.dropped = id, w.config.Dropped(id)
	}
	return w.dropped
}

// write adds an entry to the table that its key belongs in.
func (w *Writer) write(key []byte, e keyspace.Entry) error {
	if err := w.prepareTable(key); err != nil {
		return err
	}
	encoding, err := w.encodingFor(e)
	if err != nil {
		return err
	}
	if err := w.tables.encode(encoding); err != nil {
		return err
	}
	encoder := encoding.Encoder
	if e.Dictionary != 0 && (encoder == nil || encoder.Dictionary.Number != e.Dictionary) {
		if e, err = w.chooser.dictionaries.decode(e, w.decoded[:0]); err != nil {
			return err
		}
		w.decoded = e.Value
	}
	if err := w.tables.add(key, e); err != nil {
		return err
	}
	return w.endFullTable()
}

// prepareTable makes sure that a table is open that may hold key.
func (w *Writer) prepareTable(key []byte) error {
	if w.tables.mustEndBefore(key) {
		if err := w.endTable(); err != nil {
			return err
		}
	}
	return w.tables.open(key)
}

func (w *Writer) endFullTable() error {
	if !w.tables.full() {
		return nil
	}
	w.tables.filled++
	return w.endTable()
}

// endTable ends the open table, if any. The next one gets a choice of its own.
func (w *Writer) endTable() error {
	w.sample.decided = false
	return w.tables.end()
}

// Package run writes one sorted run: a stream of entries in key order, cut into tables, and the
// large values among them, cut into value files.
//
// Flushes and compactions read different things and decide differently what to keep; what they
// write is the same, and it is here. No table has both catalog entries and user data, so that jobs
// on one do not involve the other. A [Writer] is not safe for concurrent use. It syncs the files
// but not the directory, and it does not tell the manifest: the job returns the tables in an edit.
package run

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Config says where a run is written and how.
type Config struct {
	FS         vfs.Files
	Dir        string
	Database   [16]byte
	NextNumber func() uint64 // hands out file numbers
	TableBytes int64         // a table is closed when it has this many bytes
	Reach      int64         // or points to so many in value files; 0 for no bound
	BlockBytes int           // as in [table.WriterOptions]
	Compress   bool          // compress blocks that shrink
	Patterns   bool          // encode values by what those of a bucket have in common
	Sample     int           // bytes of a bucket's values that decide on that; 0 for the default
	Spread     Spread        // of the values that the run will have; may be nil
	Filter     bool          // give each table a filter: not worth it in the bottom run
	Values     Values
	Cuts       [][]byte // no table reaches from below one of these keys to it or beyond; in order

	// Dropped reports whether a bucket was dropped; what belongs to it is left out. DropEpoch is
	// the manifest's epoch that Dropped knows. A nil Dropped knows of no dropped bucket.
	Dropped   func(id uint64) bool
	DropEpoch uint64

	Dictionaries []*block.Dictionary // those that there are, by number
}

// Output is the files of a finished run.
type Output struct {
	Tables       []*manifest.Table
	Values       []manifest.ValueFile
	Dictionaries []manifest.Dictionary // that the tables refer to
}

// Writer writes one run.
type Writer struct {
	config  Config
	tables  []*manifest.Table
	number  uint64 // of the open table
	file    vfs.File
	table   *table.Writer // nil between tables
	data    bool          // the open table holds user data, and no catalog entries
	shares  shares        // of the open table
	values  valueWriter
	choice  choice         // of the codec
	decode  []byte         // memory for values that have to be decoded
	encoded block.Encoding // how the open table's values are encoded

	bucket uint64 // the bucket that the last entry belongs to
	gone   bool   // that bucket was dropped
}

const nameSuffix = ".table"

// Name returns the name of the table file with the given number.
func Name(number uint64) string { return fmt.Sprintf("%06d%s", number, nameSuffix) }

// ParseName returns the number of the table that a file name stands for.
func ParseName(name string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, nameSuffix)
	if !ok {
		return 0, false
	}
	return vfs.ParseNumber(digits)
}

// NewWriter returns a writer that has created nothing yet.
func NewWriter(c Config) *Writer {
	if c.Sample <= 0 {
		c.Sample = defaultSample
	}
	return &Writer{config: c, values: valueWriter{config: c}}
}

// Add appends an entry, unless it belongs to a dropped bucket or only says that one was dropped.
// Keys must be strictly increasing. It reports whether the entry completed a file, which is where a
// job may look whether it is to go on.
func (w *Writer) Add(key []byte, e keyspace.Entry) (completed bool, err error) {
	if w.leftOut(key) {
		return false, nil
	}
	if e.Kind == keyspace.KindDelete {
		e = keyspace.Entry{Kind: e.Kind}
	}
	if e.Dictionary != 0 && !w.config.Compress { // a large one may belong elsewhere then
		if e, err = w.decoded(e, nil); err != nil {
			return false, err
		}
	}
	files := len(w.values.files)
	if e, err = w.values.place(e); err != nil {
		return false, err
	}
	completed, err = w.hold(key, e)
	return completed || len(w.values.files) > files, err
}

// Uncompressed has what follows in tables that are not compressed, with the given Reach.
func (w *Writer) Uncompressed(reach int64) error {
	if _, err := w.release(false); err != nil {
		return err
	}
	if w.table != nil {
		if err := w.close(); err != nil {
			return err
		}
	}
	w.config.Compress, w.config.Reach = false, reach
	w.values.config = w.config
	w.choice.made = false
	return nil
}

// write adds an entry to a table, as [Writer.Add] does.
func (w *Writer) write(key []byte, e keyspace.Entry) (completed bool, err error) {
	if err := w.prepare(key); err != nil {
		return false, err
	}
	if e, err = w.encode(e); err != nil {
		return false, err
	}
	if err := w.shares.add(key, e, w.table.Stored()); err != nil {
		return false, err
	}
	if err := w.table.Add(key, e); err != nil {
		return false, fmt.Errorf("write table %06d: %w", w.number, err)
	}
	reach := w.config.Reach
	if w.table.Size() < w.config.TableBytes && (reach <= 0 || w.shares.pointed < uint64(reach)) {
		return false, nil
	}
	return true, w.close()
}

// prepare makes sure that a table is open in which key may be.
func (w *Writer) prepare(key []byte) error {
	if cut := w.passesCut(key); w.table != nil && (cut || keyspace.IsData(key) != w.data) {
		if err := w.close(); err != nil {
			return err
		}
	}
	if w.table != nil {
		return nil
	}
	if n := len(w.tables); n > 0 && bytes.Compare(key, w.tables[n-1].Largest) <= 0 {
		return fmt.Errorf("a key is not above those of table %06d, which comes before it",
			w.tables[n-1].Number)
	}
	w.data = keyspace.IsData(key)
	return w.open()
}

// encode makes the open table encode values as it was chosen, and returns the entry as it can take
// it.
func (w *Writer) encode(e keyspace.Entry) (keyspace.Entry, error) {
	chosen, err := w.suited(e)
	if err != nil {
		return e, err
	}
	if chosen != w.encoded {
		w.encoded = chosen
		if err := w.table.Encode(chosen); err != nil {
			return e, fmt.Errorf("write table %06d: %w", w.number, err)
		}
	}
	encoder := w.encoded.Encoder
	if e.Dictionary == 0 || encoder != nil && encoder.Dictionary.Number == e.Dictionary {
		return e, nil
	}
	if e, err = w.decoded(e, w.decode[:0]); err == nil {
		w.decode = e.Value
	}
	return e, err
}

// Finish completes the last files and returns all of them. An empty run has none.
func (w *Writer) Finish() (Output, error) {
	if _, err := w.release(true); err != nil {
		return Output{}, err
	}
	if w.table != nil {
		if err := w.close(); err != nil {
			return Output{}, err
		}
	}
	if err := w.values.finish(); err != nil {
		return Output{}, err
	}
	dictionaries, err := w.describeDictionaries()
	return Output{w.tables, w.values.files, dictionaries}, err
}

// Abort removes every file that the writer has made.
func (w *Writer) Abort() error {
	var errs []error
	if w.table != nil {
		w.table = nil
		errs = append(errs, w.file.Close(), w.remove(w.number))
	}
	for _, t := range w.tables {
		errs = append(errs, w.remove(t.Number))
	}
	w.tables = nil
	return errors.Join(append(errs, w.values.abort())...)
}

// Close closes the open files and leaves all that was written where it is. It is for who may not
// remove files, in place of Finish and Abort; behind those there is nothing for it to do.
func (w *Writer) Close() error {
	var err error
	if w.table != nil {
		w.table, err = nil, w.file.Close()
	}
	return errors.Join(err, w.values.close())
}

// leftOut reports whether key has no place in a table. Keys of one bucket are neighbours, so the
// answer for the last bucket is nearly always the answer.
func (w *Writer) leftOut(key []byte) bool {
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
	if id != w.bucket {
		w.bucket, w.gone = id, w.config.Dropped(id)
	}
	return w.gone
}

// passesCut reports whether key is the first at or beyond a cut.
func (w *Writer) passesCut(key []byte) (passed bool) {
	for len(w.config.Cuts) > 0 && bytes.Compare(key, w.config.Cuts[0]) >= 0 {
		w.config.Cuts, passed = w.config.Cuts[1:], true
	}
	return passed
}

func (w *Writer) remove(number uint64) error {
	return w.config.FS.Remove(filepath.Join(w.config.Dir, Name(number)))
}

func (w *Writer) open() error {
	c := w.config
	w.number = c.NextNumber()
	file, err := c.FS.Create(filepath.Join(c.Dir, Name(w.number)))
	if err != nil {
		return fmt.Errorf("create table %06d: %w", w.number, err)
	}
	w.file, w.shares, w.encoded = file, shares{}, w.choice.encoding
	w.table = table.NewWriter(file, table.WriterOptions{
		Number:     w.number,
		Database:   c.Database,
		Encoding:   w.encoded,
		Filter:     c.Filter,
		BlockBytes: c.BlockBytes,
	})
	return nil
}

func (w *Writer) close() error {
	s, err := w.table.Finish()
	if err != nil {
		return fmt.Errorf("write table %06d: %w", w.number, err)
	}
	w.table, w.choice.made = nil, false
	meta := &manifest.Table{
		Number:     w.number,
		Size:       s.Size,
		Entries:    s.Entries,
		Tombstones: s.Tombstones,
		RawBytes:   s.RawBytes,
		DropEpoch:  w.config.DropEpoch,
		Compressed: w.config.Compress,
		Smallest:   s.Smallest,
		Largest:    s.Largest,
	}
	meta.Dictionaries = s.Dictionaries
	w.shares.end(s.Stored)
	w.shares.describe(meta)
	w.tables = append(w.tables, meta)
	if err := errors.Join(w.file.Named(), w.file.Close()); err != nil {
		return fmt.Errorf("close table %06d: %w", w.number, err)
	}
	return nil
}

package run

import (
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// sample is entries that wait until a codec is chosen by them: what comes first of each bucket, and
// of each further table that it continues in.
type sample struct {
	bucket  uint64 // of the last entry
	data    bool   // that entry is user data of the bucket
	decided bool   // the choice is made for the bucket and the open table
	copied  bool   // blocks of the bucket were copied, so the sample is not all of it
	entries []sampleEntry
	memory  []byte // of their keys and values
	bytes   int    // of the entries
}

// sampleEntry is an entry of a sample.
type sampleEntry struct {
	key   []byte
	entry keyspace.Entry
}

// add copies an entry to the sample.
func (s *sample) add(key []byte, e keyspace.Entry) {
	key = s.keep(key)
	if e.Value != nil {
		e.Value = s.keep(e.Value)
	}
	s.entries = append(s.entries, sampleEntry{key, e})
	s.bytes += len(key) + e.Size()
}

// keep returns a copy of p that is valid until the sample is empty.
func (s *sample) keep(p []byte) []byte {
	from := len(s.memory)
	s.memory = append(s.memory, p...)
	return s.memory[from:len(s.memory):len(s.memory)]
}

// empty forgets the entries, and keeps their memory.
func (s *sample) empty() {
	clear(s.entries)
	s.entries, s.memory, s.bytes = s.entries[:0], s.memory[:0], 0
}

// collect adds an entry to the sample, or writes it if the choice is made.
func (w *Writer) collect(key []byte, e keyspace.Entry) error {
	if err := w.enterBucket(key); err != nil {
		return err
	}
	s := &w.sample
	if !s.decided && !(s.data && w.config.Patterns && w.config.Compress) { // nothing to choose
		plain, err := w.chooser.plain()
		if err != nil {
			return err
		}
		s.decided, w.choice = true, choice{encoding: plain}
	}
	if s.decided || w.config.neverEncodes(e) {
		if err := w.release(partOfBucket); err != nil {
			return err
		}
		return w.write(key, e)
	}
	if s.add(key, e); s.bytes < w.config.SampleBytes {
		return nil
	}
	return w.release(partOfBucket)
}

// enterBucket makes the bucket of key the current one. The entries that wait, if any, end the
// previous bucket.
func (w *Writer) enterBucket(key []byte) error {
	s := &w.sample
	bucket, data := keyspace.BucketOf(key)
	if data = data && keyspace.IsData(key); data == s.data && bucket == s.bucket {
		return nil
	}
	err := w.release(wholeBucket)
	s.bucket, s.data, s.decided, s.copied = bucket, data, false, false
	return err
}

// release makes the choice by the entries that wait, and writes them. The choice holds for what
// follows if the sample was large enough, and no table is full yet.
func (w *Writer) release(of extent) error {
	s := &w.sample
	if len(s.entries) == 0 {
		return nil
	}
	values, err := w.sampleValues()
	if err != nil {
		return err
	}
	if s.copied {
		of = partOfBucket
	}
	if w.choice, err = w.chooser.choose(s.bucket, values, of); err != nil {
		return err
	}
	w.besideLarge = false
	filled := w.tables.filled
	for _, x := range s.entries {
		if err := w.write(x.key, x.entry); err != nil {
			return err
		}
	}
	s.empty()
	s.decided = w.choice.sure && w.tables.filled == filled
	return nil
}

// sampleValues returns the values of the sample, decoded.
func (w *Writer) sampleValues() (values [][]byte, err error) {
	for _, x := range w.sample.entries {
		if x.entry.Kind != keyspace.KindPut {
			continue
		}
		e, err := w.chooser.dictionaries.decode(x.entry, nil)
		if err != nil {
			return nil, err
		}
		values = append(values, e.Value)
	}
	return values, nil
}

// encodingFor returns how the value of the next entry of the open table is stored: as chosen, but a
// value above the choice's limit starts a block of plain values of besideLargeBytes.
func (w *Writer) encodingFor(e keyspace.Entry) (block.Encoding, error) {
	c := &w.choice
	if c.encoding.Encoder == nil {
		if w.config.neverEncodes(e) { // it may precede the choice
			return w.chooser.plain()
		}
		return c.encoding, nil
	}
	stays := w.besideLarge && w.tables.writer.Pending() < besideLargeBytes
	if w.besideLarge = e.Size() > c.limit || stays; w.besideLarge {
		return w.chooser.plain()
	}
	return c.encoding, nil
}

package run

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

const (
	// defaultSample is how many bytes of a bucket's values decide on their encoding.
	defaultSample = 1 << 20
	// sampleEntries is the most that a sample has, however short values are.
	sampleEntries = 16 << 10
	// maxDictionaries is how many a database may have, each of which stays in memory and in the
	// manifest.
	maxDictionaries = 16
)

// choice is how the values of the bucket that is being written are encoded. It is made anew for
// each bucket, and for each table of it, by a sample of what comes first; the entries of the sample
// wait until it is made.
type choice struct {
	bucket   uint64 // of the last entry
	data     bool   // that entry is user data of the bucket
	made     bool
	encoding block.Encoding
	waiting  []waiting
	bytes    int // of the values in waiting

	compressor *block.Compressor
	encoder    *block.Encoder      // the last one that was used
	trained    map[uint64]bool     // buckets for which a new dictionary was tried
	new        []*block.Dictionary // those made here
}

// waiting is an entry of a sample.
type waiting struct {
	key   []byte
	entry keyspace.Entry
}

// hold adds an entry to the sample, or writes it if the choice is made.
func (w *Writer) hold(key []byte, e keyspace.Entry) (completed bool, err error) {
	c := &w.choice
	bucket, data := keyspace.BucketOf(key)
	if data = data && keyspace.IsData(key); data != c.data || bucket != c.bucket {
		if completed, err = w.release(true); err != nil {
			return completed, err
		}
		c.bucket, c.data, c.made = bucket, data, false
	}
	if !c.made && !w.mayChoose() {
		c.made = true
		if c.encoding, err = w.plain(); err != nil {
			return completed, err
		}
	}
	if c.made {
		more, err := w.write(key, e)
		return completed || more, err
	}
	e.Value = bytes.Clone(e.Value)
	c.waiting = append(c.waiting, waiting{bytes.Clone(key), e})
	c.bytes += e.Size()
	if c.bytes < w.config.Sample && len(c.waiting) < sampleEntries {
		return completed, nil
	}
	more, err := w.release(false)
	return completed || more, err
}

// release makes the choice and writes the entries that wait for it. If whole, they are all that
// there is of the bucket.
func (w *Writer) release(whole bool) (completed bool, err error) {
	c := &w.choice
	if len(c.waiting) == 0 {
		return false, nil
	}
	if c.encoding, err = w.choose(whole); err != nil {
		return false, err
	}
	sample := c.waiting
	c.waiting, c.bytes, c.made = nil, 0, true
	for _, x := range sample {
		more, err := w.write(x.key, x.entry)
		if err != nil {
			return false, err
		}
		completed = completed || more
	}
	c.made = true // also if a table was completed meanwhile
	return completed, nil
}

// choose returns the encoding that suits the entries that wait.
func (w *Writer) choose(whole bool) (block.Encoding, error) {
	plain, err := w.plain()
	if err != nil || !w.mayChoose() {
		return plain, err
	}
	values, err := w.sample()
	if err != nil {
		return block.Encoding{}, err
	}
	t := newTrial(values, w.config.Sample, whole)
	if !t.large() {
		return w.usual(plain)
	}
	if t.looksRandom() {
		return plain, nil
	}
	least, err := t.size(plain)
	if err != nil {
		return block.Encoding{}, err
	}
	encoder, size, err := w.bestEncoder(t)
	if err != nil || encoder == nil || size > t.raw-t.raw/rawShare || size > least+least/aloneShare {
		return plain, err
	}
	w.use(encoder)
	return block.Encoding{Encoder: encoder}, nil
}

// usual returns the encoding with the dictionary that the bucket has, or else plain.
func (w *Writer) usual(plain block.Encoding) (block.Encoding, error) {
	d := w.newest(w.choice.bucket)
	if d == nil {
		return plain, nil
	}
	encoder, err := w.encoderOf(d)
	return block.Encoding{Encoder: encoder}, err
}

// mayChoose reports whether there is more than one encoding to choose from.
func (w *Writer) mayChoose() bool {
	return w.config.Patterns && w.config.Compress && w.choice.data
}

// plain returns the encoding without a dictionary.
func (w *Writer) plain() (e block.Encoding, err error) {
	if !w.config.Compress {
		return e, nil
	}
	if w.choice.compressor == nil {
		w.choice.compressor, err = block.NewCompressor()
	}
	return block.Encoding{Compressor: w.choice.compressor}, err
}

// sample returns the values that wait, as they are.
func (w *Writer) sample() (values [][]byte, err error) {
	for _, x := range w.choice.waiting {
		if x.entry.Kind != keyspace.KindPut {
			continue
		}
		e, err := w.decoded(x.entry, nil)
		if err != nil {
			return nil, err
		}
		values = append(values, e.Value)
	}
	return values, nil
}

// bestEncoder returns the encoder with the bucket's dictionary, or with a new one if that does not
// fit any more, and the size of what it makes of the trial; nil if there is none.
func (w *Writer) bestEncoder(t *trial) (best *block.Encoder, size int, err error) {
	if d := w.newest(w.choice.bucket); d != nil {
		if best, err = w.encoderOf(d); err != nil {
			return nil, 0, err
		}
		if size, err = t.size(block.Encoding{Encoder: best}); err != nil || t.fits(size, d.Fit) {
			return best, size, err
		}
	}
	if !w.mayTrain(best != nil) {
		return best, size, nil
	}
	made, madeSize, err := w.train(t)
	if err != nil || made == nil || best != nil && madeSize > size-size/retrainShare {
		return best, size, err
	}
	return made, madeSize, nil
}

// train returns an encoder with a new dictionary, and the size of what it makes of the trial with a
// share of its own; nil if the sample is not worth one.
func (w *Writer) train(t *trial) (*block.Encoder, int, error) {
	data := t.train()
	if data == nil {
		return nil, 0, nil
	}
	encoder, err := block.NewDictionary(0, w.choice.bucket, 0, data).NewEncoder()
	if err != nil {
		return nil, 0, err
	}
	size, err := t.size(block.Encoding{Encoder: encoder})
	encoder.Dictionary.Fit = t.fit(size)
	return encoder, size + t.share(data), err
}

// mayTrain reports whether a new dictionary may be tried for the bucket: once, and as long as there
// are not too many.
func (w *Writer) mayTrain(has bool) bool {
	c := &w.choice
	if c.trained[c.bucket] || !has && len(w.config.Dictionaries)+len(c.new) >= maxDictionaries {
		return false
	}
	if c.trained == nil {
		c.trained = make(map[uint64]bool)
	}
	c.trained[c.bucket] = true
	return true
}

// newest returns the last dictionary that was made for a bucket, or nil.
func (w *Writer) newest(bucket uint64) *block.Dictionary {
	for _, all := range [][]*block.Dictionary{w.choice.new, w.config.Dictionaries} {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Bucket == bucket {
				return all[i]
			}
		}
	}
	return nil
}

// encoderOf returns an encoder for d.
func (w *Writer) encoderOf(d *block.Dictionary) (e *block.Encoder, err error) {
	if w.choice.encoder == nil || w.choice.encoder.Dictionary != d {
		w.choice.encoder, err = d.NewEncoder()
	}
	return w.choice.encoder, err
}

// use notes that blocks refer to the encoder's dictionary, which gets a number if it is new.
func (w *Writer) use(e *block.Encoder) {
	w.choice.encoder = e
	if d := e.Dictionary; d.Number == 0 {
		d.Number = w.config.NextNumber()
		w.choice.new = append(w.choice.new, d)
	}
}

// decoded returns an entry with its value as it was, which is appended to dst if it is encoded.
func (w *Writer) decoded(e keyspace.Entry, dst []byte) (keyspace.Entry, error) {
	if e.Dictionary == 0 {
		return e, nil
	}
	d, err := w.dictionary(e.Dictionary)
	if err == nil {
		e.Value, err = d.Decode(dst, e.Value, e.Size())
	}
	e.Dictionary, e.Length = 0, 0
	return e, err
}

// describeDictionaries returns the dictionaries that the tables refer to.
func (w *Writer) describeDictionaries() ([]manifest.Dictionary, error) {
	var all []manifest.Dictionary
	for _, t := range w.tables {
		for _, number := range t.Dictionaries {
			d, err := w.dictionary(number)
			if err != nil {
				return nil, err
			}
			all = append(all, manifest.Dictionary{
				Number: number, Bucket: d.Bucket, Fit: d.Fit, Data: d.Data(),
			})
		}
	}
	return all, nil
}

// dictionary returns the dictionary with the given number.
func (w *Writer) dictionary(number uint64) (*block.Dictionary, error) {
	for _, all := range [][]*block.Dictionary{w.config.Dictionaries, w.choice.new} {
		for _, d := range all {
			if d.Number == number {
				return d, nil
			}
		}
	}
	return nil, corrupt.New("a table", 0, "it refers to dictionary %06d, which is not there", number)
}

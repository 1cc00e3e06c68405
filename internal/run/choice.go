package run

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

const (
	// defaultSample is how many bytes of a bucket's keys and values decide on its encoding.
	defaultSample = 1 << 20
	// largeShare of a sample, as a divisor, is a value that has no part in it, and is not encoded:
	// encoding it would take memory, and one that is read alone is not found by the hundred.
	largeShare = 16
)

// choice is how the values of the bucket that is being written are encoded. It is made anew for
// each bucket, and for each table of it, by a sample of what comes first; the entries of the sample
// wait until it is made.
type choice struct {
	bucket   uint64 // of the last entry
	data     bool   // that entry is user data of the bucket
	made     bool   // for the bucket and the table
	copied   bool   // blocks of the bucket were copied, so that a sample is not all of it
	encoding block.Encoding
	limit    int  // bytes of a value, if there is an encoder: larger ones are stored as plain
	aside    bool // the block in progress is plain because of a value above limit
	waiting  []waiting
	bytes    int // of the entries in waiting

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
	if completed, err = w.enter(key); err != nil {
		return completed, err
	}
	if !c.made && !w.mayChoose() {
		c.made = true
		if c.encoding, err = w.plain(); err != nil {
			return completed, err
		}
	}
	if c.made || w.large(e) {
		more, err := w.release(false)
		if err != nil {
			return completed || more, err
		}
		last, err := w.write(key, e)
		return completed || more || last, err
	}
	e.Value = bytes.Clone(e.Value)
	c.waiting = append(c.waiting, waiting{bytes.Clone(key), e})
	if c.bytes += len(key) + e.Size(); c.bytes < w.config.Sample {
		return completed, nil
	}
	more, err := w.release(false)
	return completed || more, err
}

// enter makes the bucket of key the current one; the entries that wait are all of another.
func (w *Writer) enter(key []byte) (completed bool, err error) {
	c := &w.choice
	bucket, data := keyspace.BucketOf(key)
	if data = data && keyspace.IsData(key); data == c.data && bucket == c.bucket {
		return false, nil
	}
	completed, err = w.release(true)
	c.bucket, c.data, c.made, c.copied = bucket, data, false, false
	return completed, err
}

// large reports whether a value is too large to be encoded.
func (w *Writer) large(e keyspace.Entry) bool { return e.Size() > w.config.Sample/largeShare }

// release makes the choice and writes the entries that wait for it. If whole, no others of the
// bucket follow.
func (w *Writer) release(whole bool) (completed bool, err error) {
	c := &w.choice
	if len(c.waiting) == 0 {
		return false, nil
	}
	sure := false
	if c.encoding, sure, err = w.choose(whole && !c.copied); err != nil {
		return false, err
	}
	c.aside = false
	sample := c.waiting
	c.waiting, c.bytes = nil, 0
	for _, x := range sample {
		more, err := w.write(x.key, x.entry)
		if err != nil {
			return false, err
		}
		completed = completed || more
	}
	c.made = sure && !completed
	return completed, nil
}

// choose returns the encoding that suits the entries that wait; sure is false if those are too few
// to tell. If whole, they are all that there is of the bucket.
func (w *Writer) choose(whole bool) (e block.Encoding, sure bool, err error) {
	if e, err = w.plain(); err != nil || !w.mayChoose() {
		return e, true, err
	}
	values, err := w.sample()
	if err != nil {
		return e, false, err
	}
	t := newTrial(values, w.config.Sample, whole)
	if t.looksRandom() {
		return e, t.large(), nil
	}
	var encoder *block.Encoder
	if t.large() {
		encoder, err = w.bestEncoder(t)
	} else if d := w.newest(w.choice.bucket); d != nil {
		encoder, err = w.encoderOf(d)
	}
	if err != nil || encoder == nil {
		return e, t.large(), err
	}
	alone, err := w.weigh(t, encoder, e)
	return alone, t.large(), err
}

// weigh returns the encoding by encoder, if that suits the trial, or else plain, and notes which
// values it is for.
func (w *Writer) weigh(
	t *trial, encoder *block.Encoder, plain block.Encoding,
) (block.Encoding, error) {
	share := 0
	if encoder.Dictionary.Number == 0 {
		share = t.share(encoder.Dictionary.Data())
	}
	alone := block.Encoding{Encoder: encoder}
	limit, err := t.limit(alone, plain, share)
	if err != nil || limit == 0 {
		return plain, err
	}
	w.choice.limit = min(limit, w.config.Sample/largeShare)
	w.use(encoder)
	return alone, nil
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
// fit any more; nil if there is none. The trial becomes a wide one before a new dictionary is made.
func (w *Writer) bestEncoder(t *trial) (best *block.Encoder, err error) {
	best, _, fits, err := w.present(t)
	if err != nil || fits || !w.mayTrain(t.whole) {
		return best, err
	}
	w.widen(t)
	best, size, fits, err := w.present(t)
	if err != nil || fits {
		return best, err
	}
	made, madeSize, err := w.train(t)
	if err != nil || made == nil || best != nil && madeSize > size-size/retrainShare {
		return best, err
	}
	return made, nil
}

// present returns the encoder with the bucket's dictionary, the size of what it makes of the trial,
// and whether it fits that; nil if there is none.
func (w *Writer) present(t *trial) (e *block.Encoder, size int, fits bool, err error) {
	d := w.newest(w.choice.bucket)
	if d == nil {
		return nil, 0, false, nil
	}
	if e, err = w.encoderOf(d); err != nil {
		return nil, 0, false, err
	}
	size, err = t.size(block.Encoding{Encoder: e})
	return e, size, t.fits(size, d.Fit), err
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

// mayTrain reports whether a new dictionary may be tried for the bucket, which is small or not:
// once, and as long as there are not too many.
func (w *Writer) mayTrain(small bool) bool {
	c := &w.choice
	n := len(w.config.Dictionaries) + len(c.new)
	if c.trained[c.bucket] || n >= maxDictionaries || small && n >= maxDictionaries/2 {
		return false
	}
	if c.trained == nil {
		c.trained = make(map[uint64]bool)
	}
	c.trained[c.bucket] = true
	return true
}

// asideBytes is how many bytes of values a block has at least, if it is plain because of a value
// above the limit. What follows of smaller ones goes into it, so that there are no tiny blocks.
const asideBytes = 8 << 10

// suited returns the encoding for an entry, which is the next of the open table.
func (w *Writer) suited(e keyspace.Entry) (block.Encoding, error) {
	c := &w.choice
	if c.encoding.Encoder == nil {
		if w.large(e) { // it had no part in the choice, which may not be made yet
			return w.plain()
		}
		return c.encoding, nil
	}
	if above := e.Size() > c.limit; !above && !(c.aside && w.table.Pending() < asideBytes) {
		c.aside = false
		return c.encoding, nil
	}
	c.aside = true
	return w.plain()
}

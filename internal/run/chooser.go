package run

import "github.com/stoatdb/stoat/internal/block"

// chooser chooses codecs: it tries the candidates on a sample, and lets codec.go decide.
type chooser struct {
	config       *Config
	dictionaries dictionaries
	compressor   *block.Compressor
}

// plain returns the encoding without a dictionary.
func (c *chooser) plain() (e block.Encoding, err error) {
	if !c.config.Compress {
		return e, nil
	}
	if c.compressor == nil {
		c.compressor, err = block.NewCompressor()
	}
	return block.Encoding{Compressor: c.compressor}, err
}

// choose returns how to store the values of a bucket, by a sample of it.
func (c *chooser) choose(bucket uint64, sample [][]byte, of extent) (choice, error) {
	encoding, err := c.plain()
	if err != nil {
		return choice{}, err
	}
	t := newTrial(sample, c.config.SampleBytes, of)
	plain := choice{encoding: encoding, sure: t.enough()}
	if t.looksRandom() {
		return plain, nil
	}
	encoder, err := c.bestEncoder(bucket, t)
	if err != nil || encoder == nil {
		return plain, err
	}
	dictionaryBytes := 0
	if encoder.Dictionary.Number == 0 {
		dictionaryBytes = t.share(encoder.Dictionary)
	}
	alone := block.Encoding{Encoder: encoder}
	classes, err := t.weigh(alone, encoding)
	if err != nil {
		return plain, err
	}
	limit := encodedLimit(classes, dictionaryBytes)
	if limit == 0 || leavesTinyBlocks(t.pieces, limit) {
		return plain, nil
	}
	c.dictionaries.use(encoder, c.config.NextNumber)
	return choice{alone, min(limit, c.config.SampleBytes/neverShare), plain.sure}, nil
}

// bestEncoder returns the encoder to weigh against plain blocks, or nil if there is none: with the
// bucket's newest dictionary, or with a new one if that no longer fits the sample and the new one
// is worth it. A new one is trained on values from the whole bucket.
func (c *chooser) bestEncoder(bucket uint64, t *trial) (*block.Encoder, error) {
	present, err := c.dictionaries.newest(bucket)
	if err != nil || !t.enough() {
		return present, err
	}
	_, fits, err := t.try(present)
	if err != nil || fits || !c.dictionaries.mayTrain(bucket, t.of) {
		return present, err
	}
	c.dictionaries.trained[bucket] = true
	c.widen(bucket, t)
	presentBytes, fits, err := t.try(present)
	if err != nil || fits {
		return present, err
	}
	made, err := t.train(bucket)
	if err != nil || made == nil {
		return present, err
	}
	madeBytes, err := t.fit(made)
	if err != nil {
		return nil, err
	}
	if present != nil && !worthReplacing(presentBytes, madeBytes+t.share(made.Dictionary)) {
		return present, nil
	}
	return made, nil
}

// widen makes t a trial of values from the whole bucket, if there is a [Sampler] and t is not one
// already.
func (c *chooser) widen(bucket uint64, t *trial) {
	if c.config.Sampler == nil || t.of == wholeBucket {
		return
	}
	var values [][]byte
	for e := range c.config.Sampler(bucket, c.config.SampleBytes) {
		if c.config.neverEncodes(e) {
			continue
		}
		e, err := c.dictionaries.decode(e, nil)
		if err != nil {
			break // writing the entry will report it
		}
		values = append(values, e.Value)
	}
	if wide := newTrial(values, c.config.SampleBytes, partOfBucket); wide.enough() {
		*t = *wide
	}
}

package run

import (
	"math"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// The choice of a codec: this file decides, chooser.go acts, trial.go measures.
//
// Values are compressed together, in blocks, by zstd, or encoded one by one, with a dictionary made
// for their bucket by package pattern. Blocks are smaller and faster to scan; a get decodes a
// single value in a hundredth of the time that a block takes, and caches nothing.
//
// The writer tries both on pieces of a sample of the bucket, and weighs bytes against time for each
// [sizeClass] of values. The result is the length up to which values are encoded one by one. Time
// is counted, not measured, so that the same data gives the same files: the steps of either
// decoder, each with the nanoseconds that docs/design/pattern.md measured.

// What is sampled, and how much of it is enough.
const (
	// DefaultSampleBytes of a bucket's keys and values decide on its codec. They wait in memory.
	DefaultSampleBytes = 1 << 20
	// neverShare of a sample, as a divisor, is the length above which a value is never encoded and
	// has no part in the choice: encoding it would take memory, and a bucket has few such values.
	neverShare = 16
	// sureShare of a full sample, as a divisor, is enough to decide for what follows it;
	// leastShare is enough if nothing does, and to train a dictionary.
	sureShare  = 8
	leastShare = 64
	// trialPieces pieces of the sample are stored in each way: a pieceShare of a full sample at
	// most, which is about a block, and half of what there is, to leave as much to train on.
	trialPieces = 4
	pieceShare  = SamplePoints
	// trainShare of a full sample at most, as a divisor, trains a dictionary.
	trainShare = 4
)

// What is weighed. Shares are divisors.
const (
	// rawShare of their bytes is what encoding values must save over storing them as they are.
	rawShare = 12
	// smallMost is how long a small value may be: a block has dozens.
	smallMost = 512
	// mediumMost is how long a value may be that does not deserve a block of its own.
	mediumMost = 4 << 10
	// evidenceShare of all bytes is enough to judge a size class by.
	evidenceShare = 16
	// smallShare of their bytes in blocks is what small values may take beyond that, because
	// reading one of them takes so much less time and memory.
	smallShare = 10
	// smallFactor and smallWork say how much longer all small values of a block may take to decode
	// one by one, in all and in nanoseconds for each: a get decodes one.
	smallFactor = 2
	smallWork   = 50
	// bytesPerNano is how many stored bytes are read and verified in a nanosecond, with files in
	// memory.
	bytesPerNano = 2
	// besideLargeBytes is how many bytes of values a block gets that starts with a value too long
	// to be encoded: smaller ones that follow fill it, so that there are no tiny blocks.
	besideLargeBytes = 8 << 10
	// leastBetween is how many bytes of encoded values there must be, on average, between those
	// that are too long, or their blocks would be tiny.
	leastBetween = 2 << 10
)

// When a dictionary is trained, and when it goes. Shares are divisors.
const (
	// retrainShare is what a new dictionary must save over the bucket's present one, and how much
	// worse that must have become before one is tried: values drift.
	retrainShare = 20
	// amortised is how many times the sample a new dictionary is expected to serve, unless the
	// sample is the whole bucket. Its bytes are weighed with the values.
	amortised = 16
	// maxDictionaries limits those of a database, as each is in memory and in the manifest. From
	// manyDictionaries on, replaced ones are phased out and small buckets get none.
	maxDictionaries  = 32
	manyDictionaries = maxDictionaries / 2
)

// choice is how the values of a bucket are stored.
type choice struct {
	encoding block.Encoding // of values of up to limit bytes, if it has a dictionary
	limit    int
	sure     bool // it holds for what follows the sample, too
}

// neverEncodes reports whether a value is too large to be encoded, whatever is chosen.
func (c *Config) neverEncodes(e keyspace.Entry) bool { return e.Size() > c.SampleBytes/neverShare }

// extent says whether a sample is all that the run has of its bucket.
type extent bool

const (
	partOfBucket extent = false
	wholeBucket  extent = true
)

// enough reports whether the trial decides for what follows its sample, if anything does.
func (t *trial) enough() bool {
	return t.sample >= t.full/sureShare || t.of == wholeBucket && t.sample >= t.full/leastShare
}

// mayTrain reports whether to try a new dictionary for the bucket of a sample: at most once in a
// run, and if there is room.
func (ds *dictionaries) mayTrain(bucket uint64, of extent) bool {
	n := len(ds.existing) + len(ds.added)
	return !ds.trained[bucket] && (n < manyDictionaries || n < maxDictionaries && of != wholeBucket)
}

// stillFits reports whether a dictionary does about as well as it did when it was trained. Both
// arguments are bytes stored for a thousand bytes.
func stillFits(now, trained uint64) bool { return now <= trained+trained/retrainShare }

// worthReplacing reports whether a new dictionary saves enough over the present one, by the bytes
// that each makes of a trial.
func worthReplacing(present, made int) bool { return made <= present-present/retrainShare }

// cost is what blocks of values take.
type cost struct{ bytes, work int }

// reading returns how long it takes to read the blocks and decode all values, in nanoseconds.
func (c cost) reading() int { return c.work + c.bytes/bytesPerNano }

// sizeClass is the values of a trial of similar length, and what they cost in either way.
type sizeClass struct {
	most     int // length of a value
	count    int
	raw      int // bytes of all values
	weighed  bool
	alone    cost // if encoded one by one
	together cost // if compressed in blocks
}

// suitsAlone reports whether the values are better encoded one by one. For small values this may
// cost up to a factor, because dozens share a block. Longer ones must not take more bytes or time.
func (c *sizeClass) suitsAlone() bool {
	alone, together := c.alone, c.together
	if alone.bytes > c.raw-c.raw/rawShare {
		return false
	}
	if c.most == smallMost {
		return alone.bytes <= together.bytes+together.bytes/smallShare &&
			alone.reading() <= smallFactor*together.reading()+smallWork*c.count
	}
	return alone.bytes <= together.bytes && alone.reading() <= together.reading()
}

// hasEvidence reports whether the class has enough of the trial's bytes to be weighed. The longest
// values are weighed however few they are.
func (c *sizeClass) hasEvidence(trialBytes int) bool {
	return c.raw >= trialBytes/evidenceShare || c.most == math.MaxInt
}

// encodedLimit returns how long values may be that are encoded one by one; 0 if none are. Classes
// ascend; those without evidence follow the shorter ones. dictionaryBytes is the part of the
// dictionary that the trial has to pay for.
func encodedLimit(classes []sizeClass, dictionaryBytes int) int {
	limit, raw, alone, together := 0, 0, dictionaryBytes, 0
	for i := range classes {
		c := &classes[i]
		if c.weighed {
			if !c.suitsAlone() {
				break
			}
			raw += c.raw
			alone += c.alone.bytes
			together += c.together.bytes
		}
		limit = c.most
	}
	if raw == 0 || alone > raw-raw/rawShare || alone > together+together/smallShare {
		return 0
	}
	return limit
}

// leavesTinyBlocks reports whether values of more than limit bytes lie so close together that what
// is between them does not fill blocks.
func leavesTinyBlocks(pieces [][][]byte, limit int) bool {
	bytes, stretches := 0, 0
	for _, piece := range pieces {
		within := false
		for _, value := range piece {
			if len(value) > limit {
				within = false
				continue
			}
			if bytes += len(value); !within {
				stretches++
			}
			within = true
		}
	}
	return stretches > len(pieces) && bytes/stretches < leastBetween
}

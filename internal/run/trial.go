package run

import (
	"encoding/binary"
	"math"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/pattern"
)

// trial measures what encodings make of a sample of values.
type trial struct {
	pieces  [][][]byte // of neighbouring values
	rest    [][]byte   // values that are in no piece
	raw     int        // bytes of the values in pieces
	sample  int        // bytes of all values
	full    int        // bytes of a sample of a larger bucket
	of      extent     // of this sample
	builder block.Builder
}

// newTrial returns a trial of neighbouring values: about full bytes, or fewer if that is the whole
// bucket.
func newTrial(values [][]byte, full int, of extent) *trial {
	t := &trial{full: full, of: of}
	for i := range trialPieces {
		part := values[len(values)*i/trialPieces : len(values)*(i+1)/trialPieces]
		var piece [][]byte
		total, size := 0, 0
		for _, value := range part {
			total += len(value)
		}
		t.sample += total
		most := min(full/pieceShare, total/2)
		for _, value := range part {
			if size < most && len(piece) < block.MaxEntries {
				piece = append(piece, value)
				size += len(value)
			} else {
				t.rest = append(t.rest, value)
			}
		}
		t.raw += size
		t.pieces = append(t.pieces, piece)
	}
	return t
}

// looksRandom reports whether encoding any of the pieces is most likely a waste.
func (t *trial) looksRandom() bool {
	for _, piece := range t.pieces {
		var all []byte
		for _, value := range piece {
			all = append(all, value...)
		}
		if !block.LooksRandom(all) {
			return false
		}
	}
	return true
}

// try returns how many bytes the encoder, which may be nil, makes of the pieces, and whether its
// dictionary still fits them.
func (t *trial) try(e *block.Encoder) (bytes int, fits bool, err error) {
	if e == nil {
		return 0, false, nil
	}
	c, err := t.measure(t.pieces, block.Encoding{Encoder: e})
	return c.bytes, stillFits(t.perMille(c.bytes), e.Dictionary.Fit), err
}

// fit returns how many bytes the encoder makes of the pieces, and notes it in its new dictionary.
func (t *trial) fit(e *block.Encoder) (bytes int, err error) {
	c, err := t.measure(t.pieces, block.Encoding{Encoder: e})
	e.Dictionary.Fit = t.perMille(c.bytes)
	return c.bytes, err
}

// perMille returns how many bytes a thousand bytes take if all pieces take so many.
func (t *trial) perMille(bytes int) uint64 { return uint64(bytes) * 1000 / uint64(max(1, t.raw)) }

// train returns an encoder with a new dictionary, or nil if the values are not worth one. It is
// trained on values that are in no piece, or the pieces would flatter it.
func (t *trial) train(bucket uint64) (*block.Encoder, error) {
	total := 0
	for _, value := range t.rest {
		total += len(value)
	}
	if total < t.full/leastShare {
		return nil, nil
	}
	most := t.full / trainShare
	stride := max(1, total/most)
	var samples [][]byte
	for i, size := 0, 0; i < len(t.rest) && size < most; i += stride {
		samples = append(samples, t.rest[i])
		size += len(t.rest[i])
	}
	trained := pattern.Train(samples)
	if trained == nil {
		return nil, nil
	}
	return block.NewDictionary(0, bucket, 0, trained.Append(nil)).NewEncoder()
}

// share returns how many bytes of a new dictionary the pieces have to pay for.
func (t *trial) share(d *block.Dictionary) int {
	served := t.sample
	if t.of != wholeBucket {
		served *= amortised
	}
	return len(d.Data()) * t.raw / max(1, served)
}

// weigh returns the size classes of the pieces, with what each costs by either encoding.
func (t *trial) weigh(alone, together block.Encoding) ([]sizeClass, error) {
	all := []sizeClass{{most: smallMost}, {most: mediumMost}, {most: math.MaxInt}}
	var weighed []sizeClass
	shortest := 0
	for _, c := range all {
		pieces := t.ofLength(shortest, &c)
		shortest = c.most + 1
		if c.count == 0 && c.most == math.MaxInt {
			continue
		}
		if c.weighed = c.hasEvidence(t.raw); c.weighed {
			var err error
			if c.alone, err = t.measure(pieces, alone); err != nil {
				return nil, err
			}
			if c.together, err = t.measure(pieces, together); err != nil {
				return nil, err
			}
		}
		weighed = append(weighed, c)
	}
	return weighed, nil
}

// ofLength returns the values of a size class, in pieces as long as those of the trial if possible,
// and counts them in c. shortest is the least length of such a value.
func (t *trial) ofLength(shortest int, c *sizeClass) (pieces [][][]byte) {
	full, last := t.full/pieceShare, 0
	for _, piece := range t.pieces {
		for _, value := range piece {
			if len(value) < shortest || len(value) > c.most {
				continue
			}
			if n := len(pieces); n == 0 || last >= full || len(pieces[n-1]) == block.MaxEntries {
				pieces, last = append(pieces, nil), 0
			}
			end := &pieces[len(pieces)-1]
			*end = append(*end, value)
			c.count++
			c.raw += len(value)
			last += len(value)
		}
	}
	return pieces
}

// measure returns what the blocks of pieces cost.
func (t *trial) measure(pieces [][][]byte, e block.Encoding) (c cost, err error) {
	var p []byte
	for _, piece := range pieces {
		if len(piece) == 0 {
			continue
		}
		t.builder.Reset()
		t.builder.Encode(e)
		for i, value := range piece {
			var key [2]byte
			binary.BigEndian.PutUint16(key[:], uint16(i))
			t.builder.Add(key[:], keyspace.Entry{Kind: keyspace.KindPut, Value: value})
		}
		if p, _, err = t.builder.AppendValues(p[:0]); err != nil {
			return cost{}, err
		}
		work, err := t.builder.Work(p)
		if err != nil {
			return cost{}, err
		}
		c.bytes, c.work = c.bytes+len(p), c.work+work
	}
	return c, nil
}

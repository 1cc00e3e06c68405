package run

import (
	"encoding/binary"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/pattern"
)

const (
	// A trial is this many pieces of a sample, each a pieceShare of a full one at most, about a block
	// and what a [Spread] takes from one place, and half as much as there is for it, so that as much
	// is left to make a dictionary of.
	trialPieces = 4
	pieceShare  = Places
	// trainShare of a full sample at most, as a divisor, makes a dictionary; leastShare has to be
	// there.
	trainShare = 4
	leastShare = 64
	// sureShare of a full sample, as a divisor, is enough to decide for what follows.
	sureShare = 8
	// amortised is how many times as much as the sample a new dictionary is taken to serve, unless
	// the sample is all there is.
	amortised = 16

	// aloneShare is how much larger, as a divisor, small values may be for decoding alone: reading one
	// of them takes no memory, and a hundredth of the time that a compressed block takes.
	aloneShare = 10
	// retrainShare of their size, as a divisor, is what a new dictionary must save.
	retrainShare = 20
	// rawShare of their size, as a divisor, is what an encoding must save over none.
	rawShare = 12
)

// trial measures what encodings make of a sample of values.
type trial struct {
	pieces  [][][]byte // of neighbouring values
	rest    [][]byte   // values that are in no piece
	raw     int        // bytes of the values in pieces
	sample  int        // bytes of all values
	full    int        // bytes of a sample that is not all there is
	whole   bool       // this one is
	builder block.Builder
}

// newTrial returns a trial of values, which are neighbours: of full bytes unless they are all there
// is.
func newTrial(values [][]byte, full int, whole bool) *trial {
	t := &trial{full: full, whole: whole}
	for i := range trialPieces {
		first, end := len(values)*i/trialPieces, len(values)*(i+1)/trialPieces
		var piece [][]byte
		size := 0
		total := 0
		for _, value := range values[first:end] {
			total += len(value)
		}
		t.sample += total
		most := min(full/pieceShare, total/2)
		for _, value := range values[first:end] {
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

// large reports whether there is enough to decide for what follows, if anything does.
func (t *trial) large() bool {
	return t.sample >= t.full/sureShare || t.whole && t.sample >= t.full/leastShare
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

// size returns how many bytes the blocks of the pieces take.
func (t *trial) size(e block.Encoding) (int, error) {
	c, err := t.measure(t.pieces, e)
	return c.size, err
}

// measure returns what the blocks of the pieces take.
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
		c.size, c.work = c.size+len(p), c.work+work
	}
	return c, nil
}

// train returns the binary form of a dictionary made of values that are in no piece, spread over
// the sample, or nil if it is not worth one. Values in pieces would flatter it.
func (t *trial) train() []byte {
	total := 0
	for _, value := range t.rest {
		total += len(value)
	}
	if total < t.full/leastShare {
		return nil
	}
	most := t.full / trainShare
	stride := max(1, total/most)
	var samples [][]byte
	for i, size := 0, 0; i < len(t.rest) && size < most; i += stride {
		samples = append(samples, t.rest[i])
		size += len(t.rest[i])
	}
	words := pattern.Train(samples)
	if words == nil {
		return nil
	}
	return words.Append(nil)
}

// fit returns how many bytes a thousand bytes take if all pieces take size.
func (t *trial) fit(size int) uint64 { return uint64(size) * 1000 / uint64(max(1, t.raw)) }

// fits reports whether size is about what a dictionary with this fit should make of the pieces.
func (t *trial) fits(size int, fit uint64) bool {
	return t.fit(size) <= fit+fit/retrainShare
}

// share returns which part of a new dictionary's bytes the pieces have to bear.
func (t *trial) share(dictionary []byte) int {
	served := t.sample
	if !t.whole {
		served *= amortised
	}
	return len(dictionary) * t.raw / max(1, served)
}

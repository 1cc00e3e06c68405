package run

import (
	"math"

	"github.com/stoatdb/stoat/internal/block"
)

// Values of different sizes are weighed apart: a bucket may have messages and documents.

const (
	// smallMost is how long a small value may be. Of such there are dozens in a block.
	smallMost = 512
	// mediumMost is how long a value may be that is not worth a block of its own.
	mediumMost = 4 << 10
	// evidenceShare of all bytes, as a divisor, makes it worth to look at values of up to that size.
	evidenceShare = 16
	// runLeast is how many bytes of encoded values there have to be, on average, from one that is too
	// large for that to the next.
	runLeast = 2 << 10

	// byteWork is how many stored bytes cost as much as a nanosecond of decoding: to read and to
	// verify them, with files in memory.
	byteWork = 2
	// smallFactor and smallWork say how much longer small values may take to decode one by one, when
	// all of a block are read: a get decodes one, and the calls around it take longer than that.
	smallFactor = 2
	smallWork   = 50
)

// cost is what values take.
type cost struct{ size, work int }

// read returns how long it takes to read the values, as [block.Work] does.
func (c cost) read() int { return c.work + c.size/byteWork }

// tier is the values of a trial that are about as long.
type tier struct {
	most   int // bytes of a value
	raw    int // bytes of all
	count  int
	pieces [][][]byte // as long as those of a trial, if possible
	last   int        // bytes of the last piece
}

// tiers returns the values in pieces by their size: small ones, medium ones and the others.
func (t *trial) tiers() [3]tier {
	tiers := [3]tier{{most: smallMost}, {most: mediumMost}, {most: math.MaxInt}}
	full := t.full / pieceShare
	for _, piece := range t.pieces {
		for _, value := range piece {
			x := &tiers[0]
			for i := 1; len(value) > x.most; i++ {
				x = &tiers[i]
			}
			x.add(value, full)
		}
	}
	return tiers
}

// add adds a value, to a new piece if the last one has most bytes.
func (x *tier) add(value []byte, most int) {
	if x.count == 0 || x.last >= most || len(x.pieces[len(x.pieces)-1]) == block.MaxEntries {
		x.pieces, x.last = append(x.pieces, nil), 0
	}
	end := &x.pieces[len(x.pieces)-1]
	*end = append(*end, value)
	x.count++
	x.raw += len(value)
	x.last += len(value)
}

// suits reports whether the values of the tier are to be encoded one by one, for which they take
// alone, and not in blocks, for which they take together. A factor in time counts for small ones
// only if it is a large one. Of others there are few in a block, which cannot take longer then.
func (x *tier) suits(alone, together cost) bool {
	if alone.size > x.raw-x.raw/rawShare {
		return false
	}
	if x.most == smallMost {
		return alone.size <= together.size+together.size/aloneShare &&
			alone.read() <= smallFactor*together.read()+smallWork*x.count
	}
	return alone.size <= together.size && alone.read() <= together.read()
}

// limit returns how long the values may be that are to be encoded one by one, by the encoding
// alone, and not as plain says: 0 if none are. share is which part of the dictionary they bear.
func (t *trial) limit(alone, plain block.Encoding, share int) (most int, err error) {
	var all, other cost
	raw, tiers := 0, t.tiers()
	for i := range tiers {
		x, last := &tiers[i], i == len(tiers)-1
		if x.count == 0 && last {
			break
		}
		if x.raw < t.raw/evidenceShare && !last {
			most = x.most
			continue
		}
		a, err := t.measure(x.pieces, alone)
		if err != nil {
			return 0, err
		}
		b, err := t.measure(x.pieces, plain)
		if err != nil {
			return 0, err
		}
		if !x.suits(a, b) {
			break
		}
		most, raw = x.most, raw+x.raw
		all.size, other.size = all.size+a.size, other.size+b.size
	}
	all.size += share
	if raw == 0 || all.size > raw-raw/rawShare || all.size > other.size+other.size/aloneShare ||
		!t.divides(most) {
		return 0, nil
	}
	return most, nil
}

// divides reports whether there is enough between values of more than most bytes for blocks of
// their own.
func (t *trial) divides(most int) bool {
	bytes, runs := 0, 0
	for _, piece := range t.pieces {
		within := false
		for _, value := range piece {
			if len(value) > most {
				within = false
				continue
			}
			if bytes += len(value); !within {
				runs++
			}
			within = true
		}
	}
	return runs <= len(t.pieces) || bytes/runs >= runLeast
}

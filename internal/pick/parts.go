package pick

import (
	"bytes"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
)

// A compaction of young runs into the bottom run is done in parts if it reads much: each has the
// next keys, and leaves a front ([manifest.Front]). So it takes little space besides what it
// replaces, and what is done stays done, whatever ends the rest.

// begun picks the next part of a compaction of which some are done.
func (p Picker) begun(v *manifest.Version) (Plan, bool) {
	front, ok := v.Front()
	if !ok {
		return Plan{}, false
	}
	return p.part(goOn(v, front), v), true // damage further on does not matter yet
}

// goOn returns the compaction of all that a front has not read yet.
func goOn(v *manifest.Version, front manifest.Front) Plan {
	runs := v.Young[front.At:]
	return Plan{
		Young: manifest.YoungRuns{Count: len(runs)}, Front: true, ToBottom: true, Bottom: met(v, runs),
	}
}

// part returns the first part of a plan, or the whole plan if that is not large, or not of young
// runs into the bottom run. A part ends behind a table that it reads, so of each run no more than
// one table lies on both sides. It counts what it may only move, too: whether that is so is not
// known for sure.
func (p Picker) part(next Plan, v *manifest.Version) Plan {
	if p.PartBytes == 0 || !next.ToBottom || next.Young.Count == 0 || next.End != nil {
		return next
	}
	rest, all := next.unread(v)
	if all <= p.PartBytes+p.PartBytes/2 { // rather than a tiny part at the end
		return next
	}
	size := uint64(0)
	for _, r := range rest {
		if size += r.bytes; size >= p.PartBytes {
			return next.upTo(append(bytes.Clone(r.last), 0), v)
		}
	}
	return next
}

// portion is what a compaction into the bottom run may write of a table.
type portion struct {
	last  []byte // the last key
	bytes uint64
}

// unread returns what a plan reads and its front has not read, in the order of the last keys, and
// how many bytes that is.
func (p Plan) unread(v *manifest.Version) (rest []portion, size uint64) {
	front, _ := v.Front()
	for run, t := range p.tables(v) {
		if p.Front && bytes.Compare(t.Largest, front.Done.End) < 0 {
			continue
		}
		r := portion{t.Largest, t.Size}
		if run < len(v.Young) {
			r.bytes += deferredIn(v, t)
		}
		rest = append(rest, r)
		size += r.bytes
	}
	slices.SortFunc(rest, func(a, b portion) int { return bytes.Compare(a.last, b.last) })
	return rest, size
}

// upTo returns the part of a plan that reads the keys below end.
func (p Plan) upTo(end []byte, v *manifest.Version) Plan {
	part := p
	part.End, part.Bottom = end, nil
	for run, t := range p.tables(v) {
		if run == len(v.Young) && bytes.Compare(t.Smallest, end) < 0 {
			part.Bottom = append(part.Bottom, t.Number)
		}
	}
	return part
}

package session

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Replicas without a token compare the ends of their logs by ranges, in the order of time, so that
// what changed last is together, at the end.

// Limits of ranges.
const (
	rangesMax = 1024 // in a frame
	opensMax  = 512  // in a frame, of ranges of one round
	splits    = 16   // parts of a range that is opened, at least, if it has as many ends
	listMax   = 32   // logs of a range that is listed when it is opened
)

// Ends is the ends of all logs, in order. It is immutable.
type Ends struct {
	Position Position // up to which these are
	All      []End    // ascending
}

// End is the end of a log with the time of its last entry.
type End struct {
	Time uint64
	Head
}

// bound is a place in the order of ends.
type bound struct {
	time uint64
	log  string // the first bytes of the id of a log
}

// less reports whether a bound is before another one.
func (b bound) less(other bound) bool {
	return cmp.Or(cmp.Compare(b.time, other.time), cmp.Compare(b.log, other.log)) < 0
}

// compare compares an end with a bound, which is before all ends that it is the beginning of.
func (e *End) compare(b bound) int {
	return cmp.Or(cmp.Compare(e.Time, b.time), cmp.Compare(string(e.Log[:]), b.log))
}

// Sort sorts ends.
func Sort(all []End) {
	slices.SortFunc(all, func(a, b End) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), bytes.Compare(a.Log[:], b.Log[:]))
	})
}

// between returns the shortest bound after one end and not after the next.
func between(a, b *End) bound {
	if a.Time < b.Time {
		return bound{time: b.Time}
	}
	n := 1
	for a.Log[n-1] == b.Log[n-1] && n < prefixSize {
		n++
	}
	return bound{b.Time, string(b.Log[:n])}
}

// index returns the number of ends before a bound.
func (e *Ends) index(b bound) int {
	i, _ := slices.BinarySearchFunc(e.All, b, func(end End, b bound) int { return end.compare(b) })
	return i
}

// domainRange is what fingerprints begin with.
const domainRange = "stoat.replica.range.v1"

// fingerprint is the first bytes of a hash of ends, under the nonces of a session.
type fingerprint [8]byte

// fingerprintOf returns the fingerprint of ends, without those of some logs.
func (s *Session) fingerprintOf(ends []End, without map[[prefixSize]byte]bool) (f fingerprint) {
	a, b := s.own.nonce[:], s.theirs.nonce[:]
	if string(a) > string(b) {
		a, b = b, a
	}
	sum := sha256.New()
	sum.Write(append(append([]byte(domainRange), a...), b...))
	var p []byte
	for i := range ends {
		e := &ends[i]
		if _, left := without[e.Log]; left {
			continue
		}
		p = append(p[:0], e.Log[:]...)
		p = append(binary.BigEndian.AppendUint64(p, e.Next), e.Hash[:]...)
		sum.Write(p)
	}
	copy(f[:], sum.Sum(nil))
	return f
}

// span is a range of ends that was announced.
type span struct {
	end   bound // behind it
	count uint64
	print fingerprint
}

// spans is a part of a round of ranges, each from the end of the one before, or the beginning of
// the range that was opened.
type spans struct {
	last bool // of the round
	all  []span
}

func (p *spans) append(dst []byte) []byte {
	dst = binary.AppendUvarint(appendFlag(dst, p.last), uint64(len(p.all)))
	before := uint64(0)
	for i := range p.all {
		s := &p.all[i]
		dst = wire.AppendBytes(binary.AppendUvarint(dst, s.end.time-before), s.end.log)
		dst = append(binary.AppendUvarint(dst, s.count), s.print[:]...)
		before = s.end.time
	}
	return dst
}

func parseSpans(p []byte) (*spans, error) {
	r := wire.NewReader(p)
	got := &spans{last: readFlag(&r)}
	got.all = make([]span, r.Count(rangesMax, 1+1+1+len(fingerprint{})))
	before := uint64(0)
	for i := range got.all {
		s := &got.all[i]
		s.end = bound{before + r.Uvarint(), string(r.Bytes(0, prefixSize))}
		if s.count = r.Uvarint(); s.end.time < before || s.count == 0 || s.count > 1<<32 {
			r.Fail("a range of %d logs", s.count)
		}
		before = s.end.time
		copy(s.print[:], r.Take(len(s.print)))
	}
	return got, r.End()
}

// How a sink goes on when it has compared the ranges of a round.
const (
	openRanges = 0 // those that differ; none: it has what the others are about
	openMore   = 1 // more of the ends are listed, and the others compared again
	openAll    = 2 // everything is listed
)

// open answers a round of ranges.
type open struct {
	how    byte
	ranges []int // ascending
}

func (o *open) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, o.how), uint64(len(o.ranges)))
	next := 0
	for _, i := range o.ranges {
		dst = binary.AppendUvarint(dst, uint64(i-next))
		next = i + 1
	}
	return dst
}

func parseOpen(p []byte) (o open, err error) {
	r := wire.NewReader(p)
	if o.how = r.Byte(); o.how > openAll {
		r.Fail("an answer %d", o.how)
	}
	o.ranges = make([]int, r.Count(opensMax, 1))
	if o.how != openRanges && len(o.ranges) > 0 {
		r.Fail("%d ranges", len(o.ranges))
	}
	next := uint64(0)
	for i := range o.ranges {
		gap := r.Uvarint()
		if gap > splits*opensMax || next+gap >= splits*opensMax {
			r.Fail("range %d", gap)
		}
		o.ranges[i] = int(next + gap)
		next += gap + 1
	}
	return o, r.End()
}

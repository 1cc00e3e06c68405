package vfs

import (
	"errors"
	"io"
	"slices"
)

// pieceBytes is how much of a file is given up when it cannot be read: no disk fails for less.
const pieceBytes = 4 << 10

// Patient is a file that reads as zeros where the disk fails, and notes where that is, for programs
// that show or save what is on failing disks. Not safe for concurrent use.
type Patient struct {
	File
	holes []Hole
}

// Hole is bytes of a file that cannot be read.
type Hole struct {
	At, End int64
	Err     error // why the first of them cannot be
}

// NewPatient returns the file as a patient one. If it is one already, that is file itself.
func NewPatient(file File) *Patient {
	if p, ok := file.(*Patient); ok {
		return p
	}
	return &Patient{File: file}
}

// ReadAt implements io.ReaderAt. The only error is io.EOF.
func (p *Patient) ReadAt(b []byte, off int64) (n int, err error) {
	if n, err = p.File.ReadAt(b, off); n == len(b) || errors.Is(err, io.EOF) {
		return n, err
	}
	for n = 0; n < len(b); {
		at := off + int64(n)
		part := b[n:min(len(b), n+int(pieceBytes-at%pieceBytes))]
		got, err := p.File.ReadAt(part, at)
		if got < len(part) && errors.Is(err, io.EOF) {
			return n + got, err
		}
		if n += len(part); got < len(part) {
			clear(part[got:])
			p.note(Hole{at + int64(got), at + int64(len(part)), err})
		}
	}
	return n, nil
}

// note adds a hole, which touches no other or those that it continues or repeats.
func (p *Patient) note(h Hole) {
	i, _ := slices.BinarySearchFunc(p.holes, h.At, func(a Hole, at int64) int {
		if a.End < at {
			return -1
		}
		return 1
	})
	end := i
	for ; end < len(p.holes) && p.holes[end].At <= h.End; end++ {
		if near := p.holes[end]; near.At <= h.At {
			h.At, h.Err = near.At, near.Err
		}
		h.End = max(h.End, p.holes[end].End)
	}
	p.holes = slices.Replace(p.holes, i, end, h)
}

// Holes returns what could not be read so far, in order. None touch each other.
func (p *Patient) Holes() []Hole { return slices.Clone(p.holes) }

// Unread returns how many of the bytes [from, to) could not be read.
func (p *Patient) Unread(from, to int64) (n int64) {
	for _, h := range p.holes {
		n += max(0, min(h.End, to)-max(h.At, from))
	}
	return n
}

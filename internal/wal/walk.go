package wal

import (
	"bytes"
	"fmt"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Piece is a part of a segment file as it was found: a frame, or bytes that are none.
type Piece struct {
	At, End int64 // where it lies in the file

	Frame   bool   // it starts with a frame's valid header; else only Zeros means anything
	Kind    string // "whole", "first", "middle", "last", or a number
	Commit  uint64
	Synced  uint64 // so many bytes of the file were durable when the frame was sealed
	Length  uint32 // of the payload, which the file may end in
	Payload []byte // valid during the call; nil if it is cut off or its checksum does not match
	Problem string // what is wrong with a frame whose checksums are right, in its place

	Zeros bool // it is nothing but zeros that were read, as preallocated bytes are

	kind kind
}

// Ending says where a replay of a segment stops.
type Ending struct {
	At      int64 // of the first invalid frame, or the end of the file
	Damaged bool  // a frame further on says that the bytes there were durable
}

// Walk calls fn with the pieces of a segment file, front to back, without a gap, whatever is wrong
// with them: it is for programs that show or save what is in damaged files. It starts behind the
// file's header, of which it takes what the seed of the frames can be. What the disk does not give
// reads as zeros; what that is, a [vfs.Patient] file knows afterwards.
//
// Memory is bounded by the largest frame and the file's size.
func Walk(file vfs.File, name string, fn func(Piece) error) (Ending, error) {
	size, err := file.Size()
	if err != nil {
		return Ending{}, fmt.Errorf("read %s: %w", name, err)
	}
	patient := vfs.NewPatient(file)
	w := &walk{replay: replay{window: window{file: patient, name: name, size: size}}, lost: true}
	w.ending.At = size
	if size < fileheader.Size {
		return w.ending, nil
	}
	if err := w.findSeed(); err != nil {
		return Ending{}, err
	}
	for at := int64(fileheader.Size); at < size; {
		p, err := w.piece(at)
		if err == nil {
			p.Zeros = p.Zeros && patient.Unread(p.At, p.End) == 0
			w.note(p)
			err = fn(p)
		}
		if err != nil {
			return w.ending, err
		}
		at = p.End
	}
	return w.ending, nil
}

// walk is the state of Walk.
type walk struct {
	replay
	lost   bool // the frames before the next one are not known
	ending Ending
}

// findSeed takes the checksum in the file's header for the seed, unless the first frame is valid
// with the one that the header should have.
func (w *walk) findSeed() error {
	p, err := w.view(0, min(fileheader.Size+HeaderBytes, w.size))
	if err != nil {
		return err
	}
	computed, stored := fileheader.Seeds(p)
	w.seed = stored
	if len(p) == fileheader.Size+HeaderBytes {
		if _, ok := parseFrameHeader(p[fileheader.Size:], computed, fileheader.Size); ok {
			w.seed = computed
		}
	}
	return nil
}

// piece returns what starts at the offset at.
func (w *walk) piece(at int64) (Piece, error) {
	end := at + HeaderBytes
	if end > w.size {
		return w.none(at)
	}
	p, err := w.view(at, end)
	if err != nil {
		return Piece{}, err
	}
	h, ok := parseFrameHeader(p, w.seed, at)
	if !ok {
		return w.none(at)
	}
	found := Piece{
		At: at, End: min(end+int64(h.length), w.size), Frame: true,
		kind: h.kind, Kind: h.kind.String(), Commit: h.commit, Synced: h.synced, Length: h.length,
	}
	if int64(h.length) > w.size-end {
		return found, nil
	}
	if p, err = w.view(at, found.End); err != nil {
		return Piece{}, err
	}
	if checksum.Of(p[HeaderBytes:]) == h.payloadSum {
		found.Payload = p[HeaderBytes:]
	}
	found.Problem = w.order(h, at)
	return found, nil
}

// order returns what is wrong with the place of a frame among those before it.
func (w *walk) order(h frameHeader, at int64) string {
	if w.lost {
		w.next, w.lost = h.commit, false
		w.open = at > fileheader.Size && !h.kind.starts()
	}
	if h.commit == 0 {
		return "no commit has the number 0"
	}
	if reason := w.misplaced(h, at); reason != "" {
		w.lost = true
		return reason
	}
	w.next, w.open = h.commit, !h.kind.ends()
	if h.kind.ends() {
		w.next++
	}
	return ""
}

// none returns the piece from the offset at to the next header of a frame.
func (w *walk) none(at int64) (Piece, error) {
	w.lost = true
	found := Piece{At: at, End: w.size, Zeros: true}
	for from := at; from < w.size; {
		p, err := w.view(from, min(from+windowBytes, w.size))
		if err != nil {
			return Piece{}, err
		}
		zeros := len(p) - len(bytes.TrimLeft(p, "\x00"))
		for i := max(0, zeros-HeaderBytes); i+HeaderBytes <= len(p); i++ {
			place := from + int64(i)
			if _, ok := parseFrameHeader(p[i:], w.seed, place); ok && place > at {
				found.End, found.Zeros = place, found.Zeros && i <= zeros
				return found, nil
			}
		}
		found.Zeros = found.Zeros && zeros == len(p)
		if from+int64(len(p)) == w.size {
			break
		}
		from += int64(len(p)) - HeaderBytes + 1
	}
	return found, nil
}

// note keeps track of where a replay would end.
func (w *walk) note(p Piece) {
	switch {
	case p.At > w.ending.At:
		if p.kind.valid() && p.Synced > uint64(w.ending.At) && p.Synced <= uint64(p.At) {
			w.ending.Damaged = true
		}
	case p.Payload == nil:
		w.ending.At = p.At
	case p.Problem != "":
		w.ending = Ending{At: p.At, Damaged: true}
	}
}

package wal

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Piece is a part of a segment file as [Walk] found it: a frame, or bytes that hold none.
type Piece struct {
	At, End int64 // the offsets of its start and end

	Frame   bool   // it starts with a valid frame header; if not, only Zeros is set
	Kind    string // "whole", "first", "middle", "last", or a number
	Commit  uint64
	Synced  uint64 // how many bytes of the file were durable when the frame was sealed
	Length  uint32 // of the payload, which may reach beyond the end of the file
	Payload []byte // valid during the call; nil if it is cut off or its checksum does not match
	Problem string // why a frame with valid checksums cannot follow those before it

	Zeros bool // all its bytes were read and are zero, as preallocated bytes are

	kind kind
}

// Ending says where a replay of a segment stops.
type Ending struct {
	At      int64 // offset of the first invalid frame, or the end of the file
	Damaged bool  // a frame further on says that the bytes there were durable
}

// Walk calls fn with the pieces of a segment file, front to back and without a gap, whatever is
// wrong with them: it is for programs that show or salvage damaged files. It starts after the file
// header, which only tells it the seed of the frames. Bytes that the disk cannot return read as
// zeros; if file is a [vfs.Patient], it knows afterwards which they are.
//
// Memory is bounded by the largest frame and the file's size.
func Walk(file vfs.File, name string, fn func(Piece) error) (Ending, error) {
	size, err := file.Size()
	if err != nil {
		return Ending{}, fmt.Errorf("read %s: %w", name, err)
	}
	disk := vfs.NewPatient(file)
	w := &walk{
		replay: replay{window: window{file: disk, name: name, size: size}}, disk: disk, lost: true,
	}
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
	disk   *vfs.Patient // the replay's file
	lost   bool         // the next frame follows bytes that hold none, or one out of order
	ending Ending
}

// findSeed sets the seed: the checksum that the file header should have if the first frame is valid
// with it, otherwise the checksum that the header stores.
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

func (w *walk) piece(at int64) (Piece, error) {
	end := at + HeaderBytes
	if end > w.size {
		return w.gap(at)
	}
	p, err := w.view(at, end)
	if err != nil {
		return Piece{}, err
	}
	h, ok := parseFrameHeader(p, w.seed, at)
	if !ok {
		return w.gap(at)
	}
	found := Piece{
		At: at, End: min(h.end(at), w.size), Frame: true,
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

// order returns why a valid frame cannot follow those before it, or "" if it can.
func (w *walk) order(h frameHeader, at int64) string {
	if w.lost {
		w.next, w.lost = h.commit, false
		w.open = at > fileheader.Size && !h.kind.starts()
	}
	if h.commit == 0 {
		return "0 is not the number of a commit"
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

// gap returns the piece from the offset at to the next valid frame header.
func (w *walk) gap(at int64) (Piece, error) {
	w.lost = true
	end, err := w.seek(at+1, func(frameHeader, int64) (bool, error) { return true, nil })
	if err != nil {
		return Piece{}, err
	}
	dataEnd, err := w.dataEnd(at, end)
	zeros := dataEnd == at && w.disk.Unread(at, end) == 0
	return Piece{At: at, End: end, Zeros: zeros}, err
}

// note updates where a replay would end.
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
